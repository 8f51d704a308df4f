import { signal } from '@preact/signals';
import { Icon } from './icon.tsx';

type Toast = { readonly id: number; readonly text: string; readonly isBad: boolean; readonly undo?: () => void };

const TOAST_TTL_MS = 7_000;

const toasts = signal<readonly Toast[]>([]);
let lastId = 0;

function dismiss(id: number): void {
  toasts.value = toasts.value.filter((one) => one.id !== id);
}

/** Shows a toast: a success message, with an Undo button if `undo` is given, or an error (`isBad`). */
export function showToast(text: string, options: { readonly isBad?: boolean; readonly undo?: () => void } = {}): void {
  lastId += 1;
  const id = lastId;
  const { isBad = false, undo } = options;
  // Deduplicate by text: a repeated message replaces the old toast and its Undo. Show at most three.
  const others = toasts.value.filter((one) => one.text !== text);
  toasts.value = [...others.slice(-2), { id, text, isBad, ...(undo !== undefined && { undo }) }];
  setTimeout(() => dismiss(id), isBad ? 2 * TOAST_TTL_MS : TOAST_TTL_MS);
}

/** Renders the current toasts in an ARIA live region. */
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
