import { useEffect, useRef, useState } from 'preact/hooks';
import { CarillonError } from '../../../packages/sdk/src/errors.ts';
import { tell } from '../components/toast.tsx';
import { endSession, isSignedOut } from './session.ts';

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
    endSession();
    return 'You have been signed out.';
  }
  if (!(error instanceof CarillonError)) return error instanceof Error ? error.message : String(error);
  if (error.code === 'sign_in_refused') return 'These do not belong together. Check the email and the passphrase.';
  if (error.code === 'too_many_tries')
    return `Too many wrong tries from here. Wait ${span(error.retryAfterS ?? 60)}, then try again.`;
  if (error.code === 'rate_limited')
    return `This account calls more often than its operator allows. Wait ${span(error.retryAfterS ?? 1)}, then try again.`;
  if (error.code === 'connection') return 'The service cannot be reached. Check that it runs, and try again.';
  if (error.code === 'timeout') return 'The service took too long. Try again; what was sent may have been done.';
  if (error.code === 'not_found') return 'There is nothing here: it was deleted, or it is not yours to see.';
  if (error.code === 'target_taken')
    return 'Another live hook has this address, and one address belongs to one hook. Give each a path of its own.';
  if (error.code === 'not_permitted') return `You may not do that. ${error.message}`;
  return error.message;
}

/** Seconds in words. */
export const span = (seconds: number) => (seconds < 90 ? `${seconds} s` : `${Math.ceil(seconds / 60)} min`);

/** What is wrong with each field, by its name, in a sentence that stands below the field. */
export function faultsOf(error: unknown): Readonly<Record<string, string>> {
  if (!(error instanceof CarillonError)) return {};
  return Object.fromEntries(
    (error.errors ?? []).map(({ field, message }) => [field, `It ${message.replaceAll('_', ' ')}.`]),
  );
}

/** What a form does when it is sent: whether it is under way, and what went wrong. */
export type Submission = {
  readonly isBusy: boolean;
  /** What is wrong with each field, by its name. */
  readonly faults: Readonly<Record<string, string>>;
  /** What went wrong where no field is to blame. */
  readonly fault: string | undefined;
  submit(event: Event): Promise<void>;
};

/** Sends a form, once at a time. */
export function useSubmission(work: () => Promise<unknown>): Submission {
  const [state, setState] = useState<Omit<Submission, 'submit'>>({ isBusy: false, faults: {}, fault: undefined });
  const submit = async (event: Event) => {
    event.preventDefault();
    setState({ ...state, isBusy: true });
    try {
      await work();
      setState({ isBusy: false, faults: {}, fault: undefined });
    } catch (error) {
      const faults = faultsOf(error);
      setState({ isBusy: false, faults, fault: Object.keys(faults).length === 0 ? explain(error) : undefined });
    }
  };
  return { ...state, submit };
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
