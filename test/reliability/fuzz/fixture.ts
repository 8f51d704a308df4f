import type { SeededRandom } from '../../../packages/chaos-receiver/src/random.ts';
import { apiKey, Carillon } from '../../../packages/sdk/src/index.ts';
import { resourceTypes } from '../../../src/delivery/outbox/event-kinds.ts';
import { createAccount } from '../../../src/resources/accounts/actions.ts';
import { systemRandom } from '../../../src/secrets.ts';
import type { Store } from '../../../src/store/store.ts';
import type { Json } from '../../kit/service/service.ts';
import type { RawResponse } from './raw-client.ts';
import type { CallerHeaders, RequestDraft } from './requests.ts';
import type { KnownIds } from './values.ts';

/** Maximum number of ids that are remembered for each resource. */
const MAX_IDS = 30;

let accounts = 0;

/** An account under test: its caller, and the ids of the records that were created in it so far. */
export class Fixture implements KnownIds {
  readonly caller: CallerHeaders;
  readonly tags: string[] = [];
  readonly #ids = new Map<string, string[]>();
  readonly #newTarget: () => string;

  constructor(caller: CallerHeaders, targets: () => string) {
    this.caller = caller;
    this.#newTarget = targets;
  }

  randomId(name: string, random: SeededRandom): string | undefined {
    const ids = this.#ids.get(name) ?? [];
    // Newer ids are preferred, because they are more likely to exist still.
    return ids[Math.min(random.integerBelow(ids.length), random.integerBelow(ids.length))];
  }

  /** Returns the newest id of a kind. */
  newestId(name: string): string | undefined {
    return this.#ids.get(name)?.[0];
  }

  target(): string {
    return this.#newTarget();
  }

  add(name: string, id: string): void {
    const ids = this.#ids.get(name) ?? [];
    this.#ids.set(name, [id, ...ids].slice(0, MAX_IDS));
  }

  /** Remembers the new ids, deleted ids and ETags of a response. */
  learn({ method, operation, ids }: RequestDraft, { status, headers, body }: RawResponse): void {
    const [, , resourceType = ''] = operation.path.split('/');
    const name = operation.ids.at(-1) ?? '';
    const tag = headers.get('etag');
    if (tag !== undefined) this.tags.splice(0, this.tags.length, tag, ...this.tags.slice(0, 5));
    const [, made] = /\/(\d+)$/.exec(headers.get('location') ?? '') ?? [];
    const known = Object.values(resourceTypes).find(({ collection }) => collection === `/${resourceType}`);
    if (status === 201 && made !== undefined) this.add(known?.key ?? `${resourceType.replace(/s$/, '')}_id`, made);
    if (status === 202) this.add('delivery_id', String((JSON.parse(body.toString()) as Json).data.id));
    // An ended hook can still be read and restored.
    const isGone = status === 404 || (method === 'DELETE' && status === 200);
    if (isGone && ids.length > 0 && name !== 'hook_id') this.#forget(name, ids.at(-1));
  }

  #forget(name: string, id: string | undefined): void {
    this.#ids.set(
      name,
      (this.#ids.get(name) ?? []).filter((one) => one !== id),
    );
  }
}

/** Creates an account with a few records of each resource. */
export async function newFixture(store: Store, baseUrl: string, targets: () => string): Promise<Fixture> {
  accounts += 1;
  const account = { domain: `fuzz-${accounts}.test`, email: `owner@fuzz-${accounts}.test` };
  const { domain, key } = await store.write((tx) => createAccount(tx, account, Date.now(), systemRandom));
  const own = new Carillon({ baseUrl, auth: apiKey({ domain, key }), retries: 0 });
  const fixture = new Fixture({ domain, key }, targets);
  for (let count = 0; count < 2; count += 1) {
    const { client_id } = await own.clients.create({ client_name: 'C' });
    const { contact_id } = await own.contacts.create({ contact_name: 'C', client_id });
    const { project_id } = await own.projects.create({ project_name: 'P', client_id });
    const { task_id } = await own.tasks.create(project_id, { task_name: 'T' });
    const { subtask_id } = await own.subtasks.create(task_id, { subtask_name: 'S' });
    const { entry_id } = await own.timeEntries.create(task_id, { seconds: 60 });
    const { comment_id } = await own.comments.create(project_id, { comment: 'C' });
    const { id: hook_id } = await own.hooks.create({ target_url: targets(), event: 'new_event' });
    const { id: delivery_id } = await own.hooks.test(hook_id);
    const { event_id } = await own.events.create({ event_name: 'E', start_date: '20270301', due_date: '20270302' });
    const { id: key_id } = await own.keys.create({ label: 'k' });
    const { id: calendar_id } = await own.calendars.create({ label: 'c' });
    const { user_id } = await own.users.create({ email: `u${count}@${domain}` });
    const { team_id } = await own.teams.create({ team_name: 'T', users: [user_id] });
    const made = {
      ...{ client_id, contact_id, project_id, task_id, subtask_id, entry_id, comment_id, hook_id, delivery_id },
      ...{ event_id, key_id, calendar_id, user_id, team_id },
    };
    for (const [name, id] of Object.entries(made)) fixture.add(name, id);
  }
  return fixture;
}
