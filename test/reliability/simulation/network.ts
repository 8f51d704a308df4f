import type { SeededRandom } from '../../../packages/chaos-receiver/src/random.ts';
import { startDeadline } from '../../../src/clock.ts';
import type {
  FailureCode,
  LocalErrorCode,
  OutcomeWithoutDuration,
} from '../../../src/delivery/dispatcher/retry-policy.ts';
import { type AttemptRequest, type SendAttempt, withDuration } from '../../../src/delivery/transport/attempt.ts';
import type { ResolveName, ResolveResult } from '../../../src/delivery/transport/dns-resolver.ts';
import { createSsrfGuard } from '../../../src/delivery/transport/ssrf-guard.ts';
import type { Arrival } from '../checker/history.ts';
import type { FaultInjector, FaultPoint } from './faults.ts';
import type { ProcessLife, SimulatedTime } from './time.ts';

/** Forbidden addresses, used in targets and as results of name resolution. */
export const FORBIDDEN_ADDRESSES = [
  '127.0.0.1',
  '10.1.2.3',
  '169.254.169.254',
  '::ffff:192.168.0.1',
  'fd00::1',
] as const;

/** Whether an address is public. In the simulation all allowed targets are in 81.0.0.0/8. */
const isPublic = (address: string) => address.startsWith('81.');

/** Behaviors of targets; repeated actions are more likely. */
const targetBehaviors = {
  healthy: [...Array<200>(30).fill(200), 500, 'refused'],
  flaky: [...Array<200>(6).fill(200), 500, 204, 302, 410, 429, 429, 'refused', 'reset', 'hangs', 'hangs'],
  dead: [500, 404, 503, 429, 'refused', 'tls', 'hangs', 200],
  locked: [200, 200, 401],
  closing: [200, 200, 200, 200, 500, 'hangs', 401],
} as const;

type TargetAction = (typeof targetBehaviors)[keyof typeof targetBehaviors][number];

const RETRY_AFTER_S = [0, 1, 30, 600, 3_600, 26 * 3_600];

/** Actions for late responses, which must not change anything. */
const LATE_ACTIONS: readonly TargetAction[] = [200, 401, 500, 'refused'];

/** Local errors, as an attempt reports them. */
const localErrors: readonly (readonly [FaultPoint, LocalErrorCode])[] = [
  ['no file handle', 'no_file_handle'],
  ['no local port', 'no_local_port'],
  ['no route', 'no_route'],
  ['no memory', 'no_memory'],
];

const faultByAction: Readonly<Record<'refused' | 'reset' | 'tls', FaultPoint>> = {
  refused: 'target refuses',
  reset: 'target resets',
  tls: 'target fails the TLS handshake',
};

/** A notification that has arrived and is not answered yet. */
export type OpenNotification = {
  readonly life: ProcessLife;
  readonly arrival: Arrival & { answeredAt: number | undefined };
  readonly order: AttemptRequest;
  /** True if the target never answers. */
  hangs: boolean;
  /** True while the hook has ended and waits for a restore. The notification is answered after the restore. */
  isHeld: boolean;
  /** True if the hook was restored in the meantime, so that the response is late. */
  isLate: boolean;
  readonly finish: (result: OutcomeWithoutDuration, answer?: Partial<Arrival>) => void;
};

/** Failures that a pause of the service can cause. */
const EXCUSED_FAILURES: readonly FailureCode[] = ['timeout', 'reset'];

/** Returns a new promise that never settles. A shared promise would keep all its waiters in memory. */
const neverSettles = () => new Promise<never>(() => undefined);

/** Name resolution and targets: everything outside the service. */
export class SimulatedNetwork {
  readonly arrivals: Arrival[] = [];
  open: OpenNotification[] = [];
  /** Forbidden addresses to which an attempt connected. */
  readonly forbidden: string[] = [];
  /** If true, every target answers 200. */
  alwaysSucceeds = false;
  /** Called before an attempt starts. */
  onAttempt: () => void = () => undefined;
  /** Called for each arrival. */
  onArrival: (arrival: Arrival) => void = () => undefined;
  readonly #time: SimulatedTime;
  readonly #faults: FaultInjector;
  readonly #random: SeededRandom;
  readonly #behaviors = new Map<string, readonly TargetAction[]>();
  /**
   * Arrivals of each delivery whose result the service does not know yet, in order. There are two if a hook was
   * restored during an attempt.
   */
  readonly #unacknowledged = new Map<string, Arrival[]>();
  /** Arrivals that a graceful stop cut off; they end with the process. */
  readonly #cutOff: OpenNotification['arrival'][] = [];
  /** Time of the last pause. */
  #pausedAt = Number.NEGATIVE_INFINITY;

