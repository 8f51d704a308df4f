import type { Bundle, Trigger, ZObject } from 'zapier-platform-core';
import { expected, rootOf } from './connection';
import { recordsAt } from './records';
import { hookKinds, type ResourceType, resourceTypes, type Shown, shown, titleOf } from './table';

/** How many records Zapier is shown as examples, and how many in a list to choose from. */
const EXAMPLES = 3;
const CHOICES = 100;

/** One for each kind that a hook can be told of. */
const hooks = hookKinds.map(
  ({ name, resourceType }): Trigger => ({
    key: name,
    noun: titleOf(resourceType.name),
    display: { label: titleOf(name), description: `Triggers as soon as ${sentenceOf(name)}, done by you.` },
    operation: {
      type: 'hook',
      performSubscribe: (z, bundle) => subscribe(z, bundle, name),
      performUnsubscribe: unsubscribe,
      perform: (z, bundle) => record(z, bundle, resourceType),
      performList: (z, bundle) => list(z, bundle, resourceType, { limit: EXAMPLES, ...examplesOf(name) }),
      sample: shown(resourceType, resourceType.sample),
    },
  }),
);

/** One for each resource type, never shown: what Zapier offers where the id of a record is asked for. */
const choices = resourceTypes.map(
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
        list(z, bundle, resourceType, { limit: CHOICES, offset: CHOICES * (bundle.meta?.page ?? 0) }),
    },
  }),
);

export const triggers = Object.fromEntries([...hooks, ...choices].map((trigger) => [trigger.key, trigger]));

function sentenceOf(kind: string): string {
  const [what, resourceType = ''] = kind.split('_');
  const article = /^[aeio]/.test(resourceType) ? 'an' : 'a';
  return what === 'completed' ? `${article} ${resourceType} is completed` : `${article} ${resourceType} is created`;
}

function examplesOf(kind: string): Record<string, string> {
  return kind.startsWith('completed_') ? { status: 'completed' } : {};
}

type Hook = { id: string; event: string; target_url: string };

async function subscribe(z: ZObject, bundle: Bundle, event: string): Promise<{ id: string }> {
  const url = `${rootOf(z, bundle)}/hooks`;
  const body = { target_url: bundle.targetUrl, event };
  const answer = await z.request({ url, method: 'POST', body, ...expected(409) });
  if (answer.status === 201) return answer.data;
  // C12: the address is taken. If by a hook of ours, Zapier has asked a second time, and did not hear the first answer.
  const { data } = await z.request({ url });
  const own = (data.data as (Hook & { state: string })[]).find(
    (hook) => hook.target_url === bundle.targetUrl && hook.event === event && hook.state !== 'ended',
  );
  if (own === undefined) throw new z.errors.Error(answer.data.message, answer.data.code, 409);
  return { id: own.id };
}

/** One that has ended already, or is not known any more, is as good. */
async function unsubscribe(z: ZObject, bundle: Bundle): Promise<object> {
  const id = encodeURIComponent(String(bundle.subscribeData?.id));
  await z.request({ url: `${rootOf(z, bundle)}/hooks/${id}`, method: 'DELETE', ...expected(404) });
  return {};
}

/**
 * The record that a notification names: one of this trigger's resource type, on this service. Anybody can POST to a target (the
 * specification, section 5). A test of the hook names the hook and triggers nothing, nor does what was deleted since.
 */
async function record(z: ZObject, bundle: Bundle, resourceType: ResourceType): Promise<Shown[]> {
  const url = String(bundle.cleanedRequest?.resource_url);
  const root = rootOf(z, bundle);
  const [, plural] = /^\/(\w+)\/\d+$/.exec(url.startsWith(root) ? url.slice(root.length) : '') ?? [];
  if (plural === 'hooks') return [];
  if (plural !== resourceType.plural)
    throw new z.errors.Error(`That is the address of no ${resourceType.name} here.`, 'foreign_address');
  const answer = await z.request({ url, ...expected(404) });
  return answer.status === 404 ? [] : [shown(resourceType, answer.data.data)];
}

type Wanted = Readonly<Record<string, string | number>> & { readonly limit: number };

async function list(z: ZObject, bundle: Bundle, resourceType: ResourceType, wanted: Wanted): Promise<Shown[]> {
  const records = await recordsAt(z, `${rootOf(z, bundle)}/${resourceType.plural}`, wanted);
  return records.map((record) => shown(resourceType, record));
}
