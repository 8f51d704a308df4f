import type { SeededRandom } from '../../../packages/chaos-receiver/src/random.ts';
import type { ClientCall } from '../checker/history.ts';
import type { SimulatedNetwork } from './network.ts';
import type { SimulatedUser } from './seed-database.ts';
import type { SimulatedTime } from './time.ts';

export type ApiRequest = {
  readonly method: 'GET' | 'POST' | 'PUT' | 'DELETE';
  readonly url: string;
  readonly body?: Readonly<Record<string, unknown>>;
  /** Value of the Idempotency-Key. */
  readonly idempotencyKey?: string;
};

// biome-ignore lint/suspicious/noExplicitAny: clients inspect responses of any shape, and report an unexpected one
export type ApiResponse = { readonly status: number; readonly json: any };

type Credentials = Pick<SimulatedUser, 'domain' | 'key'>;

/** Sends a request. `hear` is called with the response, which is lost if the service dies before. */
export type SendRequest = (who: Credentials, request: ApiRequest, hear: (answer: ApiResponse) => void) => void;

/** A call of the history before it is made, and so without times. */
type PlannedCall = ClientCall extends infer One
  ? One extends ClientCall
    ? Omit<One, 'askedAt' | 'answeredAt'>
    : never
  : never;

export type ApiClientDeps = {
  readonly send: SendRequest;
  readonly time: SimulatedTime;
  readonly random: SeededRandom;
  readonly network: SimulatedNetwork;
  readonly baseUrl: string;
  readonly people: readonly SimulatedUser[];
  /** Returns the feed position of an account, or undefined while no service runs. */
  readonly feedPosition: (domain: string) => number | undefined;
  /** Returns the number of lives of the service so far. A request of an earlier life gets no response. */
  readonly lifeNumber: () => number;
};

/** Calls that change what hooks report. */
const changesReports = (call: ClientCall): boolean => ['subscribe', 'restore', 'change', 'role'].includes(call.did);

/** Common part of all clients: the users, the service, and the history of calls. */
export class ApiClient {
  readonly calls: ClientCall[] = [];
  /** Descriptions of responses that no client must get. */
  readonly violations: string[] = [];
  readonly people: SimulatedUser[];
  /** Users who have been deleted, or may have been. */
  readonly deletedUsers: SimulatedUser[] = [];
  /** Ids of members who have become admins. */
  readonly admins = new Set<string>();
  /** Users whose role is being changed, with the life of the service that got the request. */
  readonly roleChanges = new Map<string, number>();
  readonly sendUnrecorded: SendRequest;
  readonly network: SimulatedNetwork;
  readonly random: SeededRandom;
  readonly baseUrl: string;
  readonly lifeNumber: () => number;
  readonly #feedPosition: (domain: string) => number | undefined;
  readonly #time: SimulatedTime;
  /** Number of requests of each call that were not rejected: they succeeded or got no response. */
  readonly #openAttempts = new Map<ClientCall, number>();

  constructor({ send, time, random, network, baseUrl, people, feedPosition, lifeNumber }: ApiClientDeps) {
    this.#feedPosition = feedPosition;
    this.lifeNumber = lifeNumber;
    this.sendUnrecorded = send;
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
  sendRecorded(
    who: Credentials,
    request: ApiRequest,
    calls: readonly ClientCall[],
    done: (answer: ApiResponse) => void,
    undone?: () => void,
  ): void {
    for (const call of calls) {
      if (!this.calls.includes(call)) this.calls.push(call);
      if (changesReports(call)) Object.assign(call, { positionBefore: this.#feedPosition(who.domain) });
      this.#openAttempts.set(call, (this.#openAttempts.get(call) ?? 0) + 1);
    }
    this.sendUnrecorded(who, request, (answer) => {
      const { status, json } = answer;
      // The request may have taken effect, although its response does not show it.
      if (status === 500 || json?.code === 'timed_out') return;
      if (status >= 300) {
        for (const call of calls) this.#onRejected(call);
        undone?.();
        return;
      }
      const answeredAt = this.#time.timestamp();
      for (const call of calls) {
        Object.assign(call, { answeredAt: call.answeredAt ?? answeredAt });
        if (changesReports(call)) Object.assign(call, { positionAfter: this.#feedPosition(who.domain) });
      }
      done(answer);
    });
  }

  #onRejected(call: ClientCall): void {
    const left = (this.#openAttempts.get(call) ?? 1) - 1;
    this.#openAttempts.set(call, left);
    if (left === 0) this.calls.splice(this.calls.indexOf(call), 1);
  }

  newCall(intent: PlannedCall): ClientCall {
    return { ...intent, askedAt: this.#time.timestamp(), answeredAt: undefined };
  }

  randomUser(): SimulatedUser {
    // Most requests are made by the first two users.
    return this.random.pick(this.people.slice(0, this.random.integerBelow(3) === 0 ? undefined : 2));
  }

  randomOwner(domain?: string): SimulatedUser | undefined {
    return this.pick(this.people.filter((one) => one.role === 'owner' && one.domain === (domain ?? one.domain)));
  }

  /** Whether a user is an owner or an admin, or may have become one. */
  mayBeAdmin({ role, userId }: SimulatedUser): boolean {
    return role === 'owner' || this.admins.has(userId) || this.roleChanges.has(userId);
  }

  /** Whether the role of a user is being changed now. */
  isChangingRole({ userId }: SimulatedUser): boolean {
    return this.roleChanges.get(userId) === this.lifeNumber();
  }

  /** Returns a random element, or undefined for an empty list. */
  pick<T>(of: readonly T[]): T | undefined {
    return of.length === 0 ? undefined : this.random.pick(of);
  }
}
