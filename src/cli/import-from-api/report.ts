import type { ImportAccountResult, TypeComparison } from '../../import-from-api/move.ts';
import type { SourceHook } from '../../import-from-api/rows.ts';
import { formatCount } from '../output/progress.ts';
import type { HookResult } from './hooks.ts';

/** Result of an import from another service. */
export type ImportResult = {
  readonly moved: ImportAccountResult;
  readonly key: string;
  readonly link: string;
  readonly paths: { readonly report: string; readonly idMap: string };
  /** Hooks of the source service; undefined if they could not be read. */
  readonly hooks: readonly (SourceHook | HookResult)[] | undefined;
};

/** Converts the result of an import to JSON. */
export function resultJson({ moved, key, link, paths, hooks }: ImportResult) {
  const { compared, missing, leftOut, changed, skipped, reading } = moved;
  const renumbered = renumberedResourceTypes(moved);
  return {
    domain: moved.domain,
    user_id: String(moved.ownerId),
    key,
    console: link,
    records: Object.fromEntries(
      compared.map(
        ({ resourceType, there, isQueried: queried, here, leftOut: left_out, placeholders, isSame: same }) => [
          resourceType,
          { there: there ?? null, queried, here, left_out, placeholders, same },
        ],
      ),
    ),
    missing: Object.fromEntries(missing.map(({ resourceType, state }) => [resourceType, state])),
    left_out: leftOut,
    skipped,
    changed,
    report: leftOut + changed > 0 ? paths.report : null,
    new_ids: renumbered,
    id_map: renumbered.length > 0 ? paths.idMap : null,
    readings: reading.readings,
    changed_in_last_reading: reading.changed ?? null,
    hooks: hooks ?? null,
  };
}

/** Formats the result of an import as lines. */
export function resultLines(result: ImportResult): string[] {
  const { moved, key, link, paths } = result;
  const { compared, missing, leftOut, changed, domain, ownerId, ownerEmail } = moved;
  const renumbered = renumberedResourceTypes(moved);
  const leftOutLine = `left out: ${formatCount(leftOut)}, changed: ${formatCount(changed)}; see ${paths.report}`;
  return [
    ...[`domain: ${domain}`, `user: ${ownerId}`, `key: ${key}`, `console: ${link}`],
    ...compared.map(countLine),
    ...missing.map(({ resourceType, state }) =>
      state === 'absent'
        ? `${resourceType}: the source has none`
        : `${resourceType}: the key may not read them at the source`,
    ),
    ...skippedLines(moved),
    ...(leftOut + changed > 0 ? [leftOutLine] : []),
    ...(renumbered.length > 0 ? [`new ids: ${renumbered.join(', ')}; ${paths.idMap} maps old to new ones`] : []),
    ...remainingChangeLines(moved),
    ...hookLines(result),
    `Users have no keys and passphrases yet. Create a link for each: carillon users invite --domain ${domain} --email ${ownerEmail}`,
  ];
}

function renumberedResourceTypes({ plan }: ImportAccountResult): string[] {
  return Object.entries(plan.numbering).flatMap(([resourceType, numbering]) => (numbering.kept ? [] : [resourceType]));
}

function countLine({ resourceType, there, isQueried, here, leftOut, isSame }: TypeComparison): string {
  if (there === undefined) return `${resourceType}: ${formatCount(here)}, the source does not report how many it has`;
  const left = leftOut > 0 ? `, ${formatCount(leftOut)} left out` : '';
  const differs = isSame ? '' : '; the numbers differ: the source has changed, or does not list them all';
  const said = isQueried ? '' : ' that it reported while it was read';
  return `${resourceType}: ${formatCount(here)} of ${formatCount(there)}${said}${left}${differs}`;
}

/** Lists the records that were left out, with the reasons. */
function skippedLines({ skipped, leftOut }: ImportAccountResult): string[] {
  const lines = skipped.map(({ resource, id, left_out }) => {
    const why = left_out.map(({ field, message }) => `${field} ${message}`).join('; ');
    return `left out: ${resource} ${id || 'without an id'}: ${why}`;
  });
  const more = leftOut - skipped.length;
  return more > 0 ? [...lines, `left out: ${formatCount(more)} more`] : lines;
}

function remainingChangeLines({ reading: { changed } }: ImportAccountResult): string[] {
  if (changed === undefined) return ['The source was read only once: changes made meanwhile are unknown.'];
  if (changed === 0) return [];
  return [
    `The source still changed during the last pass, in ${formatCount(changed)} records: stop its writers, or raise --readings.`,
  ];
}

/**
 * Lists the created hooks and, for each hook that was not created, the command that creates it. By default no hook is
 * created: if both services delivered, receivers would get everything twice. The operator creates the hooks when
 * switching over.
 */
function hookLines({ hooks, moved }: ImportResult): string[] {
  return (hooks ?? []).map((hook) => {
    const { event, target_url } = hook;
    if ('created' in hook)
      return hook.created ? `hook: ${event} ${target_url}` : `no hook: ${event} ${target_url}: ${hook.reason}`;
    return `hook not created: carillon hooks create --domain ${moved.domain} --event ${quoteForShell(event)} --target-url ${quoteForShell(target_url)}`;
  });
}

/** Quotes untrusted text as a single shell word. */
function quoteForShell(text: string): string {
  return `'${text.replaceAll("'", `'\\''`)}'`;
}
