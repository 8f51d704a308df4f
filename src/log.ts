import { type Logger, pino } from 'pino';

export type Log = Logger;

/** Where log lines go: one JSON object a line on standard error, so that standard output is for people and programs. */
export function createLog(level: string): Log {
  return pino(
    { level, base: null, timestamp: pino.stdTimeFunctions.isoTime },
    pino.destination({ dest: 2, sync: true }),
  );
}

/** A target as it may stand in a log: scheme, host and port. The path is the target's secret. */
export function maskTarget(target: string): string {
  const url = URL.parse(target);
  return url === null ? '(unreadable)' : `${url.protocol}//${url.host}/…`;
}
