import type { Kind } from '../../src/delivery/kinds.ts';
import type { SeededChance } from '../chance.ts';
import type { Arrival, Call } from '../ledgers.ts';
import { FORBIDDEN, type Network } from './network.ts';
import type { Person } from './template.ts';
import type { Time } from './time.ts';

export type Request = {
  readonly method: 'GET' | 'POST' | 'PUT' | 'DELETE';
  readonly url: string;
  readonly body?: Readonly<Record<string, unknown>>;
  /** The word by which it is made once. */
  readonly once?: string;
};

// biome-ignore lint/suspicious/noExplicitAny: answers of any shape are looked into, and what does not fit is a finding
export type Answer = { readonly status: number; readonly json: any };

/** Puts a request; the answer is heard, or is not where the service ends before. */
export type Put = (who: Pick<Person, 'domain' | 'key'>, request: Request, hear: (answer: Answer) => void) => void;

type Made = {
  readonly noun: Noun;
  readonly url: string;
  readonly who: Person;
  readonly word: string;
  isParent: boolean;
  isOver: boolean;
};

type Hook = {
  readonly path: string;
  readonly who: Person;
  readonly target: string;
  id: string | undefined;
  isRestoring: boolean;
};

type Key = { readonly who: Person; readonly id: string; readonly key: string; revoked: boolean };

/** A call of the ledger before it is made. */
type Intent = Call extends infer One ? (One extends Call ? Omit<One, 'askedAt' | 'answeredAt'> : never) : never;

const nouns = {
  event: { kind: 'new_event', parent: undefined },
  client: { kind: 'new_client', parent: undefined },
  project: { kind: 'new_project', parent: undefined },
  task: { kind: 'new_task', parent: 'project' },
  subtask: { kind: 'new_subtask', parent: 'task' },
} as const satisfies Record<string, { kind: Kind; parent: string | undefined }>;

type Noun = keyof typeof nouns;

/** The likelier, the oftener they stand here. */
const likely: readonly Noun[] = [
  'event',
  'event',
  'event',
  'event',
  'client',
  'client',
  'project',
  'task',
  'task',
  'subtask',
];
const kinds: readonly Kind[] = [...likely.map((noun) => nouns[noun].kind), 'completed_task', 'completed_subtask'];

/** People and programs that ask for all sorts of things, and write down what they were answered. */
export class Clients {
  readonly calls: Call[] = [];
  /** What no client must see, a line each. */
  readonly wrong: string[] = [];
  /** What each account's follower has read of the feed. */
  readonly read = new Map<string, { kind: string; record: string; userId: string }[]>();
  readonly #put: Put;
  readonly #time: Time;
  readonly #chance: SeededChance;
  readonly #network: Network;
  readonly #baseUrl: string;
  readonly #people: Person[];
  readonly #made: Made[] = [];
  readonly #hooks: Hook[] = [];
  readonly #keys: Key[] = [];
  readonly #refused = new Set<string>();
  readonly #retries: (() => void)[] = [];
  readonly #gone: Person[] = [];
  readonly #cursors = new Map<string, string | undefined>();
  #count = 0;

  constructor(ports: {
    put: Put;
    time: Time;
    chance: SeededChance;
    network: Network;
    baseUrl: string;
    people: readonly Person[];
  }) {
    this.#put = ports.put;
    this.#time = ports.time;
    this.#chance = ports.chance;
    this.#network = ports.network;
    this.#baseUrl = ports.baseUrl;
    this.#people = [...ports.people];
  }

