import { creation } from '../../http/body.ts';
import { answerSchema, present } from '../../http/field.ts';
import { recordSchema } from '../../http/paging.ts';
import type { Route } from '../../http/route.ts';
import { importCalendar } from './actions.ts';
import { importFields, importInputFields } from './schema.ts';

/** A file and what goes around it. */
const LARGEST_BODY = 8 * 1_024 * 1_024;

/** X9. */
export function importRoutes(): readonly Route[] {
  const input = creation(importInputFields);
  return [
    {
      method: 'POST',
      path: '/events/import',
      says: 'Brings in an .ics file; a second time it makes nothing twice.',
      permission: 'events:write',
      parameters: {},
      body: input.schema,
      largestBody: LARGEST_BODY,
      status: 200,
      answer: recordSchema(answerSchema(importFields)),
      records: ['new_event', 'changed_event'],
      conditional: false,
      problems: [],
      mode: 'steps',
      async run(steps, caller, { body }) {
        return { body: { data: present(importFields, await importCalendar(steps, caller, input.read(body))) } };
      },
    },
  ];
}
