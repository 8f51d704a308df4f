import { normalizeTarget, parseTarget, type SsrfGuard } from '../../delivery/transport/ssrf-guard.ts';
import { createRecordSchema, serializeRecord } from '../../http/fields/field.ts';
import { readOnlyEnum, readOnlyText } from '../../http/fields/scalar-fields.ts';
import { createRecordResponseSchema } from '../../http/routes/pagination.ts';
import { parseQueryParameters, type QueryParameter } from '../../http/routes/query-parameters.ts';
import type { Route } from '../../http/routes/route.ts';
import { hashTarget } from '../../secrets.ts';
import { TARGET_CHECK_TIMEOUT_MS } from './check-subscription.ts';

/** Fields of a target check: whether an address would be accepted as a target. */
const targetCheckFields = {
  verdict: readOnlyEnum('Whether it would be accepted, or why not.', [
    'allowed',
    'unresolved',
    'forbidden',
    'malformed',
    'taken',
  ]),
  message: readOnlyText('The reason, as words that follow "target_url"; never an address.'),
};

const targetCheckSchema = createRecordSchema(targetCheckFields);

const targetCheckParameters = {
  target_url: {
    description: 'The address, possibly incomplete.',
    schema: { type: 'string' },
    errorMessage: 'must be given once',
    parse: (text) => text,
  } as QueryParameter<string>,
};

/** Returns whether any live hook of the service has the target with this hash (C12). */
type IsTargetTaken = (targetHash: string) => Promise<boolean>;

type TargetCheckRow = {
  readonly verdict: 'allowed' | 'unresolved' | 'forbidden' | 'malformed' | 'taken';
  readonly message: string;
};

/** Checks a target as a subscription does, with the same guard, but stores nothing (C11, C12). */
async function checkTarget(guard: SsrfGuard, isTargetTaken: IsTargetTaken, text: string): Promise<TargetCheckRow> {
  const parsedTarget = parseTarget(text);
  if ('fault' in parsedTarget) return { verdict: 'malformed', message: parsedTarget.fault };
  const guardResult = await guard.checkTarget(parsedTarget.url, TARGET_CHECK_TIMEOUT_MS);
  if ('allowed' in guardResult && !guardResult.allowed) {
    return { verdict: guardResult.publicReason, message: 'leads to a forbidden address' };
  }
  if (await isTargetTaken(hashTarget(normalizeTarget(parsedTarget.url)))) {
    return { verdict: 'taken', message: 'is the target of another live hook' };
  }
  if ('failure' in guardResult) return { verdict: 'unresolved', message: unresolvedMessages[guardResult.failure] };
  return { verdict: 'allowed', message: 'may be notified' };
}

const unresolvedMessages = {
  no_such_name: 'has a name that does not exist now; it is checked again at each delivery',
  resolver_silent: 'has a name that no DNS server answered for; it is checked again at each delivery',
} as const;

export type TargetCheckDeps = { readonly guard: SsrfGuard; readonly isTargetTaken: IsTargetTaken };

/** Creates the route of the target check, which only the console group serves. */
export function createTargetCheckRoutes({ guard, isTargetTaken }: TargetCheckDeps): readonly Route[] {
  return [
    {
      method: 'GET',
      path: '/verdict',
      description: 'Checks whether an address would be accepted as a target.',
      permission: 'hooks:write',
      parameters: targetCheckParameters,
      bodySchema: undefined,
      status: 200,
      responseSchema: createRecordResponseSchema(targetCheckSchema),
      recordedKinds: [],
      problems: [],
      supportsPreconditions: false,
      mode: 'read',
      bypassesReadLimit: true,
      async run(_view, _caller, { query }) {
        const { target_url: text = '' } = parseQueryParameters(targetCheckParameters, query);
        return { body: { data: serializeRecord(targetCheckFields, await checkTarget(guard, isTargetTaken, text)) } };
      },
    },
  ];
}
