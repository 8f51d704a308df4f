import type { Clock } from '../clock.ts';
import type { Log } from '../log.ts';
import type { Chance } from '../secrets.ts';
import type { NewlyOwed, News, Store } from '../store/store.ts';
import type { Attempt } from './attempt.ts';
import type { Claims, Held } from './claims.ts';
import { KeptConnections, KeptRoom } from './connection.ts';
import { startDeadline } from './deadline.ts';
import type { AttemptInFlight } from './flight.ts';
import { type DeliveryKind, resourceUrl } from './kinds.ts';
import { Lane } from './lane.ts';
import { firstOf, Loop } from './loop.ts';
import type { Notices } from './notices.ts';
import type { Outcome } from './outcome.ts';
import { Pace } from './pace.ts';
import { judge, longestWaitMs, outcomeWord, reasonOf, type Verdict } from './policy.ts';
import { type LaneRow, type OwedRow, owedRows } from './queue.ts';
import { ReadAhead } from './read-ahead.ts';
import type { Settlement } from './settle.ts';
import { Settler } from './settler.ts';
import { Shares } from './shares.ts';
import { signatureOf } from './signature.ts';

/** The most attempts in flight at once, over all lanes. */
const MOST_IN_FLIGHT = 2_000;

/** The most of them for one account: however many of its targets hang, the others have slots (C22). */
const MOST_OF_ONE_ACCOUNT = MOST_IN_FLIGHT / 4;

/** The most of them to targets that are not known to answer: however many hang, those that answer have slots (C22). */
const MOST_ON_TRIAL = MOST_IN_FLIGHT / 2;

/**
 * So many attempts to targets that are not known to answer begin in so many milliseconds: a crowd of them is spread over
 * as many seconds as it has thousands, in which whoever answers is told as ever (C22).
 */
const TRIALS = { most: 20, everyMs: 20 } as const;

/** How many lanes are taken up at once. */
const LANES_A_CLAIM = 100;

/**
 * Of many that could begin, so many do in one turn of the event loop: whoever calls the service meanwhile is answered in
 * between. Where few can at a time, they begin at once: what they come to is then written down together.
 */
const LANES_A_TURN = 32;

/** Lanes kept in memory while nothing is owed to them; beyond it the idle ones are forgotten. */
const MOST_LANES = 50_000;

/** Where lanes are shared, one that nothing was owed to for so long is let go. */
const IDLE_MS = 10_000;

/** After something could not be said: when it is tried again. */
const AGAIN_MS = 500;

export type EnginePorts = {
  readonly store: Store;
  readonly claims: Claims;
  readonly clock: Clock;
  readonly chance: Chance;
  readonly attempt: Attempt;
  /** How owners are told of their hooks. */
  readonly notices: Notices;
  readonly log: Log;
  readonly baseUrl: () => string;
  readonly waitsMs: readonly [number, number];
  readonly attemptTimeoutMs: number;
  /** The most attempts in flight to one host, of all accounts together. */
  readonly mostToOneHost: number;
  readonly onAttempt: (attempted: { outcome: string; verdict: Verdict['is']; ms: number; lateMs: number }) => void;
};

/**
 * Tells hooks what is owed to them. Works lane by lane: a slow, dead or hostile target costs the slots of its own lane
 * and nobody else's (C22). Nothing is held open while an attempt is in flight: no transaction, no lock.
 */
