import type { Arrival, Call } from '../checker/history.ts';
import { ApiClient, type ApiClientPorts } from './api-client.ts';
import { Hooks } from './hooks.ts';
import { Keys } from './keys.ts';
import { Records } from './records.ts';

/** People and programs that ask for all sorts of things, and write down what they were answered. */
export class Clients {
  /** What each account's follower has read of the feed. */
  readonly read = new Map<string, { kind: string; record: string; userId: string }[]>();
  readonly #client: ApiClient;
  readonly #records: Records;
  readonly #hooks: Hooks;
  readonly #cursors = new Map<string, string | undefined>();
  /** What they do; the likelier, the higher the number. */
  readonly #does: readonly (readonly [number, () => void])[];

  constructor(ports: ApiClientPorts) {
    this.#client = new ApiClient(ports);
    const records = new Records(this.#client);
    const hooks = new Hooks(this.#client);
    const keys = new Keys(this.#client, (who) => hooks.of(who));
    this.#records = records;
    this.#hooks = hooks;
    this.#does = [
      [30, records.create],
      [2, records.flood],
      [8, records.complete],
      [4, records.change],
      [5, records.delete],
      [4, records.retry],
      [3, records.list],
      [3, records.reachOver],
      [14, hooks.subscribe],
      [1, hooks.subscribeForbidden],
      [2, hooks.subscribeTaken],
      [4, hooks.unsubscribe],
      [5, hooks.restore],
      [4, hooks.test],
      [3, hooks.redeliver],
      [2, keys.issue],
      [2, keys.revoke],
      [1, keys.deleteUser],
      [4, keys.knockInVain],
      [5, () => this.#follow()],
    ];
  }

  get calls(): readonly Call[] {
    return this.#client.calls;
  }

  /** What no client must see, a line each. */
  get wrong(): readonly string[] {
    return this.#client.wrong;
  }

  /** Words of records that were refused, and must not be there. */
  get refused(): ReadonlySet<string> {
    return this.#records.refused;
  }

  /** Subscribes a few targets, so that there is somebody to be told from the beginning. */
  begin(): void {
    for (let count = 4 + this.#client.random.below(5); count > 0; count -= 1) this.#hooks.subscribe();
  }

  /** Somebody asks for something. */
  askAnything(): void {
    let drawn = this.#client.random.below(this.#does.reduce((sum, [weight]) => sum + weight, 0));
    const chosen = this.#does.find(([weight]) => {
      drawn -= weight;
      return drawn < 0;
    });
    chosen?.[1]();
  }

  /** Something occurs, and something is asked for, that live hooks are to be told. */
  stir(): void {
    for (let count = 0; count < 6; count += 1) this.#records.create();
    for (let count = 0; count < 3; count += 1) this.#hooks.test();
    this.#hooks.redeliver();
  }

  forgetOnce(): void {
    this.#records.forgetOnce();
  }

  /** Fetches what an arrival tells of. */
  fetch(arrival: Arrival): void {
    this.#hooks.fetch(arrival);
  }

  /** X2: page by page behind the cursor; one who follows sees everything once, in order, through every crash. */
  #follow(): void {
    const owner = this.#client.owner();
    if (owner === undefined) return;
    const { domain } = owner;
    const after = this.#cursors.get(domain);
    const query = after === undefined ? '' : `&after=${after}`;
    const url = `/v2/notifications?scope=account&limit=20${query}`;
    this.#client.put(owner, { method: 'GET', url }, ({ status, json }) => {
      // Another page may have been read meanwhile.
      if (status !== 200 || this.#cursors.get(domain) !== after) return;
      const read = this.read.get(domain) ?? [];
      this.read.set(domain, read);
      for (const { kind, resource_url, user_id } of json.data)
        read.push({ kind, record: resource_url, userId: user_id });
      this.#cursors.set(domain, json.next);
    });
  }
}
