import { useEffect, useRef, useState } from 'preact/hooks';
import { CarillonError } from '../../src/sdk/errors.ts';
import { tell } from './design/toast.tsx';
import { isSignedOut, session } from './session.ts';

/** What was asked for: there, on its way, or what went wrong. What was there stays in view while it is asked for again. */
export type Loaded<T> = {
  readonly data: T | undefined;
  readonly fault: string | undefined;
  readonly isLoading: boolean;
  /** Asks again. */
  reload(): void;
  /** Shows a change before the service has confirmed it. */
  set(data: T): void;
};

/**
 * Asks the service for something, again whenever one of the inputs changes; an answer that comes too late is not shown.
 *
 * @param inputs compared as texts
 */
export function useLoaded<T>(load: (signal: AbortSignal) => Promise<T>, inputs: readonly unknown[]): Loaded<T> {
  const [state, setState] = useState<{ data?: T; fault?: string; isLoading: boolean }>({ isLoading: true });
  const [turn, setTurn] = useState(0);
  const latest = useRef(load);
  latest.current = load;
  const key = JSON.stringify(inputs);
  const shownKey = useRef(key);
  useEffect(() => {
    const stop = new AbortController();
    const isOther = shownKey.current !== key;
    shownKey.current = key;
    setState((before) => (isOther ? { isLoading: true } : { ...before, isLoading: true }));
    latest
      .current(stop.signal)
      .then((data) => stop.signal.aborted || setState({ data, isLoading: false }))
      .catch((error: unknown) => {
        if (!stop.signal.aborted) setState((before) => ({ ...before, fault: explain(error), isLoading: false }));
      });
    return () => stop.abort();
  }, [key, turn]);
  return {
    data: state.data,
    fault: state.fault,
    isLoading: state.isLoading,
    reload: () => setTurn((count) => count + 1),
    set: (data) => setState({ data, isLoading: false }),
  };
}

/** Everything that a list holds, page after page. */
export async function all<T>(records: AsyncIterable<T>): Promise<readonly T[]> {
  const found: T[] = [];
  for await (const record of records) found.push(record);
  return found;
}

/** What went wrong, and what to do, in words for whoever sits there. */
export function explain(error: unknown): string {
  if (isSignedOut(error)) {
    session.value = undefined;
    return 'You have been signed out.';
  }
  if (!(error instanceof CarillonError)) return error instanceof Error ? error.message : String(error);
  if (error.code === 'connection') return 'The service cannot be reached. Check that it runs, and try again.';
  if (error.code === 'timeout') return 'The service took too long. Try again; what was sent may have been done.';
  if (error.code === 'not_permitted') return `You may not do that. ${error.message}`;
  return error.message;
}

/** What is wrong with each field, by its name. */
export function faultsOf(error: unknown): Readonly<Record<string, string>> {
  if (!(error instanceof CarillonError)) return {};
  return Object.fromEntries((error.errors ?? []).map(({ field, message }) => [field, `${field} ${message}`]));
}

/** Does something, and says so; or says what went wrong. Answers whether it was done. */
export async function attempt(
  work: () => Promise<unknown>,
  done?: string | { readonly text: string; readonly undo: () => void },
): Promise<boolean> {
  try {
    await work();
  } catch (error) {
    tell(explain(error), { isBad: true });
    return false;
  }
  if (typeof done === 'string') tell(done);
  else if (done !== undefined) tell(done.text, { undo: done.undo });
  return true;
}
