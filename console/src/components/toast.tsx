import { signal } from '@preact/signals';
import { Icon } from './icon.tsx';

type Toast = { readonly id: number; readonly text: string; readonly isError: boolean; readonly undo?: () => void };

const TOAST_TTL_MS = 7_000;

const toasts = signal<readonly Toast[]>([]);
let lastToastId = 0;

function dismissToast(id: number): void {
  toasts.value = toasts.value.filter((toast) => toast.id !== id);
}

/** Shows a toast: an error if `isError` is set, otherwise a success message. `undo` adds an Undo button. */
export function showToast(
  text: string,
  options: { readonly isError?: boolean; readonly undo?: () => void } = {},
): void {
  lastToastId += 1;
  const id = lastToastId;
  const { isError = false, undo } = options;
  // A repeated message replaces the toast with the same text, including its Undo. At most three toasts are shown.
  const otherToasts = toasts.value.filter((toast) => toast.text !== text);
  toasts.value = [...otherToasts.slice(-2), { id, text, isError, ...(undo !== undefined && { undo }) }];
  setTimeout(() => dismissToast(id), isError ? 2 * TOAST_TTL_MS : TOAST_TTL_MS);
}

/** Renders the current toasts in an ARIA live region. */
export function Toasts() {
  return (
    <div class="toasts" role="status" aria-live="polite">
      {toasts.value.map(({ id, text, isError, undo }) => (
        <div key={id} class={`toast ${isError ? 'bad' : ''}`}>
          <span class="grow">{text}</span>
          {undo !== undefined && (
            <button
              type="button"
              onClick={() => {
                dismissToast(id);
                undo();
              }}
            >
              Undo
            </button>
          )}
          <button type="button" aria-label="Dismiss" onClick={() => dismissToast(id)}>
            <Icon name="cross" />
          </button>
        </div>
      ))}
    </div>
  );
}
