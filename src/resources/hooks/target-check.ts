import { normaliseTarget, parseTarget, type SsrfGuard } from '../../delivery/guard.ts';
import { answerSchema, present } from '../../http/field.ts';
import { shownText, shownWord } from '../../http/fields.ts';
import { recordSchema } from '../../http/paging.ts';
import { type Parameter, readQuery } from '../../http/query.ts';
import type { Route } from '../../http/route.ts';
import { hashTarget } from '../../secrets.ts';
import { LONGEST_JUDGING_MS } from './actions.ts';

/** Whether an address would be taken as a target. */
export const verdictFields = {
  verdict: shownWord('Whether it would, or why not.', ['allowed', 'unresolved', 'forbidden', 'malformed', 'taken']),
  says: shownText('Why, in words that follow "target_url"; never an address.'),
};

export const verdictSchema = answerSchema(verdictFields);

export const verdictParameters = {
  target_url: {
    says: 'The address, as far as it is written.',
    schema: { type: 'string' },
    must: 'must be given once',
    read: (text) => text,
  } as Parameter<string>,
};

/** Whether a live hook anywhere on the service has a target, by its hash (C12). */
export type IsTaken = (targetHash: string) => Promise<boolean>;

export type VerdictRow = {
  readonly verdict: 'allowed' | 'unresolved' | 'forbidden' | 'malformed' | 'taken';
  readonly says: string;
};

/** What subscribing a target would come to (C11, C12), in the words of the same guard; nothing is kept of it. */
export async function judgeTarget(guard: SsrfGuard, isTaken: IsTaken, text: string): Promise<VerdictRow> {
  const parsed = parseTarget(text);
  if ('fault' in parsed) return { verdict: 'malformed', says: parsed.fault };
  const judged = await guard.check(parsed.url, LONGEST_JUDGING_MS);
  if ('allowed' in judged && !judged.allowed) {
    return { verdict: judged.word, says: 'leads to an address that nothing may be sent to' };
  }
  if (await isTaken(hashTarget(normaliseTarget(parsed.url)))) {
    return { verdict: 'taken', says: 'is the target of another live hook' };
  }
  if ('failure' in judged) return { verdict: 'unresolved', says: unresolved[judged.failure] };
  return { verdict: 'allowed', says: 'may be notified' };
}

const unresolved = {
  no_such_name: 'has a name that does not exist at this moment; it is judged again at each delivery',
  resolver_silent: 'has a name that no name server answered for; it is judged again at each delivery',
} as const;

export type VerdictPorts = { readonly guard: SsrfGuard; readonly isTaken: IsTaken };

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
