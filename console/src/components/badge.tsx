import type { ComponentChildren } from 'preact';

export type Tone = 'plain' | 'good' | 'warn' | 'bad' | 'info';

export function Badge({ tone = 'plain', children }: { readonly tone?: Tone; readonly children: ComponentChildren }) {
  return <span class={`badge ${tone}`}>{children}</span>;
}

/** An inline message box; the tone `bad` is announced as an alert. */
export function Note({ tone = 'info', children }: { readonly tone?: Tone; readonly children: ComponentChildren }) {
  return (
    <div class={`note ${tone}`} role={tone === 'bad' ? 'alert' : undefined}>
      <div class="grow">{children}</div>
    </div>
  );
}

/** Progress bar, 0 to 100; indeterminate without a number. */
export function Progress({ percent, label }: { readonly percent?: number; readonly label: string }) {
  const isBusy = percent === undefined;
  return (
    <div
      class={`progress ${isBusy ? 'busy' : ''} ${percent === 100 ? 'done' : ''}`}
      role="progressbar"
      aria-label={label}
      aria-valuenow={percent}
      aria-valuemin={0}
      aria-valuemax={100}
    >
      <span style={isBusy ? {} : { transform: `scaleX(${percent / 100})` }} />
    </div>
  );
}

/** Loading skeleton. */
export function LoadingSkeleton({ lines = 4 }: { readonly lines?: number }) {
  return (
    <div class="stack" role="status" aria-label="Loading">
      {Array.from({ length: lines }, (_, line) => (
        <div key={line} class="waiting" style={{ width: `${90 - ((line * 17) % 40)}%` }} />
      ))}
    </div>
  );
}

/** Avatar made of initials. Screen readers skip it: the name is next to it. */
export function Initials({ name }: { readonly name: string }) {
  const letters = name.split(/\s+/).map((word) => [...word][0] ?? '');
  return (
    <span class="initials" aria-hidden="true">
      {(letters[0] ?? '') + (letters.length > 1 ? (letters.at(-1) ?? '') : '')}
    </span>
  );
}

const COLOUR = /^#?\w+$|^(rgb|hsl)a?\([^()]*\)$/i;

/**
 * Validates the color of a record; undefined when it is none. Records come from API clients: any other text in
 * a style attribute would be CSS injection.
 */
export function colourOf(text: string): string | undefined {
  return COLOUR.test(text) && CSS.supports('color', text) ? text : undefined;
}

/** Color dot next to a record's name; decorative. */
export function Dot({ color }: { readonly color: string }) {
  const colour = colourOf(color);
  return <span class="dot" style={colour === undefined ? {} : { '--dot': colour }} aria-hidden="true" />;
}

/** The colors to choose from. They are distinguishable from each other, in light and dark theme. */
export const palette = [
  { value: '', text: 'None' },
  { value: '#4f46e5', text: 'Indigo' },
  { value: '#0284c7', text: 'Sky' },
  { value: '#0d9488', text: 'Teal' },
  { value: '#16a34a', text: 'Green' },
  { value: '#ca8a04', text: 'Brass' },
  { value: '#ea580c', text: 'Orange' },
  { value: '#dc2626', text: 'Red' },
  { value: '#db2777', text: 'Pink' },
  { value: '#9333ea', text: 'Purple' },
  { value: '#64748b', text: 'Slate' },
] as const;
