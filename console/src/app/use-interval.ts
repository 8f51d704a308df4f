import { useEffect, useRef } from 'preact/hooks';

/**
 * Polls while the tab is visible, and immediately when it becomes visible again.
 *
 * @param intervalMs undefined stops the polling
 */
export function useEvery(intervalMs: number | undefined, poll: () => void): void {
  const latest = useRef(poll);
  latest.current = poll;
  useEffect(() => {
    if (intervalMs === undefined) return;
    const runIfVisible = () => {
      if (!document.hidden) latest.current();
    };
    const timer = setInterval(runIfVisible, intervalMs);
    document.addEventListener('visibilitychange', runIfVisible);
    return () => {
      clearInterval(timer);
      document.removeEventListener('visibilitychange', runIfVisible);
    };
  }, [intervalMs]);
}
