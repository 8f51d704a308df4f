import { setImmediate as waitTick } from 'node:timers/promises';
import { pino } from 'pino';
import type { SeededRandom } from '../../../packages/chaos-receiver/src/random.ts';
import { loadConfig } from '../../../src/config/load.ts';
import type { Log } from '../../../src/log.ts';
import { type Service, type ServiceDeps, startService } from '../../../src/server.ts';
import type { Crash } from '../checker/history.ts';
import type { ApiResponse, SendRequest } from './api-client.ts';
import { pendingDeliveryIds, readHookStatuses } from './checker.ts';
import type { SimulatedDisk } from './disk.ts';
import type { FaultInjector, FaultPoint, WriteOutages } from './faults.ts';
import type { SimulatedNetwork } from './network.ts';
import { toRandomSource } from './seed-database.ts';
import type { ProcessLife, SimulatedTime } from './time.ts';

export const BASE_URL = 'https://carillon.test';
export const RETRY_WAITS = { flag: '20s,5m', ms: [20_000, 300_000] } as const;

/**
 * Number of event-loop iterations after which all work that waits for no timer is done, such as a write and its
 * consequences.
 */
export const TICKS_PER_INSTANT = 12;
const MAX_ROUNDS = 20_000;

/** pino's level number for warnings. */
const WARN_LEVEL = 40;

/**
 * Time that passes after a graceful stop. It is longer than an instant, so that results known just before the stop
 * must be committed.
 */
const AFTER_STOP_MS = 10;

type Server = Parameters<NonNullable<ServiceDeps['listen']>>[0];
type RunningLife = ProcessLife & { server?: Server; service?: Service };

export type ServiceHostDeps = {
  readonly time: SimulatedTime;
  readonly faults: FaultInjector;
  readonly random: SeededRandom;
  readonly disk: SimulatedDisk;
  readonly network: SimulatedNetwork;
  readonly outages: WriteOutages;
  readonly note: (line: string) => void;
};

export async function waitTicks(count: number): Promise<void> {
  for (let left = count; left > 0; left -= 1) await waitTick();
}

/** Runs the service, one life after the other, and records the state that each life left in the database. */
export class ServiceHost {
  readonly crashes: Crash[] = [];
  /** Descriptions of violations by the service. */
  readonly violations: string[] = [];
  readonly #deps: ServiceHostDeps;
  #life: RunningLife = { number: 0, isDead: true };
  #pending = 0;

  constructor(deps: ServiceHostDeps) {
    this.#deps = deps;
  }

  get isUp(): boolean {
    return !this.#life.isDead;
  }

  /** Number of lives so far. */
  get lifeNumber(): number {
    return this.#life.number;
  }

  /** Number of unanswered requests. */
  get pending(): number {
    return this.#pending;
  }

  readonly send: SendRequest = ({ domain, key }, { method, url, body, idempotencyKey }, onResponse) => {
    const life = this.#life;
    const { server } = life;
    const { note, faults } = this.#deps;
    if (life.isDead || server === undefined) return;
    this.#pending += 1;
    const { failedReads } = faults;
    note(`${domain} asks ${method} ${url} ${JSON.stringify(body ?? '')}`);
    const headers = { key, domain, ...(idempotencyKey === undefined ? {} : { 'idempotency-key': idempotencyKey }) };
    server.inject({ method, url, headers, ...(body === undefined ? {} : { payload: body }) }).then(
      ({ statusCode: status, body: text }) => {
        if (life.isDead) return;
        this.#pending -= 1;
        note(`is answered ${method} ${url}: ${status} ${text}`);
        const answer: ApiResponse = { status, json: JSON.parse(text) };
        if (status === 500 && faults.failedReads === failedReads) this.violations.push(`${method} ${url}: ${text}`);
        onResponse(answer);
        if (faults.occurs('crash right after a response to a client')) this.endProcess('right after an answer');
      },
      () => {
        if (!life.isDead) this.#pending -= 1;
      },
    );
  };

