import { type Logger, pino } from 'pino';
import { systemClock } from './clock.ts';
import { standardError } from './log-writer.ts';

export type Log = Logger;

/**
 * Properties of errors that may contain user data: the row that a database rejected, the query and its parameters, and
 * the text that is not a URL.
 */
const PRIVATE_PROPERTIES = ['detail', 'where', 'hint', 'internalQuery', 'query', 'parameters', 'input', 'base'];

/** Serializes an error for the log, without user data. */
export function withoutRows(error: Error): Record<string, unknown> {
  const properties = Object.entries(pino.stdSerializers.err(error));
  return Object.fromEntries(properties.filter(([name]) => !PRIVATE_PROPERTIES.includes(name)));
}

let lastAt = Number.NaN;
let lastTime = '';

/** The `time` field of a log line, formatted once per millisecond. */
function time(): string {
  const now = systemClock.now();
  if (now !== lastAt) {
    lastAt = now;
    lastTime = `,"time":"${new Date(now).toISOString()}"`;
  }
  return lastTime;
}

/** The log: one JSON object per line on standard error, so that standard output stays free for results. */
export function createLog(level: string): Log {
  return pino({ level, base: null, timestamp: time, serializers: { err: withoutRows } }, standardError());
}

/** A target for logs: scheme, host and port. The path is secret. */
export function maskTarget(target: string): string {
  const url = URL.parse(target);
  return url === null ? '(unreadable)' : `${url.protocol}//${url.host}/…`;
}
