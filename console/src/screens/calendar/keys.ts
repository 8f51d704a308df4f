import { useEffect, useRef } from 'preact/hooks';

/** Whether a form control, a menu or a dialog handles key events itself. */
const handlesOwnKeys = (target: EventTarget | null) =>
  (target instanceof Element && target.closest('input, textarea, select, [role=menu]') !== null) ||
  document.querySelector('dialog[open]') !== null;

/** Registers global keyboard shortcuts. They are inactive while the user types or a dialog is open. */
export function useShortcuts(keys: Readonly<Record<string, () => void>>): void {
  const latest = useRef(keys);
  latest.current = keys;
  useEffect(() => {
    const onKey = (event: KeyboardEvent) => {
      if (event.defaultPrevented || event.ctrlKey || event.metaKey || event.altKey || handlesOwnKeys(event.target))
        return;
      const action = latest.current[event.key];
      if (action === undefined) return;
      event.preventDefault();
      action();
    };
    document.addEventListener('keydown', onKey);
    return () => document.removeEventListener('keydown', onKey);
  }, []);
}
