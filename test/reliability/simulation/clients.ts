import type { SeededChance } from '../../kit/random.ts';
import type { Arrival, Call } from '../checker/history.ts';
import { Hooks } from './hooks.ts';
import type { Network } from './network.ts';
import { Records } from './records.ts';
import { Keys, type Person } from './seed-database.ts';
import type { Time } from './time.ts';

/** Users and programs that call the API at random and record the responses. */
export class Clients {
  /** Feed entries that the follower of each account has read. */
  readonly read = new Map<string, { kind: string; record: string; userId: string }[]>();
  readonly #client: ApiClient;
  readonly #records: Records;
  readonly #hooks: Hooks;
  readonly #cursors = new Map<string, string | undefined>();
  /** Actions with their weights. */
  readonly #actions: readonly (readonly [number, () => void])[];

  constructor(ports: ApiClientPorts) {
    this.#client = new ApiClient(ports);
    const records = new Records(this.#client);
    const hooks = new Hooks(this.#client);
    const keys = new Keys(this.#client, (who) => hooks.of(who));
    this.#records = records;
    this.#hooks = hooks;
    this.#actions = [
      [30, records.create],
      [2, records.flood],
      [8, records.complete],
      [4, records.change],
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
      [2, keys.issue],
      [2, keys.revoke],
      [1, keys.deleteUser],
      [4, keys.useRevokedKey],
      [5, () => this.#follow()],
    ];
  }

  get calls(): readonly Call[] {
    return this.#client.calls;
  }

  /** Responses that no client must get, one per line. */
  get violations(): readonly string[] {
    return this.#client.violations;
  }

  /** Words of rejected records, which must not exist. */
  get rejectedWords(): ReadonlySet<string> {
    return this.#records.rejectedWords;
  }

  /** Creates a few hooks, so that there are deliveries from the beginning. */
  createHooks(): void {
    for (let count = 4 + this.#client.random.below(5); count > 0; count -= 1) this.#hooks.subscribe();
  }

  /** Makes one random call. */
  makeRandomCall(): void {
    let drawn = this.#client.random.below(this.#actions.reduce((sum, [weight]) => sum + weight, 0));
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

  forgetIdempotencyKeys(): void {
    this.#records.forgetIdempotencyKeys();
  }

  /** Fetches the record that a notification names. */
  fetch(arrival: Arrival): void {
    this.#hooks.fetch(arrival);
  }

  /** X2: reads the feed page by page with a cursor; a follower sees every entry once, in order, across crashes. */
  #follow(): void {
    const owner = this.#client.randomOwner();
    if (owner === undefined) return;
    const { domain } = owner;
    const after = this.#cursors.get(domain);
    const query = after === undefined ? '' : `&after=${after}`;
    const url = `/v2/notifications?scope=account&limit=20${query}`;
    this.#client.put(owner, { method: 'GET', url }, ({ status, json }) => {
      // Another response may have advanced the cursor meanwhile.
      if (status !== 200 || this.#cursors.get(domain) !== after) return;
      const read = this.read.get(domain) ?? [];
      this.read.set(domain, read);
      for (const { kind, resource_url, user_id } of json.data)
        read.push({ kind, record: resource_url, userId: user_id });
      this.#cursors.set(domain, json.next);
    });
  }
}

export type Request = {
  readonly method: 'GET' | 'POST' | 'PUT' | 'DELETE';
  readonly url: string;
  readonly body?: Readonly<Record<string, unknown>>;
  /** Value of the Idempotency-Key. */
  readonly idempotencyKey?: string;
};

// biome-ignore lint/suspicious/noExplicitAny: answers of any shape are looked into, and what does not fit is a finding
export type Response = { readonly status: number; readonly json: any };

type Caller = Pick<Person, 'domain' | 'key'>;

/** Sends a request. The response is lost if the service dies before. */
export type SendRequest = (who: Caller, request: Request, hear: (answer: Response) => void) => void;

/** A call of the history before it is made. */
type Intent = Call extends infer One ? (One extends Call ? Omit<One, 'askedAt' | 'answeredAt'> : never) : never;

export type ApiClientPorts = {
  readonly send: SendRequest;
  readonly time: Time;
  readonly random: SeededChance;
  readonly network: Network;
  readonly baseUrl: string;
  readonly people: readonly Person[];
};

/** Common part of all clients: the users, the service, and the history of calls. */
export class ApiClient {
  readonly calls: Call[] = [];
  /** Responses that no client must get, one per line. */
  readonly violations: string[] = [];
  readonly people: Person[];
  /** Users who have been deleted, or may have been. */
  readonly deletedUsers: Person[] = [];
  readonly put: SendRequest;
  readonly network: Network;
  readonly random: SeededChance;
  readonly baseUrl: string;
  readonly #time: Time;
  /** By call: number of requests that were not rejected, so either succeeded or got no response. */
  readonly #openAttempts = new Map<Call, number>();

  constructor({ send, time, random, network, baseUrl, people }: ApiClientPorts) {
    this.put = send;
    this.#time = time;
    this.random = random;
    this.network = network;
    this.baseUrl = baseUrl;
    this.people = [...people];
  }

  /**
   * Records the calls and sends the request; `done` runs on success, `undone` on a rejection. A call that is
   * sent several times stays recorded unless every request is rejected.
   */
  request(
    who: Caller,
    request: Request,
    calls: readonly Call[],
    done: (answer: Response) => void,
    undone?: () => void,
  ): void {
    for (const call of calls) {
      if (!this.calls.includes(call)) this.calls.push(call);
      this.#openAttempts.set(call, (this.#openAttempts.get(call) ?? 0) + 1);
    }
    this.put(who, request, (answer) => {
      const { status, json } = answer;
      // The request may have taken effect, although its response does not show it.
      if (status === 500 || json?.code === 'timed_out') return;
      if (status >= 300) {
        for (const call of calls) this.#rejected(call);
        undone?.();
        return;
      }
      const answeredAt = this.#time.timestamp();
      for (const call of calls) Object.assign(call, { answeredAt: call.answeredAt ?? answeredAt });
      done(answer);
    });
  }

  #rejected(call: Call): void {
    const left = (this.#openAttempts.get(call) ?? 1) - 1;
    this.#openAttempts.set(call, left);
    if (left === 0) this.calls.splice(this.calls.indexOf(call), 1);
  }

  newCall(intent: Intent): Call {
    return { ...intent, askedAt: this.#time.timestamp(), answeredAt: undefined };
  }

  randomUser(): Person {
    // Most requests are made by the first two users.
    return this.random.one(this.people.slice(0, this.random.below(3) === 0 ? undefined : 2));
  }

  randomOwner(domain?: string): Person | undefined {
    return this.pick(this.people.filter((one) => one.role === 'owner' && one.domain === (domain ?? one.domain)));
  }

  /** A random one of these, if there is any. */
  pick<T>(of: readonly T[]): T | undefined {
    return of.length === 0 ? undefined : this.random.one(of);
  }
}
