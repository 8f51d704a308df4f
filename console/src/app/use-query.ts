import { useEffect, useRef, useState } from 'preact/hooks';
import { CarillonError } from '../../../packages/sdk/src/errors.ts';
import { showToast } from '../components/toast.tsx';
import { clearEndedSession, isSignedOutError } from './session.ts';

/** A query with its data, loading and error state. Previous data stays visible during a reload. */
export type Query<T> = {
  readonly data: T | undefined;
  readonly errorText: string | undefined;
  readonly isLoading: boolean;
  reload(): void;
  /** Optimistic update: replaces the data before the server has confirmed it. */
  setData(data: T): void;
};

/**
 * Runs a query on the first render, and again whenever an input changes. A new run aborts the previous run, and the
 * response of an aborted run is ignored.
 *
 * @param inputs the values that the query depends on, compared as JSON
 */
export function useQuery<T>(load: (signal: AbortSignal) => Promise<T>, inputs: readonly unknown[]): Query<T> {
  const [state, setState] = useState<{ data?: T; errorText?: string; isLoading: boolean }>({ isLoading: true });
  const [reloadCount, setReloadCount] = useState(0);
  const latestLoad = useRef(load);
  latestLoad.current = load;
  const inputsKey = JSON.stringify(inputs);
  const loadedInputsKey = useRef(inputsKey);
  useEffect(() => {
    const abortController = new AbortController();
    const hasNewInputs = loadedInputsKey.current !== inputsKey;
    loadedInputsKey.current = inputsKey;
    setState((previousState) => (hasNewInputs ? { isLoading: true } : { ...previousState, isLoading: true }));
    latestLoad
      .current(abortController.signal)
      .then((data) => abortController.signal.aborted || setState({ data, isLoading: false }))
      .catch((error: unknown) => {
        if (!abortController.signal.aborted)
          setState((previousState) => ({ ...previousState, errorText: describeError(error), isLoading: false }));
      });
    return () => abortController.abort();
  }, [inputsKey, reloadCount]);
  return {
    data: state.data,
    errorText: state.errorText,
    isLoading: state.isLoading,
    reload: () => setReloadCount((count) => count + 1),
    setData: (data) => setState({ data, isLoading: false }),
  };
}

/** Collects the records of all pages of a list. */
export async function collectAll<T>(records: AsyncIterable<T>): Promise<readonly T[]> {
  const allRecords: T[] = [];
  for await (const record of records) allRecords.push(record);
  return allRecords;
}

/**
 * Describes an error for the user: the problem and how to fix it. If the error means that the user is signed out, the
 * session is ended.
 */
export function describeError(error: unknown): string {
  if (isSignedOutError(error)) {
    clearEndedSession();
    return 'You have been signed out.';
  }
  if (!(error instanceof CarillonError)) return error instanceof Error ? error.message : String(error);
  if (error.code === 'sign_in_refused') return 'These do not belong together. Check the email and the passphrase.';
  if (error.code === 'too_many_tries')
    return `Too many wrong tries from here. Wait ${formatWaitTime(error.retryAfterS ?? 60)}, then try again.`;
  if (error.code === 'rate_limited')
    return `This account calls more often than its operator allows. Wait ${formatWaitTime(error.retryAfterS ?? 1)}, then try again.`;
  if (error.code === 'connection') return 'The service cannot be reached. Check that it runs, and try again.';
  if (error.code === 'timeout') return 'The service took too long. Try again; what was sent may have been done.';
  if (error.code === 'not_found') return 'There is nothing here: it was deleted, or it is not yours to see.';
  if (error.code === 'target_taken')
    return 'Another live hook has this address, and one address belongs to one hook. Give each a path of its own.';
  if (error.code === 'not_permitted') return `You may not do that. ${error.message}`;
  return error.message;
}

export const formatWaitTime = (seconds: number) => (seconds < 90 ? `${seconds} s` : `${Math.ceil(seconds / 60)} min`);

/** Returns the validation errors by field name, as sentences to show below the fields. */
export function toFieldErrors(error: unknown): Readonly<Record<string, string>> {
  if (!(error instanceof CarillonError)) return {};
  return Object.fromEntries(
    (error.errors ?? []).map(({ field, message }) => [field, `It ${message.replaceAll('_', ' ')}.`]),
  );
}

/** State of a form submission. */
type Submission = {
  readonly isBusy: boolean;
  /** Validation errors by field name. */
  readonly errorsByField: Readonly<Record<string, string>>;
  /** An error that belongs to no field. */
  readonly errorText: string | undefined;
  submit(event: Event): Promise<void>;
};

/** Returns the submit handler of a form, together with its busy and error state. */
export function useSubmission(action: () => Promise<unknown>): Submission {
  const [state, setState] = useState<Omit<Submission, 'submit'>>({
    isBusy: false,
    errorsByField: {},
    errorText: undefined,
  });
  const submit = async (event: Event) => {
    event.preventDefault();
    setState({ ...state, isBusy: true });
    try {
      await action();
      setState({ isBusy: false, errorsByField: {}, errorText: undefined });
    } catch (error) {
      const errorsByField = toFieldErrors(error);
      setState({
        isBusy: false,
        errorsByField,
        errorText: Object.keys(errorsByField).length === 0 ? describeError(error) : undefined,
      });
    }
  };
  return { ...state, submit };
}

/** Runs an action and reports success or failure as a toast. Returns whether it succeeded. */
export async function runWithToast(
  action: () => Promise<unknown>,
  successMessage?: string | { readonly text: string; readonly undo: () => void },
): Promise<boolean> {
  try {
    await action();
  } catch (error) {
    showToast(describeError(error), { isError: true });
    return false;
  }
  if (typeof successMessage === 'string') showToast(successMessage);
  else if (successMessage !== undefined) showToast(successMessage.text, { undo: successMessage.undo });
  return true;
}

/**
 * Calls `poll` periodically while the tab is visible, and immediately when the tab becomes visible again.
 *
 * @param intervalMs interval between two calls; undefined stops the polling
 */
export function usePolling(intervalMs: number | undefined, poll: () => void): void {
  const latestPoll = useRef(poll);
  latestPoll.current = poll;
  useEffect(() => {
    if (intervalMs === undefined) return;
    const pollIfVisible = () => {
      if (!document.hidden) latestPoll.current();
    };
    const timer = setInterval(pollIfVisible, intervalMs);
    document.addEventListener('visibilitychange', pollIfVisible);
    return () => {
      clearInterval(timer);
      document.removeEventListener('visibilitychange', pollIfVisible);
    };
  }, [intervalMs]);
}
