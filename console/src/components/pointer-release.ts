/** Events that end a press. `keydown` is a fallback: a native popup can swallow `pointerup` and `pointercancel`. */
const ENDS = ['pointerup', 'pointercancel', 'keydown'] as const;

let press: Promise<void> | undefined;

addEventListener(
  'pointerdown',
  () => {
    const { promise, resolve } = Promise.withResolvers<void>();
    press = promise;
    const over = new AbortController();
    const end = () => {
      over.abort();
      // The click event follows `pointerup`; resolve after it.
      setTimeout(() => {
        if (press === promise) press = undefined;
        resolve();
      });
    };
    for (const name of ENDS) addEventListener(name, end, { capture: true, signal: over.signal });
  },
  { capture: true },
);

/**
 * Resolves when no pointer is pressed and the click of the last press has been dispatched. If the layout moved
 * between press and release, the pointer would be over another element, and the browser would not fire a click
 * at all.
 */
export async function letGo(): Promise<void> {
  await press;
}