  constructor(deps: { time: SimulatedTime; faults: FaultInjector; random: SeededRandom }) {
    this.#time = deps.time;
    this.#faults = deps.faults;
    this.#random = deps.random;
  }

  /** Creates a target for a path, by name or by address. */
  targetAt(path: string): string {
    const kind = this.#random.pick(Object.keys(targetBehaviors) as (keyof typeof targetBehaviors)[]);
    this.#behaviors.set(path, targetBehaviors[this.#random.integerBelow(2) === 0 ? 'healthy' : kind]);
    const host = this.#random.integerBelow(4) === 0 ? '81.2.3.4' : `target-${path.slice(1)}.test`;
    return `http${this.#random.integerBelow(2) === 0 ? 's' : ''}://${host}${path}`;
  }

  resolverOf(life: ProcessLife): ResolveName {
    const clock = this.#time.clockOf(life);
    const after = (waitMs: number, resolved: ResolveResult) =>
      new Promise<ResolveResult>((resolve) => clock.after(waitMs, () => resolve(resolved)));
    return async (name, timeoutMs) => {
      const faults = this.#faults;
      const [, number = '0'] = /(\d+)/.exec(name) ?? [];
      const own = { addresses: [`81.9.${Number(number) >> 8}.${Number(number) & 255}`] };
      if (name.startsWith('forbidden')) return { addresses: [this.#random.pick(FORBIDDEN_ADDRESSES)] };
      if (faults.occurs('resolver late')) return after(timeoutMs / 2, own);
      if (faults.occurs('resolver too late')) return after(timeoutMs, { failure: 'resolver_silent' });
      if (faults.occurs('resolver silent')) return { failure: 'resolver_silent' };
      if (faults.occurs('name does not resolve')) return { failure: 'no_such_name' };
      if (faults.occurs('name resolves to a forbidden address'))
        return { addresses: [this.#random.pick(FORBIDDEN_ADDRESSES)] };
      if (faults.occurs('name also resolves to a forbidden address')) {
        return { addresses: [...own.addresses, this.#random.pick(FORBIDDEN_ADDRESSES)] };
      }
      return own;
    };
  }

  /**
   * Returns the outgoing port of one life. It makes attempts like `src/delivery/transport/attempt.ts`, but on the
   * simulated network.
   */
  attemptOf(life: ProcessLife): SendAttempt {
    const clock = this.#time.clockOf(life);
    const guard = createSsrfGuard({ resolve: this.resolverOf(life), allowRules: [], isLoopbackAllowed: false });
    return withDuration(this.#time.clockOf(life, true), async (order, leftMs) => {
      if (life.isDead) return neverSettles();
      const began = this.#time.timestamp();
      this.onAttempt();
      if (life.isDead) return neverSettles();
      if (this.#faults.occurs('attempt throws')) throw new Error('simulated');
      const localError = localErrors.find(([point]) => this.#faults.occurs(point));
      if (localError !== undefined) return { kind: 'local_error', code: localError[1] };
      const verdict = await guard.checkTarget(new URL(order.target), 5_000);
      if (life.isDead) return neverSettles();
      if (order.signal.aborted) return { kind: 'local_error', code: 'stopped' };
      if ('failure' in verdict && verdict.failure === 'resolver_silent')
        return { kind: 'local_error', code: 'no_resolver' };
      if ('failure' in verdict) return this.#failBeforeConnect(order, began, 'no_such_name');
      if (!verdict.allowed) return this.#failBeforeConnect(order, began, 'forbidden');
      for (const { address } of verdict.addresses)
        if (!isPublic(address)) this.forbidden.push(`${order.target}: ${address}`);
      if (leftMs() === 0) return { kind: 'failed', cause: 'timeout' };
      order.onBeforeSend?.();
      if (order.signal.aborted) return { kind: 'local_error', code: 'stopped' };
      const arrival = this.#arrive(order, began);
      return new Promise((resolve) => this.#awaitResult({ life, order, arrival, clock, leftMs, resolve }));
    });
  }

  /** Records a pause that is long enough to excuse a missing response (C19). */
  onPause(): void {
    this.#pausedAt = this.#time.timestamp();
  }

  /** Answers a notification according to the behavior of its target. */
  answer(parked: OpenNotification): void {
    const path = parked.arrival.path;
    if (parked.isLate) this.#faults.countHit('target answers after the hook has ended');
    const usual = parked.isLate ? LATE_ACTIONS : this.#behaviors.get(path);
    const action = this.alwaysSucceeds ? 200 : this.#random.pick(usual ?? targetBehaviors.healthy);
    parked.hangs = action === 'hangs';
    if (action === 'hangs') return;
    if (typeof action === 'string') {
      this.#faults.countHit(faultByAction[action]);
      parked.finish({ kind: 'failed', cause: action });
      return;
    }
    const retryAfterMs = action === 429 ? this.#random.pick(RETRY_AFTER_S) * 1_000 : undefined;
    const retryAfter = retryAfterMs === undefined ? {} : { retryAfterMs };
    parked.finish({ kind: 'answered', status: action, ...retryAfter }, { answer: action, ...retryAfter });
  }

  /** Records that the service knows the result of a delivery now. */
  onResultKnown(deliveryId: string): void {
    const arrival = this.#unacknowledged.get(deliveryId)?.shift();
    if (arrival !== undefined) Object.assign(arrival, { resultKnownAt: this.#time.timestamp() });
  }

  /** Holds the deliveries in flight of an ended hook until it is restored. */
  holdDeliveries(path: string): void {
    for (const one of this.open) if (one.arrival.path === path) one.isHeld = true;
  }

  releaseDeliveries(path: string): void {
    for (const one of this.open) {
      if (one.arrival.path !== path || !one.isHeld) continue;
      one.isHeld = false;
      one.isLate = true;
    }
  }

  /** Ends the deliveries in flight of a life without a response. */
  endLife(life: ProcessLife): void {
    const open = this.open.filter((one) => one.life === life).map(({ arrival }) => arrival);
    for (const arrival of [...open, ...this.#cutOff.splice(0)]) arrival.answeredAt = this.#time.timestamp();
    this.open = this.open.filter((one) => one.life !== life);
    this.#unacknowledged.clear();
  }

  #awaitResult(deps: {
    life: ProcessLife;
    order: AttemptRequest;
    arrival: OpenNotification['arrival'];
    clock: ReturnType<SimulatedTime['clockOf']>;
    leftMs: () => number;
    resolve: (result: OutcomeWithoutDuration) => void;
  }): void {
    const { life, order, arrival, clock, leftMs, resolve } = deps;
    const removeNotification = () => {
      cancel();
      order.signal.removeEventListener('abort', onAbort);
      this.open = this.open.filter((one) => one !== parked);
    };
    const finish: OpenNotification['finish'] = (result, answer = {}) => {
      removeNotification();
      // A deadline that fires after the death of the process has no effect. The next result belongs to another
      // attempt.
      if (life.isDead) return;
      const wasPaused = arrival.began !== undefined && this.#pausedAt > arrival.began;
      const isExcused = wasPaused && result.kind === 'failed' && EXCUSED_FAILURES.includes(result.cause);
      Object.assign(arrival, { answeredAt: this.#time.timestamp() }, answer, isExcused ? { isExcused } : {});
      this.#onAnswered(arrival);
      resolve(result);
    };
    // This handler runs when the service cancels the attempt during its own stop.
    const onAbort = () => {
      if (life.isDead) return;
      this.#cutOff.push(arrival);
      removeNotification();
      resolve({ kind: 'local_error', code: 'stopped' });
    };
    const cancel = startDeadline(clock, leftMs(), () => {
      this.#faults.countHit('target hangs past the deadline');
      finish({ kind: 'failed', cause: 'timeout' });
    });
    const parked: OpenNotification = { life, order, arrival, hangs: false, isHeld: false, isLate: false, finish };
    order.signal.addEventListener('abort', onAbort);
    this.open.push(parked);
  }

  #failBeforeConnect(order: AttemptRequest, began: number, cause: FailureCode): OutcomeWithoutDuration {
    const arrival = this.#arrive(order, began);
    arrival.answeredAt = this.#time.timestamp();
    this.#onAnswered(arrival);
    return { kind: 'failed', cause };
  }

  #onAnswered(arrival: Arrival): void {
    const unacknowledged = this.#unacknowledged.get(arrival.deliveryId);
    if (unacknowledged === undefined) this.#unacknowledged.set(arrival.deliveryId, [arrival]);
    else unacknowledged.push(arrival);
  }

  #arrive({ target, deliveryId, body, headers = [] }: AttemptRequest, began: number): OpenNotification['arrival'] {
    const { pathname: path, search: query } = new URL(target);
    const at = this.#time.timestamp();
    const header = (name: string) => headers[headers.indexOf(name) + 1] ?? '-';
    const hasFields = headers.includes('webhook-fields');
    const about = {
      cursor: headers.includes('webhook-cursor') ? header('webhook-cursor') : '',
      kind: header('webhook-event'),
      fields: hasFields ? header('webhook-fields') : '-',
    };
    const arrival = { path, query, deliveryId, body, about, began, at, answeredAt: undefined, answer: undefined };
    this.arrivals.push(arrival);
    this.onArrival(arrival);
    return arrival;
  }
}