export class Engine {
  readonly #ports: EnginePorts;
  readonly #lanes = new Map<number, Lane>();
  /** Hooks that something is owed to, not yet read. */
  readonly #unknown = new Set<number>();
  /** Hooks that could not be taken up since the last look: another node has them, or they have ended. */
  readonly #elsewhere = new Set<number>();
  /** Lanes that may be able to begin an attempt. */
  readonly #ready = new Set<Lane>();
  readonly #shares: Shares<Lane>;
  readonly #keptRoom: KeptRoom;
  /** What attempts of a lane have left open. */
  readonly #kept = new WeakMap<Lane, KeptConnections>();
  /** How often everything was lost, to know what was taken up before and what after. */
  #losses = 0;
  /** Hooks that have ended while lanes are being taken up: what comes back of them is old. */
  readonly #endedMeanwhile = new Set<number>();
  /** Hooks of which it is being said that a change of their secrets was heard. */
  readonly #hearing = new Set<number>();
  /** Those of which this was said while lanes are being taken up: the secrets that come back of these are old. */
  readonly #changedMeanwhile = new Set<number>();
  /** Hooks that may have become free while lanes are being taken up: where one of these is refused, it is asked for once more. */
  readonly #freedMeanwhile = new Set<number>();
  readonly #flights = new Set<AttemptInFlight>();
  readonly #takingUp: Loop;
  /** The lanes that are being taken up are this engine's, or have failed to be. */
  #takenUp: Promise<void> = Promise.resolve();
  readonly #reading: ReadAhead;
  readonly #beginning: Loop;
  readonly #settler: Settler;
  #stopping = false;
  #cancelPoll: () => void = () => undefined;
  /** At a stop: something has ended, was written down, or was taken up. */
  #onStep: () => void = () => undefined;

