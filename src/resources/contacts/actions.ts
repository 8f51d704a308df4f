import { recordsOf } from '../records.ts';
import { contactFields, contactFilters } from './schema.ts';

export const contacts = recordsOf('contact', { fields: contactFields, filters: contactFilters });