  /** Ends the process now: its dependencies have no effect any more. */
  endProcess(why: string): void {
    if (this.#life.isDead) return;
    const { note, disk, network, time } = this.#deps;
    this.#life.isDead = true;
    this.#pending = 0;
    disk.endLife();
    const at = time.timestamp();
    const left = disk.inspect((database) => ({
      pending: pendingDeliveryIds(database),
      fates: readHookStatuses(database),
    }));
    note(`the process ends: ${why}; pending ${[...left.pending].join(' ')}; hooks ${[...left.fates].join(' ')}`);
    this.crashes.push({ at, ...left });
    network.endLife(this.#life);
  }

  crash(point: FaultPoint): void {
    if (this.#life.isDead) return;
    this.#deps.faults.countHit(point);
    this.endProcess(point);
  }

  async untilUp(): Promise<void> {
    for (let tries = 0; this.#life.isDead; tries += 1) {
      if (tries > 20) throw new Error('the service does not start');
      await this.#start();
    }
  }

  /**
   * Stops the service gracefully.
   *
   * @param answer lets a waiting target answer; returns whether a target was waiting
   * @param crashAfter crashes the process after this number of rounds of the stop; never if undefined
   */
  async stop(answer: () => boolean, crashAfter = Number.POSITIVE_INFINITY): Promise<void> {
    const life = this.#life;
    let isOver = false;
    const over = (error?: unknown) => {
      if (error !== undefined && !life.isDead) this.violations.push(`cannot stop: ${error}`);
      isOver = true;
    };
    life.service?.stop().then(() => over(), over);
    for (let rounds = 0; !isOver && !life.isDead; rounds += 1) {
      if (rounds > MAX_ROUNDS) throw new Error('the stop does not end');
      if (rounds >= crashAfter) this.endProcess('during a stop');
      await waitTicks(TICKS_PER_INSTANT);
      if (!isOver && !answer()) this.#deps.time.fireNext();
    }
    // A graceful stop must have committed all known results (C20).
    this.#deps.time.advance(AFTER_STOP_MS);
    this.endProcess('stopped');
  }

  async #start(): Promise<void> {
    const { faults, random, time, disk, note, outages } = this.#deps;
    const life: RunningLife = { number: this.#life.number + 1, isDead: false };
    this.#life = life;
    const began = time.timestamp();
    const starting = startService(loadTestConfig(disk.path), this.#portsOf(life)).then(
      (service) => {
        life.service = service;
      },
      (error: unknown) => {
        // A service that fails to start exits and is started again.
        if (!life.isDead) this.endProcess(`cannot start: ${error instanceof Error ? error.message : error}`);
      },
    );
    let turnsLeft = faults.occurs('crash during a start') ? random.integerBelow(8) : Number.POSITIVE_INFINITY;
    let isUp = false;
    void starting.then(() => {
      isUp = true;
    });
    while (!isUp && !life.isDead) {
      await waitTick();
      turnsLeft -= 1;
      if (turnsLeft < 0) this.endProcess('during a start');
      // Time must pass, because the database may be locked by another process.
      if (turnsLeft > 1e6) time.fireNext();
    }
    outages.add(began, time.timestamp());
    if (!life.isDead) note(`life ${life.number} begins`);
  }

  #portsOf(life: RunningLife): Partial<ServiceDeps> {
    const { time, network, disk, random } = this.#deps;
    const clock = time.clockOf(life);
    return {
      clock,
      realClock: clock,
      random: toRandomSource(random),
      log: this.#logOf(life),
      resolve: network.resolverOf(life),
      sendAttempt: network.attemptOf(life),
      sqlite: disk.sqliteOf(life),
      listen: async (server) => {
        life.server = server;
        return 443;
      },
      onFatal: (error) => {
        if (life.isDead) return;
        const isExpected = error instanceof Error && 'errcode' in error;
        if (!isExpected) this.violations.push(`the service failed: ${error}`);
        this.endProcess('it gives up');
      },
    };
  }

  /**
   * Returns the log of one life. Below warnings, only `delivery.attempted` is used: its log line marks the exact
   * time at which the service knows a result.
   */
  #logOf(life: ProcessLife): Log {
    const isRelevant = (level: number, said: unknown) =>
      level >= WARN_LEVEL || Object(said).event === 'delivery.attempted';
    return pino(
      {
        level: 'info',
        base: null,
        hooks: {
          logMethod(said, log, level) {
            if (isRelevant(level, said[0])) log.apply(this, said);
          },
        },
      },
      { write: (line: string) => this.#onLogLine(life, line) },
    );
  }

  #onLogLine(life: ProcessLife, line: string): void {
    if (life.isDead) return;
    const { event, err, delivery_id } = JSON.parse(line);
    if (event === 'delivery.attempted') {
      this.#deps.network.onResultKnown(String(delivery_id));
      return;
    }
    this.#deps.note(`logged ${event}${err === undefined ? '' : `: ${err.message}`}`);
    if (event === 'dispatcher.finish_failed') this.violations.push(`logged ${line}`);
  }
}

function loadTestConfig(path: string) {
  const flags = { port: '443', database: `sqlite:${path}`, baseUrl: BASE_URL, retryWaits: RETRY_WAITS.flag };
  const loaded = loadConfig({ flags, environment: {} });
  if ('faults' in loaded) throw new Error(loaded.faults.join('\n'));
  return loaded.config;
}
