import type { Bundle, PlainInputField, Trigger, ZObject } from 'zapier-platform-core';
import { apiRootOf, expectStatuses } from './connection';
import { toInputField } from './inputs';
import { fetchRecords } from './records';
import {
  type Kind,
  kinds,
  type ResourceType,
  resourceTypes,
  titleOf,
  toZapierRecord,
  type ZapierRecord,
} from './table';

/** Maximum number of example records that the editor shows for a trigger. */
const MAX_EXAMPLES = 3;
/** Number of entries of the feed that are searched for examples at a time, from the newest backwards. */
const FEED_PAGE_SIZE = 1_000;
/** Maximum number of such searches. Zapier waits 30 seconds. */
const MAX_FEED_PAGES = 10;
/** Maximum number of hooks that are searched for one with a target. */
const MAX_HOOKS = 10_000;
/** Number of records per page of a list from which the user chooses an id. */
const CHOICES_PAGE_SIZE = 100;

/** The verbs of event kinds, as the editor shows them. `repeats`: one record can have several occurrences of the kind. */
const verbs: Record<string, { title: string; predicate: string; repeats?: boolean }> = {
  new: { title: 'New', predicate: 'is created' },
  changed: { title: 'Updated', predicate: 'is updated', repeats: true },
  deleted: { title: 'Deleted', predicate: 'is deleted' },
  completed: { title: 'Completed', predicate: 'is completed' },
  reopened: { title: 'Reopened', predicate: 'is reopened', repeats: true },
  assigned: { title: 'Assigned', predicate: 'is assigned to another user or team', repeats: true },
};

/** One trigger for each event kind. */
const hookTriggers = kinds.flatMap((kind): Trigger[] => {
  const { name, verb, resourceType } = kind;
  const shown = verbs[verb];
  if (shown === undefined) return [];
  const noun = titleOf(resourceType.name);
  const article = /^[aeio]/.test(resourceType.name) ? 'an' : 'a';
  return [
    {
      key: name,
      noun,
      display: {
        label: `${shown.title} ${noun}`,
        description: `Triggers when ${article} ${resourceType.name} ${shown.predicate}.`,
      },
      operation: {
        type: 'hook',
        inputFields: [scopeFieldOf(resourceType), projectFieldsFor],
        performSubscribe: (z, bundle) => subscribe(z, bundle, kind),
        performUnsubscribe: unsubscribe,
        perform: (z, bundle) => fetchNotifiedRecord(z, bundle, kind, readNotification(bundle)),
        performList: (z, bundle) => fetchExamples(z, bundle, kind),
        sample: sampleOf(kind),
      },
    },
  ];
});

/** One hidden trigger for each resource type. It lists the records from which the user chooses an id. */
const choiceTriggers = resourceTypes.map(
  (resourceType): Trigger => ({
    key: `list_${resourceType.name}`,
    noun: titleOf(resourceType.name),
    display: {
      label: `List of ${titleOf(resourceType.plural)}`,
      description: 'Fills the lists to choose from.',
      hidden: true,
    },
    operation: {
      type: 'polling',
      canPaginate: true,
      perform: (z, bundle) =>
        listRecords(z, bundle, resourceType, {
          limit: CHOICES_PAGE_SIZE,
          offset: CHOICES_PAGE_SIZE * (bundle.meta?.page ?? 0),
        }),
    },
  }),
);

export const triggers = Object.fromEntries(
  [...hookTriggers, ...choiceTriggers].map((trigger) => [trigger.key, trigger]),
);

/** Input field for whose occurrences start a Zap (X11). Clients are in no project. */
function scopeFieldOf({ name }: ResourceType): PlainInputField {
  return {
    key: 'scope',
    label: 'Whose',
    type: 'string',
    default: 'own',
    choices: {
      own: 'What I do (the user of the API key)',
      ...(name === 'client' ? {} : { project: 'What anybody does in one project' }),
      account: 'What anybody does in the account (for admins and owners)',
    },
    altersDynamicFields: true,
    helpText: 'Whose actions start the Zap.',
  };
}

