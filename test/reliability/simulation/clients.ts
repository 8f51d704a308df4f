import type { Arrival, ClientCall, DatabaseContent } from '../checker/history.ts';
import { ApiClient, type ApiClientDeps } from './api-client.ts';
import { HookClients } from './hooks.ts';
import { KeyClients } from './keys.ts';
import { RecordClients } from './records.ts';

/** An entry that a client has read in the feed. */
type ReadEntry = DatabaseContent['occurrences'][number];

/** Users and programs that call the API at random and record the responses. */
export class SimulatedClients {
  /** Feed entries that the follower of each account has read. */
  readonly readFeeds = new Map<string, ReadEntry[]>();
  readonly #client: ApiClient;
  readonly #records: RecordClients;
  readonly #hooks: HookClients;
  readonly #cursors = new Map<string, string | undefined>();
  /** Actions with their weights. */
  readonly #actions: readonly (readonly [number, () => void])[];

  constructor(deps: ApiClientDeps) {
    this.#client = new ApiClient(deps);
    const records = new RecordClients(this.#client);
    const hooks = new HookClients(this.#client, (domain) => records.projectIdsOf(domain));
    const keys = new KeyClients(
      this.#client,
      (who) => hooks.pathsOf(who),
      (who) => hooks.isChanging(who),
    );
    this.#records = records;
    this.#hooks = hooks;
    this.#actions = [
      [30, records.create],
      [2, records.flood],
      [8, records.complete],
      [3, records.reopen],
      [8, records.change],
      [5, records.delete],
      [4, records.retry],
      [3, records.list],
      [3, records.accessForeignRecord],
      [14, hooks.subscribe],
      [1, hooks.subscribeForbidden],
      [2, hooks.subscribeTaken],
      [4, hooks.unsubscribe],
      [5, hooks.restore],
      [4, hooks.test],
      [3, hooks.redeliver],
      [10, hooks.change],
      [2, hooks.replay],
      [5, keys.changeRole],
      [2, keys.issue],
      [2, keys.revoke],
      [1, keys.deleteUser],
      [4, keys.useRevokedKey],
      [5, () => this.#follow()],
    ];
  }

  get calls(): readonly ClientCall[] {
    return this.#client.calls;
  }

  /** Descriptions of responses that no client must get. */
  get violations(): readonly string[] {
    return this.#client.violations;
  }

  /** Words of rejected records, which must not exist. */
  get rejectedWords(): ReadonlySet<string> {
    return this.#records.rejectedWords;
  }

  /** Creates a few hooks, so that there are deliveries from the beginning. */
  createHooks(): void {
    for (let count = 4 + this.#client.random.integerBelow(5); count > 0; count -= 1) this.#hooks.subscribe();
  }

  /** Makes one random call. */
  makeRandomCall(): void {
    let drawn = this.#client.random.integerBelow(this.#actions.reduce((sum, [weight]) => sum + weight, 0));
    const chosen = this.#actions.find(([weight]) => {
      drawn -= weight;
      return drawn < 0;
    });
    chosen?.[1]();
  }

  /** Creates records, tests and a redelivery, which live hooks must receive. */
  createDeliveries(): void {
    for (let count = 0; count < 6; count += 1) this.#records.create();
    for (let count = 0; count < 3; count += 1) this.#hooks.test();
    this.#hooks.redeliver();
  }

  /** Enables all hooks, so that they send what they hold back. */
  enableHooks(): void {
    this.#hooks.enableAll();
  }

  forgetIdempotencyKeys(): void {
    this.#records.forgetIdempotencyKeys();
  }

  /** Fetches the record that a notification names. */
  fetch(arrival: Arrival): void {
    this.#hooks.fetch(arrival);
  }

  /** Reads a page of the feed with a cursor. A follower must see every entry once, in order, across crashes (X2). */
  #follow(): void {
    const owner = this.#client.randomOwner();
    if (owner === undefined) return;
    const { domain } = owner;
    const after = this.#cursors.get(domain);
    const query = after === undefined ? '' : `&after=${after}`;
    const url = `/v2/notifications?scope=account&limit=20${query}`;
    this.#client.sendUnrecorded(owner, { method: 'GET', url }, ({ status, json }) => {
      // Another response may have advanced the cursor meanwhile.
      if (status !== 200 || this.#cursors.get(domain) !== after) return;
      const read = this.readFeeds.get(domain) ?? [];
      this.readFeeds.set(domain, read);
      for (const entry of json.data) {
        const { kind, resource_url: record, user_id: userId, cursor, project_id: projectId } = entry;
        const { previous_project_id: previousProjectId, fields } = entry;
        read.push({
          kind,
          record,
          userId,
          place: { domain, position: Number(cursor), projectId, previousProjectId, fields: fields.join() },
        });
      }
      this.#cursors.set(domain, json.next);
    });
  }
}
