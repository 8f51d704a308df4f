import type { Bundle, Trigger, ZObject } from 'zapier-platform-core';
import { apiRootOf, expectStatuses } from './connection';
import { fetchRecords } from './records';
import { hookKinds, type ResourceType, resourceTypes, titleOf, toZapierRecord, type ZapierRecord } from './table';

/** Maximum number of example records that the editor shows for a trigger. */
const MAX_EXAMPLES = 3;
/** Number of records per page of a list from which the user chooses an id. */
const CHOICES_PAGE_SIZE = 100;

/** One trigger for each kind that a hook can subscribe to. */
const hookTriggers = hookKinds.map(
  ({ name, resourceType }): Trigger => ({
    key: name,
    noun: titleOf(resourceType.name),
    display: { label: titleOf(name), description: `Triggers as soon as ${describeKind(name)}, done by you.` },
    operation: {
      type: 'hook',
      performSubscribe: (z, bundle) => subscribe(z, bundle, name),
      performUnsubscribe: unsubscribe,
      perform: (z, bundle) => fetchNotifiedRecord(z, bundle, resourceType),
      performList: (z, bundle) =>
        listRecords(z, bundle, resourceType, { limit: MAX_EXAMPLES, ...exampleFilterOf(name) }),
      sample: toZapierRecord(resourceType, resourceType.sample),
    },
  }),
);

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

/** Describes an event kind as a clause, such as `a task is completed`. */
function describeKind(kind: string): string {
  const [action, resourceType = ''] = kind.split('_');
  const article = /^[aeio]/.test(resourceType) ? 'an' : 'a';
  return action === 'completed' ? `${article} ${resourceType} is completed` : `${article} ${resourceType} is created`;
}

/** Returns the filters with which a list contains only records that fit the event kind. */
function exampleFilterOf(kind: string): Record<string, string> {
  return kind.startsWith('completed_') ? { status: 'completed' } : {};
}

type Hook = { id: string; event: string; target_url: string };

async function subscribe(z: ZObject, bundle: Bundle, kind: string): Promise<{ id: string }> {
  const url = `${apiRootOf(z, bundle)}/hooks`;
  const body = { target_url: bundle.targetUrl, event: kind };
  const answer = await z.request({ url, method: 'POST', body, ...expectStatuses(409) });
  if (answer.status === 201) return answer.data;
  // 409: another hook has this target (C12). If that hook belongs to this user, Zapier has repeated the call because it
  // missed the first response.
  const { data } = await z.request({ url });
  const ownHook = (data.data as (Hook & { state: string })[]).find(
    (hook) => hook.target_url === bundle.targetUrl && hook.event === kind && hook.state !== 'ended',
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

/**
 * Fetches the record that a notification names. The record must have this trigger's resource type and be on this
 * service, since anyone can POST to a target (section 5 of the specification). A hook test and a deleted record trigger
 * nothing.
 */
async function fetchNotifiedRecord(z: ZObject, bundle: Bundle, resourceType: ResourceType): Promise<ZapierRecord[]> {
  const url = String(bundle.cleanedRequest?.resource_url);
  const root = apiRootOf(z, bundle);
  const [, plural] = /^\/(\w+)\/\d+$/.exec(url.startsWith(root) ? url.slice(root.length) : '') ?? [];
  if (plural === 'hooks') return [];
  if (plural !== resourceType.plural)
    throw new z.errors.Error(`This is not the address of a record of type ${resourceType.name}.`, 'foreign_address');
  const answer = await z.request({ url, ...expectStatuses(404) });
  return answer.status === 404 ? [] : [toZapierRecord(resourceType, answer.data.data)];
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
