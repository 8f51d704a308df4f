import { signal } from '@preact/signals';
import { Icon } from './icon.tsx';

type Toast = { readonly id: number; readonly text: string; readonly isBad: boolean; readonly undo?: () => void };

const SHOWN_MS = 7_000;

const toasts = signal<readonly Toast[]>([]);
let count = 0;

function dismiss(id: number): void {
  toasts.value = toasts.value.filter((one) => one.id !== id);
}

/** Says at the edge of the page what was done, with a way back where there is one; or what went wrong. */
export function tell(text: string, more: { readonly isBad?: boolean; readonly undo?: () => void } = {}): void {
  count += 1;
  const id = count;
  const { isBad = false, undo } = more;
  // Said again, it stands once, with the newest way back.
  const others = toasts.value.filter((one) => one.text !== text);
  toasts.value = [...others.slice(-2), { id, text, isBad, ...(undo !== undefined && { undo }) }];
  setTimeout(() => dismiss(id), isBad ? 2 * SHOWN_MS : SHOWN_MS);
}

/** Where what is told is shown, and heard. */
export function Toasts() {
  return (
    <div class="toasts" role="status" aria-live="polite">
      {toasts.value.map(({ id, text, isBad, undo }) => (
        <div key={id} class={`toast ${isBad ? 'bad' : ''}`}>
          <span class="grow">{text}</span>
          {undo !== undefined && (
            <button
              type="button"
              onClick={() => {
                dismiss(id);
                undo();
              }}
            >
              Undo
            </button>
          )}
          <button type="button" aria-label="Dismiss" onClick={() => dismiss(id)}>
            <Icon name="cross" />
          </button>
        </div>
      ))}
    </div>
  );
}
