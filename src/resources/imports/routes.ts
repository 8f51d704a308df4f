import { creation } from '../../http/body.ts';
import { answerSchema, present } from '../../http/field.ts';
import { recordSchema } from '../../http/paging.ts';
import type { Route } from '../../http/route.ts';
import { importCalendar } from './actions.ts';
import { importFields, importInputFields } from './schema.ts';

/** A file and what goes around it. */
const MAX_BODY_BYTES = 8 * 1_024 * 1_024;

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
      longField: { name: 'ics', maxBytes: MAX_BODY_BYTES },
      status: 200,
      answer: recordSchema(answerSchema(importFields)),
      records: ['new_event', 'changed_event'],
      conditional: false,
      problems: [],
      mode: 'steps',
      async run(steps, caller, { body, text }) {
        const imported = await importCalendar(steps, caller, input.read(body), text);
        return { body: { data: present(importFields, imported) } };
      },
    },
  ];
}
