import { systemClock } from '../../clock.ts';
import type { Config } from '../../config/load.ts';
import { createResolver } from '../../delivery/transport/dns-resolver.ts';
import { createSsrfGuard } from '../../delivery/transport/ssrf-guard.ts';
import { createCreationBodySpec } from '../../http/fields/field.ts';
import type { SourceHook } from '../../import-from-api/rows.ts';
import { isLoopback } from '../../loopback.ts';
import { permissionsOf } from '../../permissions.ts';
import { Problem } from '../../problems.ts';
import { subscribe } from '../../resources/hooks/actions.ts';
import { requireAllowedTarget } from '../../resources/hooks/check-subscription.ts';
import { hookInputFields } from '../../resources/hooks/schema.ts';
import { type DatabaseFlags, withAccount } from '../admin/open-database.ts';
import { CliError } from '../output/screen.ts';

/** A hook of the source service, and whether the import created it here. */
export type HookResult = SourceHook & { readonly created: boolean; readonly reason?: string };

const hookBodySpec = createCreationBodySpec(hookInputFields);

/**
 * Creates hooks under the same rules as an API call, including the SSRF guard. A rejected hook is reported and not
 * created.
 */
export async function createHooks(
  flags: DatabaseFlags & { readonly domain: string },
  userId: number,
  hooks: readonly SourceHook[],
  config: Config,
): Promise<readonly HookResult[]> {
  const results: HookResult[] = [];
  for (const hook of hooks) {
    const reason = await createHook(flags, userId, hook, config).then(() => undefined, toRejectionReason);
    results.push({ ...hook, created: reason === undefined, ...(reason !== undefined && { reason }) });
  }
  return results;
}

async function createHook(
  flags: DatabaseFlags & { readonly domain: string },
  userId: number,
  hook: SourceHook,
  { host, baseUrl, allowTargets }: Config,
): Promise<void> {
  const { target_url, event, events, scope = 'own' } = hook;
  if (scope !== 'own') throw new CliError([`its scope is ${scope}`]);
  const hookFields = hookBodySpec.parse(event === '' ? { target_url, events } : { target_url, event });
  const isLoopbackAllowed = isLoopback(host) && (baseUrl === undefined || isLoopback(new URL(baseUrl).hostname));
  const guard = createSsrfGuard({
    resolve: createResolver({ clock: systemClock }),
    allowRules: allowTargets,
    isLoopbackAllowed,
  });
  // Create the hook with the permissions of a member, which every user has.
  const hookOwner = { userId, role: 'member', keyId: 0, sessionId: 0, expiresAt: null } as const;
  const caller = { ...hookOwner, accountId: 0, permissions: new Set(permissionsOf('member')) };
  await requireAllowedTarget(guard, hookFields.target_url, () => undefined);
  await withAccount(flags, (write) => subscribe(write, { ...caller, accountId: write.accountId }, hookFields));
}

function toRejectionReason(error: unknown): string {
  if (error instanceof Problem || error instanceof CliError) return error.message;
  throw error;
}
