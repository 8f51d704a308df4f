import type { ImportAccountResult, TypeComparison } from '../../import-from-api/move.ts';
import { formatCount } from '../output/progress.ts';
import type { HookResult, PlannedHook } from './hooks.ts';

/** Result of an import from another service. */
type ImportResult = {
  readonly accountResult: ImportAccountResult;
  /** The new API key of the owner. */
  readonly key: string;
  /** Link with which the owner sets a passphrase for the console. */
  readonly invitationLink: string;
  readonly paths: { readonly report: string; readonly idMap: string };
  /** Hooks of the source service; undefined if they could not be read. */
  readonly hooks: readonly (PlannedHook | HookResult)[] | undefined;
};

/** Converts the result of an import to JSON. */
export function toResultJson({ accountResult, key, invitationLink, paths, hooks }: ImportResult) {
  const { comparisons, unreadableTypes, leftOut, changed, skipped, reading } = accountResult;
  const renumberedTypes = listRenumberedTypes(accountResult);
  return {
    domain: accountResult.domain,
    user_id: String(accountResult.ownerId),
    key,
    console: invitationLink,
    records: Object.fromEntries(
      comparisons.map(
        ({ resourceType, there, isQueried: queried, here, leftOut: left_out, placeholders, isSame: same }) => [
          resourceType,
          { there: there ?? null, queried, here, left_out, placeholders, same },
        ],
      ),
    ),
    missing: Object.fromEntries(unreadableTypes.map(({ resourceType, state }) => [resourceType, state])),
    left_out: leftOut,
    skipped,
    changed,
    report: leftOut + changed > 0 ? paths.report : null,
    new_ids: renumberedTypes,
    id_map: renumberedTypes.length > 0 ? paths.idMap : null,
    readings: reading.readings,
    changed_in_last_reading: reading.changed ?? null,
    hooks: hooks?.map(({ input, ...hook }) => ({ ...hook, ...input })) ?? null,
  };
}

/** Formats the result of an import as lines. */
export function formatImportResult(importResult: ImportResult): string[] {
  const { accountResult, key, invitationLink, paths } = importResult;
  const { comparisons, unreadableTypes, leftOut, changed, domain, ownerId, ownerEmail } = accountResult;
  const renumberedTypes = listRenumberedTypes(accountResult);
  const leftOutLine = `left out: ${formatCount(leftOut)}, changed: ${formatCount(changed)}; see ${paths.report}`;
  return [
    ...[`domain: ${domain}`, `user: ${ownerId}`, `key: ${key}`, `console: ${invitationLink}`],
    ...comparisons.map(formatCountLine),
    ...unreadableTypes.map(({ resourceType, state }) =>
      state === 'absent'
        ? `${resourceType}: the source has none`
        : `${resourceType}: the key may not read them at the source`,
    ),
    ...formatSkippedRecords(accountResult),
    ...(leftOut + changed > 0 ? [leftOutLine] : []),
    ...(renumberedTypes.length > 0
      ? [`new ids: ${renumberedTypes.join(', ')}; ${paths.idMap} maps old to new ones`]
      : []),
    ...formatRemainingChanges(accountResult),
    ...formatHooks(importResult),
    `Users have no keys and passphrases yet. Create a link for each: carillon users invite --domain ${domain} --email ${ownerEmail}`,
  ];
}

function listRenumberedTypes({ plan }: ImportAccountResult): string[] {
  return Object.entries(plan.numbering).flatMap(([resourceType, numbering]) => (numbering.kept ? [] : [resourceType]));
}

function formatCountLine({ resourceType, there, isQueried, here, leftOut, isSame }: TypeComparison): string {
  if (there === undefined) return `${resourceType}: ${formatCount(here)}, the source does not report how many it has`;
  const leftOutText = leftOut > 0 ? `, ${formatCount(leftOut)} left out` : '';
  const differenceText = isSame ? '' : '; the numbers differ: the source has changed, or does not list them all';
  const countOriginText = isQueried ? '' : ' that it reported while it was read';
  return `${resourceType}: ${formatCount(here)} of ${formatCount(there)}${countOriginText}${leftOutText}${differenceText}`;
}

/** Lists the records that were left out, with the reasons. */
function formatSkippedRecords({ skipped, leftOut }: ImportAccountResult): string[] {
  const lines = skipped.map(({ resource, id, left_out }) => {
    const reasonsText = left_out.map(({ field, message }) => `${field} ${message}`).join('; ');
    return `left out: ${resource} ${id || 'without an id'}: ${reasonsText}`;
  });
  const unlistedCount = leftOut - skipped.length;
  return unlistedCount > 0 ? [...lines, `left out: ${formatCount(unlistedCount)} more`] : lines;
}

function formatRemainingChanges({ reading: { changed } }: ImportAccountResult): string[] {
  if (changed === undefined) return ['The source was read only once: changes made meanwhile are unknown.'];
  if (changed === 0) return [];
  return [
    `The source still changed during the last pass, in ${formatCount(changed)} records: stop its writers, or raise --readings.`,
  ];
}

/**
 * Lists the created hooks and, for each hook that was not created, the command that creates it. By default no hook is
 * created: if both services sent webhooks, receivers would get everything twice. The operator creates the hooks when
 * switching to this service.
 */
function formatHooks({ hooks, accountResult }: ImportResult): string[] {
  return (hooks ?? []).map((hook) => {
    const { input, missing_headers, reason } = hook;
    const hookText = `${input.event ?? input.events?.join()} ${input.target_url}`;
    if (reason !== undefined) return `no hook: ${hookText}: ${reason}`;
    const headerText = `set its headers ${missing_headers.join(', ')}, then enable it`;
    const stateText = missing_headers.length > 0 ? `, disabled: ${headerText}` : ', disabled as at the source';
    if ('created' in hook) return `hook: ${hookText}${input.enabled === '0' ? stateText : ''}`;
    const noteText = missing_headers.length > 0 ? ` (afterwards ${headerText})` : '';
    return `hook not created${noteText}: carillon hooks create --domain ${accountResult.domain} ${formatFlags(input)}`;
  });
}

function formatFlags({ target_url, event, events, scope, project_id, name, enabled }: PlannedHook['input']): string {
  const flags = { event, events, scope, 'project-id': project_id, name, enabled, 'target-url': target_url };
  return Object.entries(flags)
    .flatMap(([flag, value]) => (value === undefined ? [] : [`--${flag} ${quoteForShell(String(value))}`]))
    .join(' ');
}

/** Quotes untrusted text as a single shell word. */
function quoteForShell(text: string): string {
  return `'${text.replaceAll("'", `'\\''`)}'`;
}