const projectField = toInputField({ name: 'project_id', says: 'Which one.', form: 'text', required: true });

function projectFieldsFor(_z: ZObject, { inputData }: Bundle): PlainInputField[] {
  return inputData.scope === 'project' ? [projectField] : [];
}

/** Whose occurrences start a Zap, in the words of the API. Zaps without this input are of the first version. */
function readScope({ inputData }: Bundle): { scope: string; project_id?: string } {
  const scope = String(inputData.scope || 'own');
  return scope === 'project' ? { scope, project_id: String(inputData.project_id) } : { scope };
}

type Hook = { id: string; events: string[]; scope: string; project_id: string; target_url: string };

async function subscribe(z: ZObject, bundle: Bundle, { name }: Kind): Promise<{ id: string }> {
  const url = `${apiRootOf(z, bundle)}/hooks`;
  const wanted = { target_url: bundle.targetUrl, events: [name], ...readScope(bundle) };
  const answer = await z.request({ url, method: 'POST', body: wanted, ...expectStatuses(409) });
  if (answer.status === 201) return answer.data;
  // 409: another hook has this target (C12). If that hook belongs to this user, Zapier has repeated the call because it
  // missed the first response.
  const { target_url, scope, project_id = '0' } = wanted;
  const lists = ['live', 'failing'].map((state) => fetchRecords(z, url, { state, limit: MAX_HOOKS }));
  const ownHook = ((await Promise.all(lists)).flat() as Hook[]).find(
    (hook) =>
      hook.target_url === target_url &&
      hook.events.join() === name &&
      hook.scope === scope &&
      hook.project_id === project_id,
  );
  if (ownHook === undefined) throw new z.errors.Error(answer.data.message, answer.data.code, 409);
  return { id: ownHook.id };
}

/** Deletes the hook. It is no error if the hook has ended or no longer exists. */
async function unsubscribe(z: ZObject, bundle: Bundle): Promise<object> {
  const id = encodeURIComponent(String(bundle.subscribeData?.id));
  await z.request({ url: `${apiRootOf(z, bundle)}/hooks/${id}`, method: 'DELETE', ...expectStatuses(404) });
  return {};
}

/** A notification, or an entry of the feed: the address of a record, its place in the feed, and the changed fields. */
type Notification = { resource_url: string; cursor: string; fields: string[] };

function readNotification(bundle: Bundle): Notification {
  const changedFields = readHeader(bundle, 'webhook-fields');
  return {
    resource_url: String(bundle.cleanedRequest?.resource_url),
    cursor: readHeader(bundle, 'webhook-cursor'),
    fields: changedFields === '' ? [] : changedFields.split(','),
  };
}

/** Returns a header of a notification. Zapier puts `Http-` before the names of most headers. */
function readHeader({ rawRequest }: Bundle, wantedName: string): string {
  const headers = Object.entries(rawRequest?.headers ?? {});
  return headers.find(([name]) => name.toLowerCase().replace(/^http-/, '') === wantedName)?.[1] ?? '';
}

/**
 * Fetches the record that a notification names. The record must have this trigger's resource type and be on this
 * service, since anyone can POST to a target (section 5 of the specification). Nothing is triggered by a hook test, by a
 * record that was deleted since, and by a deletion that the service does not confirm.
 */
async function fetchNotifiedRecord(
  z: ZObject,
  bundle: Bundle,
  kind: Kind,
  notification: Notification,
): Promise<ZapierRecord[]> {
  const { resourceType, verb } = kind;
  const { resource_url: url } = notification;
  const root = apiRootOf(z, bundle);
  const [, plural, id = ''] = /^\/(\w+)\/(\d+)$/.exec(url.startsWith(root) ? url.slice(root.length) : '') ?? [];
  if (plural === 'hooks') return [];
  if (plural !== resourceType.plural)
    throw new z.errors.Error(`This is not the address of a record of type ${resourceType.name}.`, 'foreign_address');
  const answer = await z.request({ url, ...expectStatuses(404) });
  const isDeletion = verb === 'deleted';
  if (isDeletion !== (answer.status === 404)) return [];
  return [toTriggerRecord(kind, isDeletion ? { [resourceType.key]: id } : answer.data.data, notification)];
}

