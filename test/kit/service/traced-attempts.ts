import { systemClock } from '../../../src/clock.ts';
import { createAttemptSender, type SendAttempt } from '../../../src/delivery/transport/attempt.ts';
import { createSsrfGuard } from '../../../src/delivery/transport/ssrf-guard.ts';

/** The times at which the attempts to one path began, and at which they connected, in monotonic milliseconds. */
export type AttemptTrace = { readonly begun: readonly number[]; readonly dialled: readonly number[] };

/** Returns the real HTTP attempt, restricted to loopback, and a function that returns the times of its attempts. */
export function createTracedAttempt(): { readonly attempt: SendAttempt; traceOf(path: string): AttemptTrace } {
  const traces = new Map<string, { begun: number[]; dialled: number[] }>();
  const traceOf = (path: string) => {
    const trace = traces.get(path) ?? { begun: [], dialled: [] };
    traces.set(path, trace);
    return trace;
  };
  const guard = createSsrfGuard({
    resolve: async () => ({ failure: 'no_such_name' }),
    allowRules: [],
    isLoopbackAllowed: true,
  });
  const realAttempt = createAttemptSender({ guard, userAgent: 'Carillon/test', clock: systemClock });
  return {
    traceOf,
    attempt(order) {
      const trace = traceOf(new URL(order.target).pathname);
      trace.begun.push(performance.now());
      const onBeforeSend = () => {
        trace.dialled.push(performance.now());
        order.onBeforeSend?.();
      };
      return realAttempt({ ...order, onBeforeSend });
    },
  };
}