  /** What they do; the likelier, the higher the number. */
  readonly does: readonly (readonly [number, () => void])[] = [
    [30, () => this.#create()],
    [6, () => this.#complete()],
    [4, () => this.#change()],
    [5, () => this.#delete()],
    [14, () => this.#subscribe()],
    [1, () => this.#subscribeForbidden()],
    [2, () => this.#subscribeTaken()],
    [4, () => this.#unsubscribe()],
    [5, () => this.#restore()],
    [4, () => this.#test()],
    [3, () => this.#redeliver()],
    [4, () => this.#retry()],
    [2, () => this.#issueKey()],
    [2, () => this.#revokeKey()],
    [1, () => this.#deleteUser()],
    [4, () => this.#knockInVain()],
    [5, () => this.#follow()],
    [3, () => this.#list()],
    [3, () => this.#reachOver()],
  ];

  /** Subscribes a few targets, so that there is somebody to be told from the beginning. */
  begin(): void {
    for (let count = 4 + this.#chance.below(5); count > 0; count -= 1) this.#subscribe();
  }

  /** Fetches what an arrival tells of, as its account's owner would; `then` when that is through. */
  fetch(arrival: Arrival & { fetched?: number }): void {
    const hook = this.#hooks.find(({ path }) => path === arrival.path);
    const owner = this.#people.find(({ role, domain }) => role === 'owner' && domain === hook?.who.domain);
    const url = /"(https:[^"]+)"/.exec(arrival.body)?.[1]?.slice(this.#baseUrl.length);
    if (owner === undefined || url === undefined) return;
    this.#put(owner, { method: 'GET', url }, ({ status }) => {
      if (status < 500) arrival.fetched = status;
    });
  }

  /** Words of records that were refused, and must not be there. */
  get refused(): ReadonlySet<string> {
    return this.#refused;
  }

  /** Notes a call and puts it; `done` where it was answered that it is done. */
  #ask(
    who: Pick<Person, 'domain' | 'key'>,
    request: Request,
    calls: readonly Call[],
    done: (answer: Answer) => void,
    undone?: () => void,
  ) {
    for (const call of calls) if (!this.calls.includes(call)) this.calls.push(call);
    this.#put(who, request, (answer) => {
      const { status, json } = answer;
      // It may have been done: nobody was told.
      if (status === 500 || json?.code === 'timed_out') return;
      if (status >= 300) {
        for (const call of calls) if (this.calls.includes(call)) this.calls.splice(this.calls.indexOf(call), 1);
        undone?.();
        return;
      }
      const answeredAt = this.#time.moment();
      for (const call of calls) Object.assign(call, { answeredAt: call.answeredAt ?? answeredAt });
      done(answer);
    });
  }

  #open(intent: Intent): Call {
    return { ...intent, askedAt: this.#time.moment(), answeredAt: undefined };
  }

  #someone(): Person {
    // Most of it happens to a few.
    return this.#chance.one(this.#people.slice(0, this.#chance.below(3) === 0 ? undefined : 2));
  }

  /** One of these, if there is any. */
  #any<T>(of: readonly T[]): T | undefined {
    return of.length === 0 ? undefined : this.#chance.one(of);
  }

  #create(): void {
    const who = this.#someone();
    const noun = this.#chance.one(likely);
    const { kind, parent } = nouns[noun];
    this.#count += 1;
    const word = `${who.domain} ${this.#count}`;
    const above = this.#any(
      this.#made.filter((one) => one.noun === parent && !one.isOver && one.who.domain === who.domain),
    );
    if (parent !== undefined && above === undefined) return;
    if (above !== undefined) above.isParent = true;
    const dates = noun === 'event' ? { start_date: '20270501', due_date: '20270502' } : {};
    const once = this.#chance.below(3) === 0 ? { once: `once-${this.#count}` } : {};
    const url = `/v2/${noun}s${above === undefined ? '' : `/${above.url.split('/').at(-1)}`}`;
    const request: Request = { method: 'POST', url, body: { [`${noun}_name`]: word, ...dates }, ...once };
    const call = this.#open({ did: 'occur', kind, userId: who.userId, record: undefined, word });
    let made: Made | undefined;
    const put = () => {
      this.#ask(
        who,
        request,
        [call],
        ({ json }) => {
          const address = `/v2/${noun}s/${json.data[`${noun}_id`]}`;
          if (made !== undefined && made.url !== address)
            this.wrong.push(`${word} was made once, and is ${made.url} and ${address}`);
          if (made !== undefined) return;
          Object.assign(call, { record: this.#baseUrl + address });
          made = { noun, url: address, who, word, isParent: false, isOver: false };
          this.#made.push(made);
        },
        // One that is made once may have been made before it was refused.
        () => void ('once' in once || this.#refused.add(word)),
      );
    };
    put();
    if ('once' in once) this.#retries.push(put);
  }

  #retry(): void {
    this.#any(this.#retries)?.();
  }

  #complete(): void {
    const one = this.#any(this.#made.filter(({ noun, isOver }) => (noun === 'task' || noun === 'subtask') && !isOver));
    if (one === undefined) return;
    const who = this.#any(this.#people.filter(({ domain }) => domain === one.who.domain)) ?? one.who;
    // Complete already, it tells nobody: so the ledger cannot say who is to hear of it, and does not.
    this.#put(who, { method: 'PUT', url: one.url, body: { completed: 1 } }, () => undefined);
  }

  #change(): void {
    const one = this.#any(this.#made.filter(({ isOver }) => !isOver));
    if (one === undefined) return;
    this.#put(
      one.who,
      { method: 'PUT', url: one.url, body: { notes: 'changed', description: 'changed' } },
      () => undefined,
    );
  }

  #delete(): void {
    const one = this.#any(this.#made.filter(({ isOver, isParent }) => !isOver && !isParent));
    if (one === undefined) return;
    one.isOver = true;
    const call = this.#open({ did: 'delete', record: this.#baseUrl + one.url });
    this.#ask(one.who, { method: 'DELETE', url: one.url }, [call], () => undefined);
  }

  #subscribe(): void {
    const who = this.#someone();
    const path = `/${this.#hooks.length + 1}`;
    const target = this.#network.targetAt(path);
    const hook: Hook = { path, who, target, id: undefined, isRestoring: false };
    this.#hooks.push(hook);
    const body = { target_url: target, event: this.#chance.one(kinds) };
    this.#ask(who, { method: 'POST', url: '/v2/hooks', body }, [this.#open({ did: 'subscribe', path })], ({ json }) => {
      hook.id = String(json.id);
    });
  }

  #subscribeForbidden(): void {
    const literal = this.#chance.one(FORBIDDEN);
    const host = this.#chance.below(2) === 0 ? 'forbidden.test' : literal.includes(':') ? `[${literal}]` : literal;
    const body = { target_url: `http://${host}/never`, event: 'new_event' };
    this.#put(this.#someone(), { method: 'POST', url: '/v2/hooks', body }, ({ status }) => {
      if (status < 300) this.wrong.push(`${host} was taken as a target`);
    });
  }

  /** C12: of a live hook's target there is no second one, whoever asks. */
  #subscribeTaken(): void {
    const hook = this.#any(this.#hooks.filter(({ path, id }) => id !== undefined && !this.#mayHaveEnded(path)));
    if (hook === undefined) return;
    const body = { target_url: `${hook.target}#again`, event: 'new_event' };
    this.#put(this.#someone(), { method: 'POST', url: '/v2/hooks', body }, ({ status }) => {
      if (status < 300 && !this.#mayHaveEnded(hook.path)) this.wrong.push(`${hook.target} was taken twice`);
    });
  }

  /** Whether it has ever been told anything but 200, or was asked to end. */
  #mayHaveEnded(path: string): boolean {
    const isEnding = this.calls.some((call) => call.did === 'unsubscribe' && call.path === path);
    return isEnding || this.#network.arrivals.some((one) => one.path === path && one.answer !== 200);
  }

  #known(): Hook | undefined {
    return this.#any(this.#hooks.filter(({ id, who }) => id !== undefined && !this.#gone.includes(who)));
  }

  #unsubscribe(): void {
    // In the midst of what it is told, mostly.
    const told = new Set(this.#network.parked.map(({ arrival }) => arrival.path));
    const busy = this.#hooks.filter(
      ({ path, id, who }) => told.has(path) && id !== undefined && !this.#gone.includes(who),
    );
    const hook = this.#chance.below(4) > 0 ? this.#any(busy) : this.#known();
    if (hook === undefined) return;
    const who = this.#chance.below(4) > 0 ? hook.who : this.#someone();
    const mayEnd = who === hook.who || (who.role === 'owner' && who.domain === hook.who.domain);
    const calls = mayEnd ? [this.#open({ did: 'unsubscribe', path: hook.path })] : [];
    this.#ask(who, { method: 'DELETE', url: `/v2/hooks/${hook.id}` }, calls, () => {
      if (!mayEnd) this.wrong.push(`${who.domain} ${who.userId} ended ${hook.path} of ${hook.who.userId}`);
      // Somebody who did not mean it: what was in flight then is answered when the hook lives again.
      if (this.#chance.below(3) === 0) return;
      this.#network.hold(hook.path);
      this.#restore(hook);
    });
  }

  #restore(hook = this.#known()): void {
    if (hook === undefined || hook.isRestoring) return;
    const url = `/v2/hooks/${hook.id}`;
    hook.isRestoring = true;
    this.#put(hook.who, { method: 'GET', url }, ({ json }) => {
      hook.isRestoring = false;
      if (json?.data?.state !== 'ended') return;
      hook.isRestoring = true;
      const call = this.#open({ did: 'restore', path: hook.path });
      const over = () => {
        hook.isRestoring = false;
        this.#network.release(hook.path);
      };
      this.#ask(hook.who, { method: 'POST', url: `${url}/restore` }, [call], over, over);
    });
  }

  #test(): void {
    const hook = this.#known();
    if (hook === undefined) return;
    const call = this.#open({ did: 'test', path: hook.path });
    this.#ask(hook.who, { method: 'POST', url: `/v2/hooks/${hook.id}/test` }, [call], () => undefined);
  }

  #redeliver(): void {
    const told = this.#any(
      this.#network.arrivals.filter(({ answer, body }) => answer === 200 && !body.includes('/hooks/')),
    );
    const hook = this.#hooks.find(({ path }) => path === told?.path);
    if (told === undefined || hook === undefined || this.#gone.includes(hook.who)) return;
    const call = this.#open({ did: 'redeliver', deliveryId: told.deliveryId });
    const url = `/v2/deliveries/${told.deliveryId}/redeliver`;
    this.#ask(hook.who, { method: 'POST', url }, [call], () => undefined);
  }

  #issueKey(): void {
    const who = this.#any(this.#people.filter(({ role }) => role === 'owner'));
    if (who === undefined) return;
    const body = { label: 'another', permissions: ['events:read', 'events:write'] };
    this.#put(who, { method: 'POST', url: '/v2/keys', body }, ({ status, json }) => {
      if (status === 201) this.#keys.push({ who, id: String(json.data.id), key: json.data.key, revoked: false });
    });
  }

  #revokeKey(): void {
    const key = this.#any(this.#keys.filter(({ revoked }) => !revoked));
    if (key === undefined) return;
    this.#put(key.who, { method: 'DELETE', url: `/v2/keys/${key.id}` }, ({ status }) => {
      if (status === 200) key.revoked = true;
    });
  }

  /** C23: their hooks end with them. */
  #deleteUser(): void {
    const who = this.#any(this.#people.filter(({ role }, index) => role === 'member' && index % 3 === 2));
    const owner = this.#people.find(({ role, domain }) => role === 'owner' && domain === who?.domain);
    if (who === undefined || owner === undefined) return;
    this.#people.splice(this.#people.indexOf(who), 1);
    this.#gone.push(who);
    const calls = this.#hooks
      .filter((hook) => hook.who === who)
      .map(({ path }) => this.#open({ did: 'unsubscribe', path }));
    this.#ask(owner, { method: 'DELETE', url: `/v2/users/${who.userId}` }, calls, () => {
      this.#keys.push({ who, id: '0', key: who.key, revoked: true });
    });
  }

  /** C1: whoever was let in before, and is not now. */
  #knockInVain(): void {
    const key = this.#any(this.#keys.filter(({ revoked }) => revoked));
    if (key === undefined) return;
    const who = { domain: key.who.domain, key: key.key };
    this.#put(who, { method: 'GET', url: '/v2/events' }, ({ status }) => {
      if (status < 400) this.wrong.push(`key ${key.id} of ${key.who.userId} was revoked, and opens`);
    });
  }

  /** X2: page by page behind the cursor; one who follows sees everything once, in order, through every crash. */
  #follow(): void {
    const owner = this.#any(this.#people.filter(({ role }) => role === 'owner'));
    if (owner === undefined) return;
    const { domain } = owner;
    const after = this.#cursors.get(domain);
    const query = after === undefined ? '' : `&after=${after}`;
    this.#put(owner, { method: 'GET', url: `/v2/notifications?scope=account&limit=20${query}` }, ({ status, json }) => {
      // Another page may have been read meanwhile.
      if (status !== 200 || this.#cursors.get(domain) !== after) return;
      const read = this.read.get(domain) ?? [];
      this.read.set(domain, read);
      for (const { kind, resource_url, user_id } of json.data)
        read.push({ kind, record: resource_url, userId: user_id });
      this.#cursors.set(domain, json.next);
    });
  }

  /** C3: nobody sees what another account has. */
  #list(): void {
    const who = this.#someone();
    const noun = this.#chance.one(Object.keys(nouns) as Noun[]);
    this.#put(who, { method: 'GET', url: `/v2/${noun}s` }, ({ status, json }) => {
      if (status !== 200) return;
      for (const record of json.data) {
        const word = String(record[`${noun}_name`]);
        if (!word.startsWith(`${who.domain} `)) this.wrong.push(`${who.domain} was shown ${word}`);
      }
    });
  }

  #reachOver(): void {
    const one = this.#any(this.#made);
    const who = this.#someone();
    if (one === undefined || one.who.domain === who.domain) return;
    const method = this.#chance.one(['GET', 'PUT', 'DELETE'] as const);
    const body = method === 'PUT' ? { body: { description: 'mine' } } : {};
    this.#put(who, { method, url: one.url, ...body }, ({ status }) => {
      if (status < 300) this.wrong.push(`${who.domain} could ${method} ${one.url} of ${one.who.domain}`);
    });
  }
}
