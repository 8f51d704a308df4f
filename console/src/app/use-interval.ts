import { useEffect, useRef } from 'preact/hooks';

/**
 * Does something again and again while the page is looked at; at once when somebody comes back to it.
 *
 * @param everyMs milliseconds between two times; undefined for not at all
 */
export function useEvery(everyMs: number | undefined, work: () => void): void {
  const latest = useRef(work);
  latest.current = work;
  useEffect(() => {
    if (everyMs === undefined) return;
    const turn = () => {
      if (!document.hidden) latest.current();
    };
    const timer = setInterval(turn, everyMs);
    document.addEventListener('visibilitychange', turn);
    return () => {
      clearInterval(timer);
      document.removeEventListener('visibilitychange', turn);
    };
  }, [everyMs]);
}
