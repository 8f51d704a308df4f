import { mkdirSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setImmediate as turn } from 'node:timers/promises';
import { pino } from 'pino';
import { loadConfig } from '../../src/config/load.ts';
import { type Ports, type Service, startService } from '../../src/service.ts';
import { chanceFrom, type SeededChance } from '../chance.ts';
import { check, sayFault } from '../check.ts';
import type { Crash } from '../ledgers.ts';
import { type Answer, Clients, type Put } from './clients.ts';
import { Disk } from './disk.ts';
import { type FaultPoint, Faults, pointsOf } from './faults.ts';
import { Network, type Parked } from './network.ts';
import { fatesIn, OWED, owedIn, storedIn } from './stored.ts';
import { chanceOf, type Template } from './template.ts';
import { type Life, Time } from './time.ts';

const BASE_URL = 'https://carillon.test';
const WAITS = { flag: '20s,5m', ms: [20_000, 300_000] } as const;

/** Longer than any fault of the disk keeps the engine from writing something down. */
const SETTLES_WITHIN_MS = 60_000;

/** After so many answers without faults, every target is kind, so that there is an end. */
const ANSWERS_UNTIL_KIND = 20;

/** A write takes that many turns of the event loop at most, and no time. */
const TURNS_AN_INSTANT = 12;
const MOST_ROUNDS = 20_000;

type Server = Parameters<NonNullable<Ports['listen']>>[0];
type Running = Life & { server?: Server; service?: Service };

/** What became of one seed. */
export type Outcome = {
  readonly seed: number;
  readonly broken: readonly string[];
  readonly hits: ReadonlyMap<FaultPoint, number>;
  readonly counts: Readonly<Record<string, number>>;
  /** All that happened, a line each. */
  readonly trace: readonly string[];
};

/** Lives through one seed in a folder of its own, which is gone afterwards. */
export async function live(seed: number, template: Template, folder: string): Promise<Outcome> {
  const own = join(folder, String(seed));
  mkdirSync(own, { recursive: true });
  try {
    return await new World(seed, template, own).run();
  } finally {
    rmSync(own, { recursive: true, force: true });
  }
}

/** A whole service on a real file, and around it a world in which nothing happens by itself. */
class World {
  readonly #seed: number;
  readonly #time = new Time();
  readonly #faults = new Faults();
  readonly #chance: SeededChance;
  readonly #served: SeededChance;
  readonly #disk: Disk;
  readonly #network: Network;
  readonly #clients: Clients;
  readonly #trace: string[] = [];
  readonly #broken: string[] = [];
  readonly #crashes: Crash[] = [];
  #life: Running = { number: 0, isDead: true };
  #pending = 0;
  #answered = 0;

