import type { Compared, MoveResult } from '../../import-from-api/move.ts';
import type { ForeignHook } from '../../import-from-api/rows.ts';
import { grouped } from '../output/progress.ts';
import type { HookResult } from './hooks.ts';

/** Result of an import from another service. */
export type Arrival = {
  readonly moved: MoveResult;
  readonly key: string;
  readonly link: string;
  readonly paths: { readonly report: string; readonly idMap: string };
  /** Hooks of the source service; undefined if they could not be read. */
  readonly hooks: readonly (ForeignHook | HookResult)[] | undefined;
};

/** Converts the result of an import to JSON. */
export function answerOf({ moved, key, link, paths, hooks }: Arrival) {
  const { compared, missing, leftOut, changed, skipped, reading } = moved;
  const renumbered = newIds(moved);
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
export function linesOf(arrival: Arrival): string[] {
  const { moved, key, link, paths } = arrival;
  const { compared, missing, leftOut, changed, domain, ownerId, ownerEmail } = moved;
  const renumbered = newIds(moved);
  const notAsIs = `left out: ${grouped(leftOut)}, changed: ${grouped(changed)}; see ${paths.report}`;
  return [
    ...[`domain: ${domain}`, `user: ${ownerId}`, `key: ${key}`, `console: ${link}`],
    ...compared.map(numbersOf),
    ...missing.map(({ resourceType, state }) =>
      state === 'absent'
        ? `${resourceType}: the source has none`
        : `${resourceType}: the key may not read them at the source`,
    ),
    ...skippedIn(moved),
    ...(leftOut + changed > 0 ? [notAsIs] : []),
    ...(renumbered.length > 0 ? [`new ids: ${renumbered.join(', ')}; ${paths.idMap} maps old to new ones`] : []),
    ...standingOf(moved),
    ...hooksOf(arrival),
    `Users have no keys and passphrases yet. Create a link for each: carillon users invite --domain ${domain} --email ${ownerEmail}`,
  ];
}

function newIds({ plan }: MoveResult): string[] {
  return Object.entries(plan.numbering).flatMap(([resourceType, numbering]) => (numbering.kept ? [] : [resourceType]));
}

function numbersOf({ resourceType, there, isQueried, here, leftOut, isSame }: Compared): string {
  if (there === undefined) return `${resourceType}: ${grouped(here)}, the source does not report how many it has`;
  const left = leftOut > 0 ? `, ${grouped(leftOut)} left out` : '';
  const differs = isSame ? '' : '; the numbers differ: the source has changed, or does not list them all';
  const said = isQueried ? '' : ' that it reported while it was read';
  return `${resourceType}: ${grouped(here)} of ${grouped(there)}${said}${left}${differs}`;
}

/** Lists the records that were left out, with the reasons. */
function skippedIn({ skipped, leftOut }: MoveResult): string[] {
  const lines = skipped.map(({ resource, id, left_out }) => {
    const why = left_out.map(({ field, message }) => `${field} ${message}`).join('; ');
    return `left out: ${resource} ${id || 'without an id'}: ${why}`;
  });
  const more = leftOut - skipped.length;
  return more > 0 ? [...lines, `left out: ${grouped(more)} more`] : lines;
}

function standingOf({ reading: { changed } }: MoveResult): string[] {
  if (changed === undefined) return ['The source was read only once: changes made meanwhile are unknown.'];
  if (changed === 0) return [];
  return [
    `The source still changed during the last pass, in ${grouped(changed)} records: stop its writers, or raise --readings.`,
  ];
}

/**
 * Lists the created hooks and, for each hook that was not created, the command that creates it. By default no hook is
 * created: if both services delivered, receivers would get everything twice. The operator creates the hooks when
 * switching over.
 */
function hooksOf({ hooks, moved }: Arrival): string[] {
  return (hooks ?? []).map((hook) => {
    const { event, target_url } = hook;
    if ('created' in hook)
      return hook.created ? `hook: ${event} ${target_url}` : `no hook: ${event} ${target_url}: ${hook.reason}`;
    return `hook not created: carillon hooks create --domain ${moved.domain} --event ${shellQuoted(event)} --target-url ${shellQuoted(target_url)}`;
  });
}

/** Quotes untrusted text as a single shell word. */
function shellQuoted(text: string): string {
  return `'${text.replaceAll("'", `'\\''`)}'`;
}
