import { useEffect, useRef, useState } from 'preact/hooks';
import { Icon, type IconName } from './icon.tsx';

export type MenuItem = {
  readonly text: string;
  readonly icon?: IconName;
  readonly isDestructive?: boolean;
  readonly onPick: () => void;
};

/**
 * Overflow menu that a button with three dots opens. Arrow keys move between the items; Escape closes the menu and
 * returns the focus to the button.
 */
export function Menu({ label, items }: { readonly label: string; readonly items: readonly MenuItem[] }) {
  const [isOpen, setOpen] = useState(false);
  const menuRef = useRef<HTMLDivElement>(null);
  const findItemButtons = () => [...(menuRef.current?.querySelectorAll<HTMLButtonElement>('[role=menuitem]') ?? [])];
  useEffect(() => {
    if (!isOpen) return;
    findItemButtons()[0]?.focus();
    const closeOnOutsidePress = (event: Event) => {
      if (event.target instanceof Node && !menuRef.current?.contains(event.target)) setOpen(false);
    };
    document.addEventListener('pointerdown', closeOnOutsidePress);
    return () => document.removeEventListener('pointerdown', closeOnOutsidePress);
  }, [isOpen]);
  const handleKeyDown = (event: KeyboardEvent) => {
    const itemButtons = findItemButtons();
    const focusedIndex = itemButtons.findIndex((itemButton) => itemButton.matches(':focus'));
    const nextIndex = { ArrowDown: focusedIndex + 1, ArrowUp: focusedIndex - 1, Home: 0, End: itemButtons.length - 1 }[
      event.key
    ];
    if (event.key === 'Escape') {
      setOpen(false);
      menuRef.current?.querySelector('button')?.focus();
    }
    if (nextIndex === undefined) return;
    event.preventDefault();
    itemButtons[(nextIndex + itemButtons.length) % itemButtons.length]?.focus();
  };
  return (
    <div class="menu" ref={menuRef}>
      <button
        type="button"
        class="button quiet icon-only"
        aria-label={label}
        title={label}
        aria-haspopup="menu"
        aria-expanded={isOpen}
        onClick={() => setOpen(!isOpen)}
      >
        <Icon name="more" />
      </button>
      {isOpen && (
        <div role="menu" aria-label={label} tabIndex={-1} onKeyDown={handleKeyDown}>
          {items.map(({ text, icon, isDestructive, onPick }) => (
            <button
              key={text}
              type="button"
              role="menuitem"
              class={isDestructive ? 'danger' : ''}
              onClick={() => {
                setOpen(false);
                menuRef.current?.querySelector('button')?.focus();
                onPick();
              }}
            >
              {icon !== undefined && <Icon name={icon} />}
              {text}
            </button>
          ))}
        </div>
      )}
    </div>
  );
}

/**
 * Events that end a pointer press. `keydown` is a fallback, because a native popup can swallow `pointerup` and
 * `pointercancel`.
 */
const PRESS_END_EVENTS = ['pointerup', 'pointercancel', 'keydown'] as const;

/** Resolves at the end of the current pointer press; undefined while no pointer is pressed. */
let pressEndPromise: Promise<void> | undefined;

addEventListener(
  'pointerdown',
  () => {
    const { promise, resolve } = Promise.withResolvers<void>();
    pressEndPromise = promise;
    const abortController = new AbortController();
    const endPress = () => {
      abortController.abort();
      // Resolve only after the click event, which follows `pointerup`.
      setTimeout(() => {
        if (pressEndPromise === promise) pressEndPromise = undefined;
        resolve();
      });
    };
    for (const eventName of PRESS_END_EVENTS)
      addEventListener(eventName, endPress, { capture: true, signal: abortController.signal });
  },
  { capture: true },
);

/**
 * Resolves when no pointer is pressed and the click of the last press has been dispatched. Await this function before
 * changing the layout: if elements move between press and release, the pointer is released over another element, and
 * the browser fires no click.
 */
export async function waitForPointerRelease(): Promise<void> {
  await pressEndPromise;
}