  constructor(seed: number, template: Template, folder: string) {
    this.#seed = seed;
    this.#chance = chanceFrom(seed);
    this.#served = this.#chance.fork();
    const [time, faults] = [this.#time, this.#faults];
    const onCrash = (why: string) => this.#die(why);
    this.#disk = new Disk({ folder, faults, chance: this.#chance.fork(), time, onCrash });
    this.#network = new Network({ time, faults, chance: this.#chance.fork() });
    this.#network.onOrder = () => {
      if (faults.takes('crash between claim and attempt')) this.#die('between claim and attempt');
    };
    const put = this.#putter();
    const chance = this.#chance.fork();
    this.#clients = new Clients({
      put,
      time,
      chance,
      network: this.#network,
      baseUrl: BASE_URL,
      people: template.people,
    });
    writeFileSync(this.#disk.path, template.bytes);
  }

  async run(): Promise<Outcome> {
    const steps = 80 + this.#chance.below(80);
    await this.#untilUp();
    this.#clients.begin();
    for (let step = 0; step < steps; step += 1) {
      await this.#untilUp();
      await this.#step();
      await this.#turns(this.#chance.below(4));
    }
    const calmFrom = await this.#calmDown();
    const stored = this.#disk.look((database) => storedIn(database, BASE_URL));
    const { calls, wrong, read, refused } = this.#clients;
    const { arrivals, forbidden } = this.#network;
    // Two hooks have had one target, one after the other: the ledgers could not tell whose an arrival is.
    const paths = stored.hooks.map(({ path }) => path);
    const taken = new Set(paths.filter((path, index) => paths.indexOf(path) !== index));
    const faults = check({
      calls,
      arrivals: arrivals.filter(({ path }) => !taken.has(path)),
      database: { ...stored, hooks: stored.hooks.filter(({ path }) => !taken.has(path)) },
      crashes: this.#crashes,
      waitsMs: WAITS.ms,
      calmFrom,
      settlesWithinMs: SETTLES_WITHIN_MS,
      wallOf: this.#time.wallOf,
    });
    const made = [...stored.records.values()];
    const twice = made.filter((word, index) => made.indexOf(word) !== index);
    const follows = [...read].flatMap(([domain, seen]) => {
      const facts = stored.facts.get(domain) ?? [];
      const differs = seen.findIndex((one, index) => JSON.stringify(one) !== JSON.stringify(order(facts[index])));
      return differs < 0 ? [] : [`${domain} was shown ${JSON.stringify(seen[differs])} at ${differs + 1} of its feed`];
    });
    const broken = [
      ...this.#broken,
      ...faults.map(sayFault),
      ...stored.wrong,
      ...wrong,
      ...follows,
      ...forbidden.map((one) => `dialled ${one}`),
      ...twice.map((word) => `${word} was made twice`),
      ...made.filter((word) => refused.has(word)).map((word) => `${word} was refused, and is there`),
    ];
    const acknowledged = calls.filter(({ answeredAt }) => answeredAt !== undefined).length;
    const removed = stored.hooks.filter(({ endedReason }) => endedReason !== null).length;
    const counts = {
      'changes acknowledged': acknowledged,
      'notifications heard': arrivals.length,
      'ends of the process': this.#crashes.length,
      'hooks ended': removed,
    };
    return { seed: this.#seed, broken, hits: this.#faults.hits, counts, trace: this.#trace };
  }

  #note(line: string): void {
    this.#trace.push(`${this.#time.moment().toFixed(6)} ${line}`);
  }

  async #turns(count: number): Promise<void> {
    for (let turns = 0; turns < count; turns += 1) await turn();
  }

  async #step(): Promise<void> {
    const drawn = this.#chance.below(100);
    if (drawn < 40) for (let count = 1 + this.#chance.below(3); count > 0; count -= 1) this.#request();
    else if (drawn < 80) this.#answer();
    else if (drawn < 93) await this.#goOn();
    else if (drawn < 98) this.#mischief();
    else await this.#misfortune();
  }

  #request(): void {
    const all = this.#clients.does.reduce((sum, [weight]) => sum + weight, 0);
    let drawn = this.#chance.below(all);
    const chosen = this.#clients.does.find(([weight]) => {
      drawn -= weight;
      return drawn < 0;
    });
    chosen?.[1]();
  }

  #awaiting(): Parked[] {
    return this.#network.parked.filter(({ hangs, isHeld }) => !hangs && !isHeld);
  }

  #answer(): void {
    const parked = this.#awaiting();
    if (parked.length === 0) return;
    const one = this.#chance.one(parked);
    if (this.#chance.below(5) === 0) this.#clients.fetch(one.arrival);
    else {
      this.#network.answer(one);
      this.#note(`${one.arrival.path} answers ${one.arrival.deliveryId}: ${one.arrival.answer ?? 'nothing'}`);
    }
  }

  async #goOn(): Promise<void> {
    // What needs no time has happened by then.
    await this.#turns(TURNS_AN_INSTANT);
    this.#time.next();
    this.#note('time goes on');
  }

  /** Something will go wrong, the next time that it can. */
  #mischief(): void {
    const port = this.#chance.one(['disk', 'resolver', 'attempt', 'clock'] as const);
    const point = this.#chance.one(pointsOf(port));
    this.#note(`to come: ${point}`);
    if (point === 'database busy for a moment') this.#disk.keepBusy(10 + this.#chance.below(5_000));
    if (point === 'database busy for too long') this.#disk.keepBusy(11_000 + this.#chance.below(9_000));
    if (port !== 'clock') {
      this.#faults.arm(point);
      return;
    }
    this.#faults.hit(point);
    const byMs = 1 + this.#chance.below(3_600_000);
    this.#time.jump(point === 'clock jumps forward' ? byMs : -byMs);
  }

  async #misfortune(): Promise<void> {
    const point = this.#chance.one(pointsOf('process'));
    this.#note(`now: ${point}`);
    switch (point) {
      case 'crash while attempts are in flight':
        if (this.#network.parked.length > 0) this.#dieOf(point);
        return;
      case 'crash while requests are under way':
        for (let count = 0; count < 3; count += 1) this.#request();
        await this.#turns(this.#chance.below(5));
        if (this.#pending > 0) this.#dieOf(point);
        return;
      case 'crash between answer and settlement':
        if (this.#awaiting().length === 0) return;
        this.#answer();
        await this.#turns(this.#chance.below(2));
        this.#dieOf(point);
        return;
      case 'crash right after an answer to a client':
        this.#faults.arm(point);
        return;
      case 'crash during a start':
        this.#die('to be started again');
        this.#faults.arm(point);
        return;
      case 'process stands still':
        this.#faults.hit(point);
        this.#time.pass(this.#chance.below(40_000));
        return;
      case 'crash during a stop':
      case 'stop and start':
        this.#faults.hit(point);
        await this.#stop(point === 'crash during a stop' ? this.#chance.below(12) : undefined);
    }
  }

  #dieOf(point: FaultPoint): void {
    if (this.#life.isDead) return;
    this.#faults.hit(point);
    this.#die(point);
  }

  /** The process is gone, now: nothing that it was given does anything any more. */
  #die(why: string): void {
    if (this.#life.isDead) return;
    this.#note(`the process ends: ${why}`);
    this.#life.isDead = true;
    this.#pending = 0;
    this.#disk.end();
    const at = this.#time.moment();
    const { owed, fates } = this.#disk.look((database) => ({ owed: owedIn(database), fates: fatesIn(database) }));
    this.#crashes.push({ at, owed, fates });
    this.#network.end(this.#life);
  }

  async #untilUp(): Promise<void> {
    for (let tries = 0; this.#life.isDead; tries += 1) {
      if (tries > 20) throw new Error('the service does not start');
      await this.#start();
    }
  }

  async #start(): Promise<void> {
    const life: Running = { number: this.#life.number + 1, isDead: false };
    this.#life = life;
    const starting = startService(configOn(this.#disk.path), this.#portsOf(life)).then(
      (service) => {
        life.service = service;
      },
      (error: unknown) => {
        // One that cannot start ends, and is started again.
        if (!life.isDead) this.#die(`cannot start: ${error instanceof Error ? error.message : error}`);
      },
    );
    let turnsLeft = this.#faults.takes('crash during a start') ? this.#chance.below(8) : Number.POSITIVE_INFINITY;
    let isUp = false;
    void starting.then(() => {
      isUp = true;
    });
    while (!isUp && !life.isDead) {
      await turn();
      turnsLeft -= 1;
      if (turnsLeft < 0) this.#die('during a start');
      // Somebody else may have the database.
      if (turnsLeft > 1e6) this.#time.next();
    }
    if (!life.isDead) this.#note(`life ${life.number} begins`);
  }

  #portsOf(life: Running): Partial<Ports> {
    const clock = this.#time.clockOf(life);
    return {
      clock,
      beats: clock,
      chance: chanceOf(this.#served),
      log: pino({ level: 'warn', base: null }, { write: (line: string) => this.#hear(life, line) }),
      resolve: this.#network.resolverOf(life),
      attempt: this.#network.attemptOf(life),
      sqlite: this.#disk.sqliteOf(life),
      listen: async (server) => {
        life.server = server;
        return 443;
      },
      onFatal: (error) => {
        if (life.isDead) return;
        const isExpected = error instanceof Error && 'errcode' in error;
        if (!isExpected) this.#broken.push(`the service gave up: ${error}`);
        this.#die('it gives up');
      },
    };
  }

  #hear(life: Life, line: string): void {
    if (life.isDead) return;
    const { event, err } = JSON.parse(line);
    this.#note(`logged ${event}${err === undefined ? '' : `: ${err.message}`}`);
    if (event === 'engine.finish_failed') this.#broken.push(`logged ${line}`);
  }

  #putter(): Put {
    return ({ domain, key }, { method, url, body, once }, hear) => {
      const life = this.#life;
      const { server } = life;
      if (life.isDead || server === undefined) return;
      this.#pending += 1;
      this.#note(`${domain} asks ${method} ${url} ${JSON.stringify(body ?? '')}`);
      const headers = { key, domain, ...(once === undefined ? {} : { 'idempotency-key': once }) };
      server.inject({ method, url, headers, ...(body === undefined ? {} : { payload: body }) }).then(
        ({ statusCode: status, body: text }) => {
          if (life.isDead) return;
          this.#pending -= 1;
          this.#note(`is answered ${method} ${url}: ${status} ${text}`);
          const answer: Answer = { status, json: JSON.parse(text) };
          if (status === 500 && !this.#faults.hits.has('read fails')) this.#broken.push(`${method} ${url}: ${text}`);
          hear(answer);
          if (this.#faults.takes('crash right after an answer to a client')) this.#die('right after an answer');
        },
        () => {
          if (!life.isDead) this.#pending -= 1;
        },
      );
    };
  }

  /** @param crashAfter how many rounds of the stop it lives through; all of them, when undefined */
  async #stop(crashAfter = Number.POSITIVE_INFINITY): Promise<void> {
    const life = this.#life;
    let isOver = false;
    const over = (error?: unknown) => {
      if (error !== undefined && !life.isDead) this.#broken.push(`cannot stop: ${error}`);
      isOver = true;
    };
    life.service?.stop().then(() => over(), over);
    for (let rounds = 0; !isOver && !life.isDead; rounds += 1) {
      if (rounds > MOST_ROUNDS) throw new Error('the stop does not end');
      if (rounds >= crashAfter) this.#die('during a stop');
      await this.#turns(2);
      if (this.#awaiting().length > 0 && this.#chance.below(3) > 0) this.#answer();
      else this.#time.next();
    }
    this.#die('stopped');
  }

  /** No more faults: what is owed is told, and nothing is left. Answers from when on. */
  async #calmDown(): Promise<number> {
    this.#faults.calm();
    this.#disk.calm();
    await this.#untilUp();
    const calmFrom = this.#time.moment();
    for (let rounds = 0; ; rounds += 1) {
      if (rounds > MOST_ROUNDS) {
        this.#broken.push('what is owed is never told');
        break;
      }
      await this.#turns(3);
      if (this.#awaiting().length > 0) {
        this.#answered += 1;
        this.#network.isKind = this.#answered > ANSWERS_UNTIL_KIND;
        this.#answer();
      } else if (this.#pending > 0 || this.#network.parked.length > 0 || this.#disk.count(OWED) > 0) await this.#goOn();
      else break;
    }
    await this.#stop();
    return calmFrom;
  }
}

/** In the order of names in which what was read of the feed is kept. */
function order(fact: { kind: string; record: string; userId: string } | undefined) {
  return fact === undefined ? undefined : { kind: fact.kind, record: fact.record, userId: fact.userId };
}

function configOn(path: string) {
  const flags = { port: '443', database: `sqlite:${path}`, baseUrl: BASE_URL, retryWaits: WAITS.flag };
  const loaded = loadConfig({ flags, environment: {} });
  if ('faults' in loaded) throw new Error(loaded.faults.join('\n'));
  return loaded.config;
}