/**
 * Converts a record to what a trigger returns. Zapier takes items with the same `id` for the same item, so the `id` of a
 * kind that repeats also contains the place in the feed. `completed` keeps the record's id, which existing Zaps use.
 */
function toTriggerRecord(
  { verb, resourceType }: Kind,
  record: Record<string, unknown>,
  { resource_url, cursor, fields }: Notification,
): ZapierRecord {
  const zapierRecord = toZapierRecord(resourceType, record);
  return {
    ...zapierRecord,
    ...(verbs[verb]?.repeats && cursor !== '' ? { id: `${zapierRecord.id}-${cursor}` } : {}),
    ...(verb === 'changed' ? { changed_fields: fields } : {}),
    ...(verb === 'deleted' ? { resource_url } : {}),
  };
}

function sampleOf(kind: Kind): ZapierRecord {
  const { key, label, plural, sample } = kind.resourceType;
  const resource_url = `https://calendar.example.com/v2/${plural}/1`;
  const record = kind.verb === 'deleted' ? { [key]: '1' } : sample;
  return toTriggerRecord(kind, record, { resource_url, cursor: '1', fields: [label] });
}

/** Returns example records for the editor, as the trigger returns them. */
async function fetchExamples(z: ZObject, bundle: Bundle, kind: Kind): Promise<ZapierRecord[]> {
  const { name, verb, resourceType } = kind;
  const { scope, project_id } = readScope(bundle);
  if (verb === 'new' || verb === 'completed') {
    const isListedByProject = resourceType.filters.some((filter) => filter.name === 'project_id');
    return listRecords(z, bundle, resourceType, {
      limit: MAX_EXAMPLES,
      ...(verb === 'completed' ? { status: 'completed' } : {}),
      ...(project_id === undefined || !isListedByProject ? {} : { project_id }),
    });
  }
  const filters = { kind: name, scope, ...(project_id === undefined ? {} : { project_id }) };
  const newestEntries = await fetchNewestEntries(z, `${apiRootOf(z, bundle)}/notifications`, filters);
  const examples = newestEntries.map((entry) => fetchNotifiedRecord(z, bundle, kind, entry));
  return (await Promise.all(examples)).flat();
}

/**
 * Returns the newest entries of the feed, newest first. The feed can only be read forwards, so each search begins one
 * page earlier. Cursors are consecutive integers.
 */
async function fetchNewestEntries(z: ZObject, url: string, filters: Record<string, string>): Promise<Notification[]> {
  const end = await z.request({ url, params: { ...filters, after: 'latest' } });
  let entries: Notification[] = [];
  let before = Number(end.data.next);
  for (let page = 0; page < MAX_FEED_PAGES && before > 0 && entries.length < MAX_EXAMPLES; page += 1) {
    const params = { ...filters, limit: FEED_PAGE_SIZE };
    const after = before - FEED_PAGE_SIZE;
    let answer = await z.request({ url, params: { ...params, after: Math.max(after, 0) }, ...expectStatuses(410) });
    // 410: entries after the cursor are no longer stored. The oldest stored entry is on this page.
    const isOldestPage = answer.status === 410;
    if (isOldestPage) answer = await z.request({ url, params });
    const pageEnd = before;
    const found = (answer.data.data as Notification[]).filter(({ cursor }) => Number(cursor) <= pageEnd);
    entries = [...found, ...entries];
    before = isOldestPage ? 0 : after;
  }
  return entries.slice(-MAX_EXAMPLES).reverse();
}

type ListQuery = Readonly<Record<string, string | number>> & { readonly limit: number };

async function listRecords(
  z: ZObject,
  bundle: Bundle,
  resourceType: ResourceType,
  query: ListQuery,
): Promise<ZapierRecord[]> {
  const records = await fetchRecords(z, `${apiRootOf(z, bundle)}/${resourceType.plural}`, query);
  return records.map((record) => toZapierRecord(resourceType, record));
}
