import { falling, number, rising, text } from '../order.ts';
import { recordsOf } from '../records.ts';
import { clientFields, clientFilters } from './schema.ts';

export const clients = recordsOf('client', {
  fields: clientFields,
  filters: clientFilters,
  orders: {
    says: 'clientname ascending, latest descending; else by id.',
    by: { clientname: rising(text('fold(clients.client_name)')), latest: falling(number('clients.date_created')) },
  },
});
