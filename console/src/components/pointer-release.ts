/** What a press ends with; whoever types has let go, even where a menu of the browser has swallowed the rest. */
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
      // Its click comes first.
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
 * Resolves when nobody is pressing anything, and what was pressed has been clicked. What moves in between has another thing
 * under the pointer when it is let go, and that is no click on either.
 */
export async function letGo(): Promise<void> {
  await press;
}
