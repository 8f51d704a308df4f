import type { Guard } from '../../delivery/guard.ts';
import { present } from '../../http/field.ts';
import { recordSchema } from '../../http/paging.ts';
import { readQuery } from '../../http/query.ts';
import type { Route } from '../../http/route.ts';
import { type IsTaken, judgeTarget } from './actions.ts';
import { verdictFields, verdictParameters, verdictSchema } from './schema.ts';

export type VerdictPorts = { readonly guard: Guard; readonly isTaken: IsTaken };

/** Of the console alone. */
export function verdictRoutes({ guard, isTaken }: VerdictPorts): readonly Route[] {
  return [
    {
      method: 'GET',
      path: '/verdict',
      says: 'Whether an address would be taken as a target, as one types it.',
      permission: 'hooks:write',
      parameters: verdictParameters,
      body: undefined,
      status: 200,
      answer: recordSchema(verdictSchema),
      records: [],
      problems: [],
      conditional: false,
      mode: 'read',
      asksOutside: true,
      async run(_view, _caller, { query }) {
        const { target_url: text = '' } = readQuery(verdictParameters, query);
        return { body: { data: present(verdictFields, await judgeTarget(guard, isTaken, text)) } };
      },
    },
  ];
}
