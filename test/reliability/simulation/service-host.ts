import { setImmediate as turn } from 'node:timers/promises';
import { pino } from 'pino';
import { loadConfig } from '../../../src/config/load.ts';
import type { Log } from '../../../src/log.ts';
import { type Ports, type Service, startService } from '../../../src/server.ts';
import type { SeededRandom } from '../../kit/random.ts';
import type { Crash } from '../checker/history.ts';
import type { Response, SendRequest } from './api-client.ts';
import { pendingIn, statusesIn } from './checker.ts';
import type { Disk } from './disk.ts';
import type { FaultPoint, Faults, WriteOutages } from './faults.ts';
import type { Network } from './network.ts';
import { randomOf } from './seed-database.ts';
import type { Life, Time } from './time.ts';

export const BASE_URL = 'https://carillon.test';
export const WAITS = { flag: '20s,5m', ms: [20_000, 300_000] } as const;

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

type Server = Parameters<NonNullable<Ports['listen']>>[0];
type Running = Life & { server?: Server; service?: Service };

export type HostPorts = {
  readonly time: Time;
  readonly faults: Faults;
  readonly random: SeededRandom;
  readonly disk: Disk;
  readonly network: Network;
  readonly outages: WriteOutages;
  readonly note: (line: string) => void;
};

export async function turns(count: number): Promise<void> {
  for (let left = count; left > 0; left -= 1) await turn();
}

/** Runs the service, one life after the other, and records the state that each life left in the database. */
export class Host {
  readonly crashes: Crash[] = [];
  /** Descriptions of violations by the service. */
  readonly violations: string[] = [];
  readonly #ports: HostPorts;
  #life: Running = { number: 0, isDead: true };
  #pending = 0;

  constructor(ports: HostPorts) {
    this.#ports = ports;
  }

  /** Number of unanswered requests. */
  get pending(): number {
    return this.#pending;
  }

  readonly send: SendRequest = ({ domain, key }, { method, url, body, idempotencyKey }, hear) => {
    const life = this.#life;
    const { server } = life;
    const { note, faults } = this.#ports;
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
        const answer: Response = { status, json: JSON.parse(text) };
        if (status === 500 && faults.failedReads === failedReads) this.violations.push(`${method} ${url}: ${text}`);
        hear(answer);
        if (faults.takes('crash right after a response to a client')) this.die('right after an answer');
      },
      () => {
        if (!life.isDead) this.#pending -= 1;
      },
    );
  };

  /** Ends the process now: its ports have no effect any more. */
  die(why: string): void {
    if (this.#life.isDead) return;
    const { note, disk, network, time } = this.#ports;
    this.#life.isDead = true;
    this.#pending = 0;
    disk.end();
    const at = time.timestamp();
    const left = disk.inspect((database) => ({ pending: pendingIn(database), fates: statusesIn(database) }));
    note(`the process ends: ${why}; pending ${[...left.pending].join(' ')}; hooks ${[...left.fates].join(' ')}`);
    this.crashes.push({ at, ...left });
    network.end(this.#life);
  }

  crash(point: FaultPoint): void {
    if (this.#life.isDead) return;
    this.#ports.faults.hit(point);
    this.die(point);
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
      if (rounds >= crashAfter) this.die('during a stop');
      await turns(TICKS_PER_INSTANT);
      if (!isOver && !answer()) this.#ports.time.next();
    }
    // A graceful stop must have committed all known results (C20).
    this.#ports.time.pass(AFTER_STOP_MS);
    this.die('stopped');
  }

  async #start(): Promise<void> {
    const { faults, random, time, disk, note, outages } = this.#ports;
    const life: Running = { number: this.#life.number + 1, isDead: false };
    this.#life = life;
    const began = time.timestamp();
    const starting = startService(configOn(disk.path), this.#portsOf(life)).then(
      (service) => {
        life.service = service;
      },
      (error: unknown) => {
        // A service that fails to start exits and is started again.
        if (!life.isDead) this.die(`cannot start: ${error instanceof Error ? error.message : error}`);
      },
    );
    let turnsLeft = faults.takes('crash during a start') ? random.below(8) : Number.POSITIVE_INFINITY;
    let isUp = false;
    void starting.then(() => {
      isUp = true;
    });
    while (!isUp && !life.isDead) {
      await turn();
      turnsLeft -= 1;
      if (turnsLeft < 0) this.die('during a start');
      // Time must pass, because the database may be locked by another process.
      if (turnsLeft > 1e6) time.next();
    }
    outages.add(began, time.timestamp());
    if (!life.isDead) note(`life ${life.number} begins`);
  }

  #portsOf(life: Running): Partial<Ports> {
    const { time, network, disk, random } = this.#ports;
    const clock = time.clockOf(life);
    return {
      clock,
      realClock: clock,
      random: randomOf(random),
      log: this.#logOf(life),
      resolve: network.resolverOf(life),
      attempt: network.attemptOf(life),
      sqlite: disk.sqliteOf(life),
      listen: async (server) => {
        life.server = server;
        return 443;
      },
      onFatal: (error) => {
        if (life.isDead) return;
        const isExpected = error instanceof Error && 'errcode' in error;
        if (!isExpected) this.violations.push(`the service failed: ${error}`);
        this.die('it gives up');
      },
    };
  }

  /**
   * Returns the log of one life. Below warnings, only `delivery.attempted` is used: its log line marks the exact
   * time at which the service knows a result.
   */
  #logOf(life: Life): Log {
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

  #onLogLine(life: Life, line: string): void {
    if (life.isDead) return;
    const { event, err, delivery_id } = JSON.parse(line);
    if (event === 'delivery.attempted') {
      this.#ports.network.onResultKnown(String(delivery_id));
      return;
    }
    this.#ports.note(`logged ${event}${err === undefined ? '' : `: ${err.message}`}`);
    if (event === 'dispatcher.finish_failed') this.violations.push(`logged ${line}`);
  }
}

function configOn(path: string) {
  const flags = { port: '443', database: `sqlite:${path}`, baseUrl: BASE_URL, retryWaits: WAITS.flag };
  const loaded = loadConfig({ flags, environment: {} });
  if ('faults' in loaded) throw new Error(loaded.faults.join('\n'));
  return loaded.config;
}
