import { useEffect, useRef } from 'preact/hooks';

/** Whether somebody is writing, or answers a question. */
const isBusy = (target: EventTarget | null) =>
  (target instanceof Element && target.closest('input, textarea, select, [role=menu]') !== null) ||
  document.querySelector('dialog[open]') !== null;

/** Does something at a key, wherever the focus is; but not while somebody writes. */
export function useKeys(keys: Readonly<Record<string, () => void>>): void {
  const latest = useRef(keys);
  latest.current = keys;
  useEffect(() => {
    const onKey = (event: KeyboardEvent) => {
      if (event.defaultPrevented || event.ctrlKey || event.metaKey || event.altKey || isBusy(event.target)) return;
      const work = latest.current[event.key];
      if (work === undefined) return;
      event.preventDefault();
      work();
    };
    document.addEventListener('keydown', onKey);
    return () => document.removeEventListener('keydown', onKey);
  }, []);
}
