import { mkdirSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { type SeededRandom, seededRandom } from '../../../packages/chaos-receiver/src/random.ts';
import {
  COUNT_UNDELIVERED,
  COUNT_UNDELIVERED_WITHOUT_BACKOFF,
  countEvents,
  type FinalState,
  findViolations,
  readStoredState,
} from './checker.ts';
import { SimulatedClients } from './clients.ts';
import { SimulatedDisk } from './disk.ts';
import { FaultInjector, type FaultPoint, faultPointsOf, WriteOutages } from './faults.ts';
import { type OpenNotification, SimulatedNetwork } from './network.ts';
import type { DatabaseTemplate } from './seed-database.ts';
import { BASE_URL, RETRY_WAITS, ServiceHost, TICKS_PER_INSTANT, waitTicks } from './service-host.ts';
import { SimulatedTime } from './time.ts';

/** Number of responses after the end of the faults. From then on every target answers 200, so that the run ends. */
const RESPONSES_UNTIL_SUCCESS = 20;

/** Maximum number of rounds until all pending deliveries are delivered. */
const MAX_ROUNDS = 20_000;

/** Maximum number of rounds until new deliveries are delivered without waiting for any timer. */
const MAX_ROUNDS_PER_STEP = 200;

/** Range of pauses that are too short to excuse a missing response. */
const SHORT_PAUSE_MS = [0, 2_500] as const;
/** Range of pauses that are long enough to excuse a missing response. */
const LONG_PAUSE_MS = [3_500, 14_000] as const;
/** Range of pauses that are longer than an attempt may take. */
const PAST_DEADLINE_MS = [15_500, 40_000] as const;

/** Minimum jump of the wall clock. */
const MIN_JUMP_MS = 10_000;

/** Minimum time by which the clock is set far ahead: longer than any retention or backoff. */
const MIN_FAR_AHEAD_MS = 100 * 24 * 3_600_000;

/** Selects the feed position of the account with the domain that follows. */
const POSITION_OF = 'select position from positions join accounts using (account_id) where domain =';

/** Result of one seed. */
export type SeedOutcome = {
  readonly seed: number;
  readonly broken: readonly string[];
  readonly hits: ReadonlyMap<FaultPoint, number>;
  readonly counts: Readonly<Record<string, number>>;
  /** Everything that happened in the run, in order, with one line for each event. */
  readonly trace: readonly string[];
};

/** Runs one seed in its own folder, which is removed afterwards. */
export async function runSeed(seed: number, template: DatabaseTemplate, folder: string): Promise<SeedOutcome> {
  const own = join(folder, String(seed));
  mkdirSync(own, { recursive: true });
  try {
    return await new SimulatedWorld(seed, template, own).run();
  } finally {
    rmSync(own, { recursive: true, force: true });
  }
}

/** The service on a real database file, in a world in which the seed determines every event. */
class SimulatedWorld {
  readonly #seed: number;
  readonly #time = new SimulatedTime();
  readonly #faults = new FaultInjector();
  readonly #outages = new WriteOutages();
  readonly #random: SeededRandom;
  readonly #disk: SimulatedDisk;
  readonly #network: SimulatedNetwork;
  readonly #host: ServiceHost;
  readonly #clients: SimulatedClients;
  readonly #trace: string[] = [];
  readonly #broken: string[] = [];
  #responseCount = 0;
  /** Milliseconds by which the wall clock is ahead. */
  #aheadMs = 0;

  constructor(seed: number, template: DatabaseTemplate, folder: string) {
    this.#seed = seed;
    this.#random = seededRandom(seed);
    const [time, faults, outages] = [this.#time, this.#faults, this.#outages];
    const fork = () => this.#random.fork();
    const note = (line: string) => this.#note(line);
    this.#disk = new SimulatedDisk({
      folder,
      faults,
      random: fork(),
      time,
      onCrash: (why) => this.#host.endProcess(why),
      onWriteFailed: () => outages.add(time.timestamp()),
    });
    const [disk, network] = [this.#disk, new SimulatedNetwork({ time, faults, random: fork() })];
    this.#network = network;
    network.onAttempt = () => {
      if (faults.occurs('crash between claim and attempt')) this.#host.endProcess('between claim and attempt');
    };
    network.onArrival = ({ path, deliveryId, body }) => note(`${path} is told ${deliveryId}: ${body}`);
    this.#host = new ServiceHost({ time, faults, random: fork(), disk, network, outages, note });
    const { send } = this.#host;
    this.#clients = new SimulatedClients({
      send,
      time,
      random: fork(),
      network,
      baseUrl: BASE_URL,
      people: template.people,
      feedPosition: (domain) => (this.#host.isUp ? disk.countRows(`${POSITION_OF} '${domain}'`) : undefined),
      lifeNumber: () => this.#host.lifeNumber,
    });
    writeFileSync(disk.path, template.bytes);
  }

  async run(): Promise<SeedOutcome> {
    const steps = 80 + this.#random.integerBelow(80);
    await this.#host.untilUp();
    this.#clients.createHooks();
    for (let step = 0; step < steps; step += 1) {
      await this.#host.untilUp();
      await this.#step();
      await waitTicks(this.#random.integerBelow(4));
    }
    const calmFrom = await this.#endFaults();
    const stored = this.#disk.inspect((database) => readStoredState(database, BASE_URL));
    const { settlesWithinMs } = this.#outages;
    const state: FinalState = {
      clients: this.#clients,
      network: this.#network,
      stored,
      crashes: this.#host.crashes,
      times: { waitsMs: RETRY_WAITS.ms, calmFrom, settlesWithinMs, toWallTime: this.#time.toWallTime },
    };
    this.#note(`in the end: ${JSON.stringify([[...stored.records], [...stored.feeds], stored.hooks])}`);
    const broken = [...this.#broken, ...this.#host.violations, ...findViolations(state)];
    return { seed: this.#seed, broken, hits: this.#faults.hits, counts: countEvents(state), trace: this.#trace };
  }

  #note(line: string): void {
    this.#trace.push(`${this.#time.timestamp().toFixed(6)} ${line}`);
  }

  async #step(): Promise<void> {
    const drawn = this.#random.integerBelow(100);
    if (drawn < 40)
      for (let count = 1 + this.#random.integerBelow(3); count > 0; count -= 1) this.#clients.makeRandomCall();
    else if (drawn < 80) for (let count = 1 + this.#random.integerBelow(3); count > 0; count -= 1) this.#answer();
    else if (drawn < 93) await this.#advance();
    else if (drawn < 98) this.#armFault();
    else await this.#disruptProcess();
  }

  #answerableNotifications(): OpenNotification[] {
    return this.#network.open.filter(({ hangs, isHeld }) => !hangs && !isHeld);
  }

  /** Lets one target answer, or fetch the record first. Returns whether a notification was waiting. */
  #answer(): boolean {
    const parked = this.#answerableNotifications();
    if (parked.length === 0) return false;
    const one = this.#random.pick(parked);
    if (this.#random.integerBelow(5) === 0) this.#clients.fetch(one.arrival);
    else {
      this.#network.answer(one);
      this.#note(`${one.arrival.path} answers ${one.arrival.deliveryId}: ${one.arrival.answer ?? 'nothing'}`);
    }
    return true;
  }

  async #advance(): Promise<void> {
    // Before time advances, all work that waits for no timer is done.
    await waitTicks(TICKS_PER_INSTANT);
    this.#time.fireNext();
    this.#note('time goes on');
  }

  /** Arms a random fault. */
  #armFault(): void {
    const port = this.#random.pick(['disk', 'resolver', 'attempt', 'clock'] as const);
    const point = this.#random.pick(faultPointsOf(port));
    this.#note(`to come: ${point}`);
    if (point === 'database busy for a moment') this.#disk.keepBusy(10 + this.#random.integerBelow(5_000));
    if (point === 'database busy past the timeout') this.#disk.keepBusy(11_000 + this.#random.integerBelow(9_000));
    if (port !== 'clock') {
      this.#faults.arm(point);
      return;
    }
    if (point === 'clock far ahead, and corrected') {
      this.#toggleClockFarAhead();
      return;
    }
    this.#faults.countHit(point);
    const byMs = MIN_JUMP_MS + this.#random.integerBelow(3_600_000);
    this.#jump(point === 'clock jumps forward' ? byMs : -byMs);
  }

  #jump(byMs: number): void {
    // The service cannot distinguish a jump of the wall clock from a suspended machine.
    if (byMs > 0) this.#network.onPause();
    this.#time.jump(byMs);
  }

  /** Sets the clock far ahead, or corrects a clock that is far ahead. */
  #toggleClockFarAhead(): void {
    const isAhead = this.#aheadMs > 0;
    // Idempotency-Keys expire after a day by the clock, so an open request could then be repeated (X4).
    if (!isAhead && this.#host.pending > 0) return;
    const byMs = isAhead ? -this.#aheadMs : MIN_FAR_AHEAD_MS + this.#random.integerBelow(MIN_FAR_AHEAD_MS);
    if (isAhead) this.#faults.countHit('clock far ahead, and corrected');
    this.#aheadMs += byMs;
    this.#jump(byMs);
    this.#clients.forgetIdempotencyKeys();
  }

  async #disruptProcess(): Promise<void> {
    const point = this.#random.pick(faultPointsOf('process'));
    this.#note(`now: ${point}`);
    switch (point) {
      case 'crash while attempts are in flight':
        if (this.#network.open.length > 0) this.#host.crash(point);
        return;
      case 'crash during requests':
        for (let count = 0; count < 3; count += 1) this.#clients.makeRandomCall();
        await waitTicks(this.#random.integerBelow(5));
        if (this.#host.pending > 0) this.#host.crash(point);
        return;
      case 'crash between response and commit of the result':
        if (!this.#answer()) return;
        await waitTicks(this.#random.integerBelow(2));
        this.#host.crash(point);
        return;
      case 'crash right after a response to a client':
        this.#faults.arm(point);
        return;
      case 'crash during a start':
        this.#host.endProcess('to be started again');
        this.#faults.arm(point);
        return;
      case 'process paused':
      case 'process paused, and responses arrive':
      case 'process paused past a deadline':
        this.#pause(point);
        return;
      case 'crash during a stop':
      case 'stop and start':
        this.#faults.countHit(point);
        await this.#stop(point === 'crash during a stop' ? this.#random.integerBelow(12) : undefined);
    }
  }

  /** Pauses the process. After the pause, due timers fire before the data that has arrived is read. */
  #pause(point: FaultPoint): void {
    const isPastDeadline = point !== 'process paused';
    if (isPastDeadline && this.#answerableNotifications().length === 0) return;
    const from = this.#time.timestamp();
    const isLong = isPastDeadline || this.#random.integerBelow(2) === 0;
    const [min, max] = isPastDeadline ? PAST_DEADLINE_MS : isLong ? LONG_PAUSE_MS : SHORT_PAUSE_MS;
    if (isLong) this.#network.onPause();
    const inFlight = this.#answerableNotifications();
    this.#time.pause(min + this.#random.integerBelow(max - min));
    this.#outages.add(from, this.#time.timestamp());
    this.#faults.countHit(point);
    if (point !== 'process paused, and responses arrive') return;
    const unread = inFlight.filter((one) => !this.#answerableNotifications().includes(one));
    this.#broken.push(
      ...unread.map(({ arrival }) => `C19 timed out before its response was read: ${arrival.deliveryId}`),
    );
    for (let left = this.#answerableNotifications().length; left > 0; left -= 1) this.#answer();
  }

  #stop(crashAfter?: number): Promise<void> {
    return this.#host.stop(() => this.#random.integerBelow(3) > 0 && this.#answer(), crashAfter);
  }

  /** Enables all hooks and waits for the responses. */
  async #enableHooks(): Promise<void> {
    const settle = async () => {
      for (let rounds = 0; this.#host.pending > 0; rounds += 1) {
        await waitTicks(TICKS_PER_INSTANT);
        if (rounds > 3) await this.#advance();
        if (rounds > MAX_ROUNDS) throw new Error('requests are never answered');
      }
    };
    await settle();
    this.#clients.enableHooks();
    await settle();
  }

  /** Ends all faults, waits until everything is delivered, and returns the time from which on nothing fails. */
  async #endFaults(): Promise<number> {
    this.#faults.disarmAll();
    this.#disk.unlock();
    await this.#host.untilUp();
    if (this.#aheadMs > 0) this.#toggleClockFarAhead();
    await this.#enableHooks();
    const calmFrom = this.#time.timestamp();
    const isOver = () => this.#untilDelivered(COUNT_UNDELIVERED, MAX_ROUNDS, () => this.#advance());
    // When these deliveries arrive, writes that the last fault had delayed are committed as well.
    this.#clients.createDeliveries();
    if (!(await isOver())) this.#broken.push('pending deliveries are never delivered');
    this.#responseCount = RESPONSES_UNTIL_SUCCESS;
    // New deliveries must arrive without waiting for the next poll: no wake-up may be lost.
    this.#clients.createDeliveries();
    const isDelivered = await this.#untilDelivered(COUNT_UNDELIVERED_WITHOUT_BACKOFF, MAX_ROUNDS_PER_STEP, () =>
      waitTicks(TICKS_PER_INSTANT),
    );
    if (!isDelivered) this.#broken.push('a new occurrence is not delivered immediately');
    // A hook may be in backoff because of its last failure.
    if (!(await isOver())) this.#broken.push('pending deliveries of a failed hook are never delivered');
    await this.#stop();
    return calmFrom;
  }

  /**
   * Lets targets answer and time advance until the counting query `what` returns 0. Returns whether that took at
   * most `maxRounds` rounds.
   */
  async #untilDelivered(what: string, maxRounds: number, advance: () => Promise<void>): Promise<boolean> {
    for (let rounds = 0; rounds < maxRounds; rounds += 1) {
      await waitTicks(3);
      if (this.#answerableNotifications().length > 0) {
        this.#responseCount += 1;
        // The wall clock jumps back once, because backoffs are measured with the wall clock.
        if (this.#responseCount === 10) this.#time.jump(-this.#random.integerBelow(3_600_000));
        this.#network.alwaysSucceeds = this.#responseCount > RESPONSES_UNTIL_SUCCESS;
        this.#answer();
      } else if (this.#host.pending + this.#network.open.length + this.#disk.countRows(what) > 0) await advance();
      else return true;
    }
    return false;
  }
}
