import { type Logger, pino } from 'pino';
import { systemClock } from './clock.ts';
import { getStandardErrorWriter } from './log-writer.ts';

export type Log = Logger;

/**
 * Properties of errors that may contain user data: the row that a database rejected, the query and its parameters, and
 * input that is not a valid URL.
 */
const PRIVATE_PROPERTIES = ['detail', 'where', 'hint', 'internalQuery', 'query', 'parameters', 'input', 'base'];

/** Serializes an error for the log, without user data. */
function serializeError(error: Error): Record<string, unknown> {
  const properties = Object.entries(pino.stdSerializers.err(error));
  return Object.fromEntries(properties.filter(([name]) => !PRIVATE_PROPERTIES.includes(name)));
}

/** Returns the `time` field of a log line. */
const formatTimeField = () => `,"time":"${new Date(systemClock.now()).toISOString()}"`;

/** Creates the log: one JSON object per line on standard error, so that standard output stays free for results. */
export function createLog(level: string): Log {
  return pino(
    { level, base: null, timestamp: formatTimeField, serializers: { err: serializeError } },
    getStandardErrorWriter(),
  );
}

/** Masks a target URL for logs: keeps scheme, host and port. The path may contain a secret. */
export function maskTarget(target: string): string {
  const url = URL.parse(target);
  return url === null ? '(unreadable)' : `${url.protocol}//${url.host}/…`;
}
