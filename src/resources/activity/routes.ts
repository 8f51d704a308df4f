import { responseSchema, serializeRecord } from '../../http/fields/field.ts';
import { readQuery } from '../../http/routes/query-parameters.ts';
import type { Route } from '../../http/routes/route.ts';
import { listActivity } from './actions.ts';
import { activityFields, activityParameters } from './schema.ts';

/** Routes of the console group only. */
export function activityRoutes({ baseUrl }: { baseUrl: () => string }): readonly Route[] {
  return [
    {
      method: 'GET',
      path: '/activity',
      description: 'Lists all occurrences, newest first, with their deliveries.',
      permission: 'hooks:read',
      parameters: activityParameters,
      body: undefined,
      status: 200,
      answer: {
        type: 'object',
        required: ['data', 'next'],
        properties: {
          data: { type: 'array', items: responseSchema(activityFields) },
          next: {
            type: 'string',
            pattern: '^\\d*$',
            description: 'The value of before for the next page; empty at the end.',
          },
        },
      },
      records: [],
      problems: [],
      conditional: false,
      mode: 'read',
      async run(view, caller, input) {
        const given = readQuery(activityParameters, input.query);
        const { rows, next } = await listActivity(view, caller, given, baseUrl());
        return { body: { data: rows.map((row) => serializeRecord(activityFields, row)), next: String(next ?? '') } };
      },
    },
  ];
}
