import { type Logger, pino } from 'pino';
import { systemClock } from './clock.ts';
import { standardError } from './log-writer.ts';

export type Log = Logger;

/**
 * What an error holds beside its message of what was worked on: the row that a database refused, what it was asked for,
 * and the address that is none.
 */
const ROWS = ['detail', 'where', 'hint', 'internalQuery', 'query', 'parameters', 'input', 'base'];

/** An error as it may stand in a log: without what the rows hold. */
export function withoutRows(error: Error): Record<string, unknown> {
  const told = Object.entries(pino.stdSerializers.err(error));
  return Object.fromEntries(told.filter(([name]) => !ROWS.includes(name)));
}

let lastAt = Number.NaN;
let lastTime = '';

/** The time of a line; of those that are said in the same millisecond it is written once. */
function time(): string {
  const now = systemClock.now();
  if (now !== lastAt) {
    lastAt = now;
    lastTime = `,"time":"${new Date(now).toISOString()}"`;
  }
  return lastTime;
}

/** Where log lines go: one JSON object a line on standard error, so that standard output is for people and programs. */
export function createLog(level: string): Log {
  return pino({ level, base: null, timestamp: time, serializers: { err: withoutRows } }, standardError());
}

/** A target as it may stand in a log: scheme, host and port. The path is the target's secret. */
export function maskTarget(target: string): string {
  const url = URL.parse(target);
  return url === null ? '(unreadable)' : `${url.protocol}//${url.host}/…`;
}