  constructor(ports: EnginePorts) {
    this.#ports = ports;
    this.#keptRoom = new KeptRoom(ports.clock);
    this.#settler = new Settler({ ...ports, onWritten: (written, fenced) => this.#settled(written, fenced) });
    const mayGoOn = () => !this.#stopping && ports.claims.mayBegin();
    this.#takingUp = new Loop(ports, {
      hasWork: () => this.#unknown.size > 0 && mayGoOn(),
      turn: () => {
        const turn = this.#takeUpSome();
        this.#takenUp = turn.catch(() => undefined);
        return turn;
      },
    });
    this.#reading = new ReadAhead({
      ...ports,
      mayGoOn,
      mayReadSecrets: ({ hookId }) => !this.#hearing.has(hookId),
      onRead: (lane) => this.#turnTo([lane]),
    });
    this.#beginning = new Loop(ports, {
      hasWork: () => this.#ready.size > 0 && this.#flights.size < MOST_IN_FLIGHT && mayGoOn(),
      turn: () => this.#beginSome(),
    });
    const { mostToOneHost: host } = ports;
    const pace = new Pace({ clock: ports.clock, ...TRIALS, onMore: () => this.#turnTo(this.#shares.call()) });
    this.#shares = new Shares({ account: MOST_OF_ONE_ACCOUNT, host, trial: MOST_ON_TRIAL }, pace);
  }

  /** Begins: everything that was owed when the service last stopped is owed still (C20). */
  async start(): Promise<void> {
    const { store, claims } = this.#ports;
    store.onCommitted((news) => this.#hear(news));
    await claims.start({
      onMayBegin: () => {
        for (const loop of [this.#takingUp, this.#reading, this.#beginning]) loop.go();
      },
      onLost: (hookIds) => void this.#lose(hookIds),
      onChanged: (hookIds) => this.#signAnew(hookIds),
    });
    await this.#poll();
  }

  /** Begins nothing new, lets what is in flight finish for `graceMs`, ends the rest, and writes everything down. */
  async stop(graceMs: number): Promise<void> {
    this.#stopping = true;
    if (graceMs === 0) this.#settler.cut();
    this.#cancelPoll();
    const cancelCut = startDeadline(this.#ports.clock, graceMs, () => {
      this.#settler.cut();
      for (const flight of this.#flights) flight.abort();
    });
    this.#ports.claims.standDown();
    await this.#handOver();
    await this.#takenUp;
    for (const lane of this.#lanes.values()) {
      lane.forget();
      this.#kept.get(lane)?.end();
    }
    await this.#settler.written();
    cancelCut();
    await this.#ports.claims.stop();
  }

  /** How many attempts are in flight, for the metrics. */
  get inFlight(): number {
    return this.#flights.size;
  }

  /** How many lanes it has taken up, for the metrics. */
  get lanesHeld(): number {
    return this.#lanes.size;
  }

  async #poll(): Promise<void> {
    const { claims, clock, log } = this.#ports;
    this.#elsewhere.clear();
    try {
      for (let after: number | undefined = 0; after !== undefined && !this.#stopping; ) {
        const { owed, asked, next } = await claims.findWork(after);
        for (const hookId of owed) this.#lookAt(hookId);
        for (const hookId of asked) this.#wake(hookId, 'asked');
        after = next;
      }
      if (claims.shares) await this.#letGo((lane) => lane.isIdle && clock.now() - lane.usedAt > IDLE_MS);
    } catch (error) {
      log.error({ event: 'engine.poll_failed', err: error });
    }
    if (!this.#stopping) this.#cancelPoll = clock.after(claims.pollMs, () => void this.#poll());
  }

  /** A lane that is at work comes upon what is owed by itself; unless its turn was lost, which nothing may cost a wait. */
  #lookAt(hookId: number): void {
    const lane = this.#lanes.get(hookId);
    if (lane?.isAtWork !== true) this.#wake(hookId, 'owed');
    else if (lane.isLeftAlone(this.#ports.clock.now())) this.#turnTo([lane]);
  }

  /**
   * At a stop, until nothing is in flight any more: others may go on at once with lanes of which everything is written
   * down. Whatever still hangs holds its own lane and no other.
   */
  async #handOver(): Promise<void> {
    let lanes: Held[] = [];
    for (;;) {
      const step = new Promise<void>((resolve) => {
        this.#onStep = resolve;
      });
      const { unwritten } = this.#settler;
      lanes.push(...this.#forgetAll((lane) => !lane.isBusy && !unwritten.has(lane.hookId)));
      const areFree = await this.#letGoOf(lanes);
      if (areFree) lanes = [];
      if (this.#flights.size === 0) return;
      await (areFree ? step : new Promise<void>((resolve) => this.#ports.clock.after(AGAIN_MS, resolve)));
    }
  }

  /** Forgets lanes that need nothing of this engine now, and lets go of them. */
  async #letGo(which: (lane: Lane) => boolean): Promise<void> {
    await this.#letGoOf(this.#forgetAll(which));
  }

  #forgetAll(which: (lane: Lane) => boolean): Lane[] {
    const lanes = [...this.#lanes.values()].filter(which);
    for (const lane of lanes) this.#forget(lane);
    return lanes;
  }

  /** Whether these are let go of. What is not stays this node's, until it takes it up again or ends. */
  #letGoOf(lanes: readonly Held[]): Promise<boolean> {
    const { claims, log } = this.#ports;
    return claims.letGo(lanes).then(
      () => true,
      (error: unknown) => {
        log.error({ event: 'engine.let_go_failed', err: error });
        return false;
      },
    );
  }

  /** Nothing begins on it any more, also where it is just being read. Where it is in line, its turn passes on. */
  #forget(lane: Lane): void {
    lane.end();
    this.#kept.get(lane)?.end();
    this.#lanes.delete(lane.hookId);
  }

  /** These are not this engine's any more: nothing begins on them, and what has not gone out does not go out. */
  async #drop(hookIds: readonly number[]): Promise<void> {
    for (const hookId of hookIds) this.#endedMeanwhile.add(hookId);
    const lanes = hookIds.map((hookId) => ({ hookId, generation: this.#lanes.get(hookId)?.generation ?? 0 }));
    for (const hookId of hookIds) {
      const lane = this.#lanes.get(hookId);
      if (lane !== undefined) this.#forget(lane);
      this.#unknown.delete(hookId);
    }
    await this.#letGoOf(lanes);
  }

  /** These lanes are not this node's any more; all of them are not, when undefined. */
  #lose(hookIds: readonly number[] | undefined): Promise<void> {
    if (hookIds === undefined) this.#losses += 1;
    return this.#drop(hookIds ?? [...this.#lanes.keys()]);
  }

  /**
   * X8: from here on nothing begins on these that is signed as before. What signs them is read after it was said that
   * this was heard, and not before: saying so must not pass over a change that came in between.
   */
  #signAnew(hookIds: readonly number[]): void {
    for (const hookId of hookIds) this.#lanes.get(hookId)?.signAnew();
    const unsaid = hookIds.filter((hookId) => !this.#hearing.has(hookId));
    if (unsaid.length > 0) void this.#sayHeard(unsaid);
  }

  async #sayHeard(hookIds: readonly number[]): Promise<void> {
    const { claims, clock, log } = this.#ports;
    for (const hookId of hookIds) this.#hearing.add(hookId);
    for (let isSaid = false; !isSaid && !this.#stopping; ) {
      isSaid = await claims.heard(hookIds).then(
        () => true,
        (error: unknown) => {
          log.error({ event: 'engine.not_heard', err: error });
          return false;
        },
      );
      if (!isSaid) await new Promise<void>((resolve) => clock.after(AGAIN_MS, resolve));
    }
    for (const hookId of hookIds) {
      this.#hearing.delete(hookId);
      this.#changedMeanwhile.add(hookId);
    }
    this.#turnTo(hookIds.map((hookId) => this.#lanes.get(hookId)).filter((lane) => lane !== undefined));
  }

  #wakeFor(hookId: number): void {
    this.#wake(hookId, 'owed');
    this.#wake(hookId, 'asked');
  }

  /**
   * C13: runs before the write that ended a hook is answered, so after that answer nothing begins. A lane that a
   * verdict ended is known until that is written down, lest a wake-up meanwhile take it up again.
   */
  #hear(news: News): Promise<void> | undefined {
    const ended = [...news.ended.keys()];
    for (const hookId of ended) this.#endedMeanwhile.add(hookId);
    const isKnown = (hookId: number) => this.#lanes.has(hookId) || this.#unknown.has(hookId);
    this.#signAnew([...news.changed].filter(isKnown));
    const known = ended.filter(isKnown);
    const dropped = known.length > 0 ? this.#drop(known) : undefined;
    // What a node commits that delivers itself, it takes up itself: here it matters where the lane is ours already. One
    // that is just being taken up is read after that.
    const mine = (hookId: number) => news.from !== 'deliverer' || this.#lanes.has(hookId);
    for (const [hookId, rows] of news.owed) if (mine(hookId)) this.#wake(hookId, 'owed', rows);
    for (const hookId of news.asked) if (mine(hookId)) this.#wake(hookId, 'asked');
    return dropped;
  }

  /** @param rows all that is newly owed, where it is known */
  #wake(hookId: number, what: 'owed' | 'asked', rows?: readonly NewlyOwed[]): void {
    const lane = this.#lanes.get(hookId);
    if (lane === undefined) {
      // Whoever has it hears of it, too; asking for it each time would cost more than telling.
      if (rows !== undefined && this.#elsewhere.has(hookId)) return;
      if (rows === undefined) this.#freedMeanwhile.add(hookId);
      this.#unknown.add(hookId);
      this.#takingUp.go();
      return;
    }
    if (what === 'asked') lane.moreAsked = true;
    else if (rows === undefined) lane.more = true;
    else lane.hand(owedRows(rows), this.#ports.clock.now());
    this.#turnTo([lane]);
  }

  /** These may be able to begin an attempt. */
  #turnTo(lanes: readonly Lane[]): void {
    for (const lane of lanes) this.#ready.add(lane);
    this.#beginning.go();
  }

  /** Takes up some of the lanes that something is owed to. */
  async #takeUpSome(): Promise<void> {
    const hookIds = firstOf(this.#unknown, LANES_A_CLAIM);
    const losses = this.#losses;
    this.#endedMeanwhile.clear();
    this.#changedMeanwhile.clear();
    this.#freedMeanwhile.clear();
    const rows = await this.#ports.claims.takeUp(hookIds);
    if (losses !== this.#losses) return;
    const byHook = new Map(rows.map((row) => [row.hookId, row]));
    for (const hookId of hookIds) {
      // It may have been restored since: then it is in line again, and is taken up anew.
      if (this.#endedMeanwhile.has(hookId)) continue;
      const row = byHook.get(hookId);
      this.#unknown.delete(hookId);
      if (row !== undefined) this.#addLane(row);
      // To the end of the line, so that every hook gets its turn.
      else if (this.#freedMeanwhile.has(hookId)) this.#unknown.add(hookId);
      else this.#elsewhere.add(hookId);
    }
    this.#onStep();
    if (this.#lanes.size > MOST_LANES) await this.#letGo((lane) => lane.isIdle);
  }

  #addLane(row: LaneRow): void {
    const lane = new Lane(row, this.#ports.clock.now(), longestWaitMs(this.#ports.waitsMs));
    if (this.#changedMeanwhile.has(lane.hookId) || this.#hearing.has(lane.hookId)) lane.signAnew();
    this.#lanes.set(lane.hookId, lane);
    this.#kept.set(lane, new KeptConnections(this.#keptRoom));
    this.#wakeWhenDue(lane, this.#ports.clock.now());
    this.#turnTo([lane]);
  }

  #wakeWhenDue(lane: Lane, now: number): void {
    const waitMs = lane.wakeMs(now);
    if (waitMs <= 0) return;
    lane.setTimer(this.#ports.clock.after(waitMs, () => this.#turnTo([lane])));
  }

  /** Nothing of this lane can begin now: its timer, or what happens to it, brings it back. */
  #hold(lane: Lane, now: number): void {
    // A timer may fire a little before its time.
    if (!lane.ended) this.#wakeWhenDue(lane, now);
    this.#passOn(lane);
  }

  /** Where there is room that this lane has no use for, or has just left, whoever has waited for it gets a turn. */
  #passOn(lane: Lane): void {
    for (const next of this.#shares.call(lane)) this.#ready.add(next);
  }

  /** Begins one attempt on each of some lanes, as far as it may. */
  async #beginSome(): Promise<void> {
    const { clock, claims } = this.#ports;
    const lanes = firstOf(this.#ready, LANES_A_TURN);
    for (const lane of lanes) {
      if (this.#flights.size >= MOST_IN_FLIGHT || !claims.mayBegin()) break;
      // To the end of the line, so that every lane gets its turn when slots are few.
      this.#ready.delete(lane);
      // Read or not: once it is, it gets its turn.
      if (!lane.isBeingRead) this.#beginOn(lane, clock.now());
    }
    if (lanes.length === LANES_A_TURN) await new Promise<void>((resolve) => setImmediate(resolve));
  }

  /** One moment for all of it: a wait that ends in between would leave the lane without a turn and without a timer. */
  #beginOn(lane: Lane, now: number): void {
    if (lane.isUnread(now) && !this.#hearing.has(lane.hookId)) {
      this.#reading.add(lane);
      return;
    }
    if (!this.#shares.admits(lane)) return;
    const row = lane.nextAsked(now) ?? lane.next(now);
    if (row === undefined) this.#hold(lane, now);
    else {
      this.#begin(lane, row);
      this.#ready.add(lane);
    }
  }

  #begin(lane: Lane, row: OwedRow): void {
    if (lane.ended) return;
    const { claims, clock, attempt, baseUrl, attemptTimeoutMs } = this.#ports;
    const flight = lane.begin(row, clock.now());
    this.#flights.add(flight);
    const place = this.#shares.take(lane);
    const deliveryId = String(row.deliveryId);
    const body = JSON.stringify({ resource_url: resourceUrl(baseUrl(), row.kind, row.recordId) });
    const order = {
      target: lane.target,
      body,
      deliveryId,
      signature: signatureOf(lane.secrets, { id: deliveryId, body, now: flight.beganAt }),
      deadlineMs: attemptTimeoutMs,
      signal: flight.signal,
      onDialled: () => {
        // The process may have stood still since it began.
        if (claims.mayBegin()) flight.dialled();
        else flight.abort();
      },
      onUndialled: () => flight.undialled(),
      kept: this.#kept.get(lane),
    };
    attempt(order)
      .catch((error: unknown): Outcome => {
        this.#ports.log.error({ event: 'attempt.broke', err: error, hook_id: lane.hookId });
        return { kind: 'ours', fault: 'broken', ms: 0 };
      })
      .then((outcome) => {
        this.#shares.giveBack(place);
        this.#finish(lane, flight, outcome);
      })
      .catch((error: unknown) =>
        this.#ports.log.error({ event: 'engine.finish_failed', err: error, hook_id: lane.hookId }),
      );
  }

  #finish(lane: Lane, flight: AttemptInFlight, outcome: Outcome): void {
    this.#flights.delete(flight);
    this.#passOn(lane);
    const verdict = judge({
      outcome,
      failures: lane.failures,
      sameBurst: lane.hasFailedSince(flight),
      asked: flight.row.askId !== null,
      ownFaults: lane.ownFaultsBefore(flight),
      waitsMs: this.#ports.waitsMs,
      fraction: this.#ports.chance.fraction(),
    });
    const now = this.#ports.clock.now();
    const settlement = lane.finish({
      flight,
      verdict,
      outcome: outcomeWord(outcome),
      reason: reasonOf(verdict),
      ms: outcome.ms,
      now,
    });
    this.#report(lane, flight, outcome, verdict);
    // Stopped by our own stop, or by the hook's end: the delivery is owed as before, and nothing happened.
    if (outcome.kind !== 'ours' || outcome.fault !== 'stopped') this.#settler.add(settlement);
    if (lane.ended) this.#kept.get(lane)?.end();
    else {
      this.#wakeWhenDue(lane, now);
      this.#ready.add(lane);
    }
    this.#beginning.go();
    this.#onStep();
  }

  #report(lane: Lane, flight: AttemptInFlight, outcome: Outcome, verdict: Verdict): void {
    const word = outcomeWord(outcome);
    const lateMs = Math.max(0, Math.round(flight.beganAt - flight.dueAt));
    this.#ports.onAttempt({ outcome: word, verdict: verdict.is, ms: outcome.ms, lateMs });
    this.#ports.log.info({
      event: 'delivery.attempted',
      account_id: lane.accountId,
      hook_id: lane.hookId,
      delivery_id: flight.row.deliveryId,
      kind: flight.row.kind satisfies DeliveryKind,
      target: lane.maskedTarget,
      outcome: word,
      verdict: verdict.is,
      failures: lane.failures,
      ms: Math.round(outcome.ms),
      ...('waitMs' in verdict ? { wait_ms: verdict.waitMs } : {}),
      ...('note' in outcome && outcome.note !== undefined ? { note: outcome.note } : {}),
    });
  }

  /** What was settled is written down, or its lane is not this engine's any more. */
  #settled(written: readonly Settlement[], fenced: readonly Held[]): void {
    for (const one of written) this.#isWritten(one);
    for (const one of fenced) this.#hasChanged(one);
    this.#beginning.go();
    this.#onStep();
  }

  #isWritten({ hookId, row }: Settlement): void {
    const lane = this.#lanes.get(hookId);
    if (lane === undefined) return;
    // It may have waited for that.
    if (lane.isAhead) this.#ready.add(lane);
    lane.settled(row.deliveryId);
  }

  /** A lane that is not any more as it was taken up: it is left, and taken up anew if it may be. */
  #hasChanged({ hookId, generation }: Held): void {
    const lane = this.#lanes.get(hookId);
    if (lane === undefined || lane.generation !== generation) return;
    this.#forget(lane);
    this.#wakeFor(hookId);
  }
}
