import type { SeededChance } from '../../kit/random.ts';
import type { Call } from '../checker/history.ts';
import type { Network } from './network.ts';
import type { Person } from './seed-database.ts';
import type { Time } from './time.ts';

export type Request = {
  readonly method: 'GET' | 'POST' | 'PUT' | 'DELETE';
  readonly url: string;
  readonly body?: Readonly<Record<string, unknown>>;
  /** Value of the Idempotency-Key. */
  readonly once?: string;
};

// biome-ignore lint/suspicious/noExplicitAny: answers of any shape are looked into, and what does not fit is a finding
export type Answer = { readonly status: number; readonly json: any };

type Caller = Pick<Person, 'domain' | 'key'>;

/** Sends a request. The response is lost if the service dies before. */
export type Put = (who: Caller, request: Request, hear: (answer: Answer) => void) => void;

/** A call of the history before it is made. */
type Intent = Call extends infer One ? (One extends Call ? Omit<One, 'askedAt' | 'answeredAt'> : never) : never;

export type ApiClientPorts = {
  readonly put: Put;
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
  readonly wrong: string[] = [];
  readonly people: Person[];
  /** Users who have been deleted, or may have been. */
  readonly gone: Person[] = [];
  readonly put: Put;
  readonly network: Network;
  readonly random: SeededChance;
  readonly baseUrl: string;
  readonly #time: Time;
  /** By call: number of requests that were not rejected, so either succeeded or got no response. */
  readonly #mayBeDone = new Map<Call, number>();

  constructor({ put, time, random, network, baseUrl, people }: ApiClientPorts) {
    this.put = put;
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
  ask(
    who: Caller,
    request: Request,
    calls: readonly Call[],
    done: (answer: Answer) => void,
    undone?: () => void,
  ): void {
    for (const call of calls) {
      if (!this.calls.includes(call)) this.calls.push(call);
      this.#mayBeDone.set(call, (this.#mayBeDone.get(call) ?? 0) + 1);
    }
    this.put(who, request, (answer) => {
      const { status, json } = answer;
      // The request may have taken effect, although its response does not show it.
      if (status === 500 || json?.code === 'timed_out') return;
      if (status >= 300) {
        for (const call of calls) this.#refused(call);
        undone?.();
        return;
      }
      const answeredAt = this.#time.moment();
      for (const call of calls) Object.assign(call, { answeredAt: call.answeredAt ?? answeredAt });
      done(answer);
    });
  }

  #refused(call: Call): void {
    const left = (this.#mayBeDone.get(call) ?? 1) - 1;
    this.#mayBeDone.set(call, left);
    if (left === 0) this.calls.splice(this.calls.indexOf(call), 1);
  }

  open(intent: Intent): Call {
    return { ...intent, askedAt: this.#time.moment(), answeredAt: undefined };
  }

  someone(): Person {
    // Most requests are made by the first two users.
    return this.random.one(this.people.slice(0, this.random.below(3) === 0 ? undefined : 2));
  }

  owner(domain?: string): Person | undefined {
    return this.any(this.people.filter((one) => one.role === 'owner' && one.domain === (domain ?? one.domain)));
  }

  /** A random one of these, if there is any. */
  any<T>(of: readonly T[]): T | undefined {
    return of.length === 0 ? undefined : this.random.one(of);
  }
}
