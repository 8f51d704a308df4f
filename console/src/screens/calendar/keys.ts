import { useEffect, useRef } from 'preact/hooks';

/** Whether a form control, a menu or a dialog handles key events itself. */
const isKeyHandledElsewhere = (target: EventTarget | null) =>
  (target instanceof Element && target.closest('input, textarea, select, [role=menu]') !== null) ||
  document.querySelector('dialog[open]') !== null;

/** Registers global keyboard shortcuts. They are inactive while the user types or a dialog is open. */
export function useShortcuts(shortcuts: Readonly<Record<string, () => void>>): void {
  const latestShortcuts = useRef(shortcuts);
  latestShortcuts.current = shortcuts;
  useEffect(() => {
    const runShortcut = (event: KeyboardEvent) => {
      if (
        event.defaultPrevented ||
        event.ctrlKey ||
        event.metaKey ||
        event.altKey ||
        isKeyHandledElsewhere(event.target)
      )
        return;
      const action = latestShortcuts.current[event.key];
      if (action === undefined) return;
      event.preventDefault();
      action();
    };
    document.addEventListener('keydown', runShortcut);
    return () => document.removeEventListener('keydown', runShortcut);
  }, []);
}
