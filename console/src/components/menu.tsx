import { useEffect, useRef, useState } from 'preact/hooks';
import { Icon, type IconName } from './icon.tsx';

export type MenuItem = {
  readonly text: string;
  readonly icon?: IconName;
  readonly isDanger?: boolean;
  readonly onPick: () => void;
};

/**
 * Overflow menu that a button with three dots opens. Arrow keys move between the items; Escape closes the menu and
 * returns the focus to the button.
 */
export function Menu({ label, items }: { readonly label: string; readonly items: readonly MenuItem[] }) {
  const [isOpen, setOpen] = useState(false);
  const element = useRef<HTMLDivElement>(null);
  const menuItems = () => [...(element.current?.querySelectorAll<HTMLButtonElement>('[role=menuitem]') ?? [])];
  useEffect(() => {
    if (!isOpen) return;
    menuItems()[0]?.focus();
    const closeOnOutsidePress = (event: Event) => {
      if (event.target instanceof Node && !element.current?.contains(event.target)) setOpen(false);
    };
    document.addEventListener('pointerdown', closeOnOutsidePress);
    return () => document.removeEventListener('pointerdown', closeOnOutsidePress);
  }, [isOpen]);
  const handleKeyDown = (event: KeyboardEvent) => {
    const all = menuItems();
    const at = all.findIndex((one) => one.matches(':focus'));
    const to = { ArrowDown: at + 1, ArrowUp: at - 1, Home: 0, End: all.length - 1 }[event.key];
    if (event.key === 'Escape') {
      setOpen(false);
      element.current?.querySelector('button')?.focus();
    }
    if (to === undefined) return;
    event.preventDefault();
    all[(to + all.length) % all.length]?.focus();
  };
  return (
    <div class="menu" ref={element}>
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
          {items.map(({ text, icon, isDanger, onPick }) => (
            <button
              key={text}
              type="button"
              role="menuitem"
              class={isDanger ? 'danger' : ''}
              onClick={() => {
                setOpen(false);
                element.current?.querySelector('button')?.focus();
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

let activePress: Promise<void> | undefined;

addEventListener(
  'pointerdown',
  () => {
    const { promise, resolve } = Promise.withResolvers<void>();
    activePress = promise;
    const listenerController = new AbortController();
    const endPress = () => {
      listenerController.abort();
      // Resolve only after the click event, which follows `pointerup`.
      setTimeout(() => {
        if (activePress === promise) activePress = undefined;
        resolve();
      });
    };
    for (const name of PRESS_END_EVENTS)
      addEventListener(name, endPress, { capture: true, signal: listenerController.signal });
  },
  { capture: true },
);

/**
 * Resolves when no pointer is pressed and the click of the last press has been dispatched. Wait for this before the
 * layout moves: if it moved between press and release, the pointer would be over another element, and the browser
 * would fire no click.
 */
export async function waitForPointerRelease(): Promise<void> {
  await activePress;
}
