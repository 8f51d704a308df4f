import type { ComponentChildren } from 'preact';

/** The meaning of a badge, a note or a step of a timeline. Each meaning has a color. */
export type Tone = 'plain' | 'good' | 'warn' | 'bad' | 'info';

export function Badge({ tone = 'plain', children }: { readonly tone?: Tone; readonly children: ComponentChildren }) {
  return <span class={`badge ${tone}`}>{children}</span>;
}

/** Inline message box; screen readers announce the tone `bad` as an alert. */
export function Note({ tone = 'info', children }: { readonly tone?: Tone; readonly children: ComponentChildren }) {
  return (
    <div class={`note ${tone}`} role={tone === 'bad' ? 'alert' : undefined}>
      <div class="grow">{children}</div>
    </div>
  );
}

/** Progress bar from 0 to 100 percent; indeterminate when `percent` is undefined. */
export function ProgressBar({ percent, label }: { readonly percent?: number; readonly label: string }) {
  const isIndeterminate = percent === undefined;
  return (
    <div
      class={`progress ${isIndeterminate ? 'busy' : ''} ${percent === 100 ? 'done' : ''}`}
      role="progressbar"
      aria-label={label}
      aria-valuenow={percent}
      aria-valuemin={0}
      aria-valuemax={100}
    >
      <span style={isIndeterminate ? {} : { transform: `scaleX(${percent / 100})` }} />
    </div>
  );
}

/** Placeholder that is shown while content is loading. */
export function LoadingSkeleton({ lineCount = 4 }: { readonly lineCount?: number }) {
  return (
    <div class="stack" role="status" aria-label="Loading">
      {Array.from({ length: lineCount }, (_, lineIndex) => (
        <div key={lineIndex} class="waiting" style={{ width: `${90 - ((lineIndex * 17) % 40)}%` }} />
      ))}
    </div>
  );
}

/** Avatar that shows the initials of a name. Screen readers skip it, because the name is displayed next to it. */
export function InitialsAvatar({ name }: { readonly name: string }) {
  const initials = name.split(/\s+/).map((word) => [...word][0] ?? '');
  return (
    <span class="initials" aria-hidden="true">
      {(initials[0] ?? '') + (initials.length > 1 ? (initials.at(-1) ?? '') : '')}
    </span>
  );
}

const SAFE_COLOR_PATTERN = /^#?\w+$|^(rgb|hsl)a?\([^()]*\)$/i;

/**
 * Returns the text if it is a valid CSS color, otherwise undefined. API clients can store any text as the color of a
 * record, and unchecked text in a style attribute would allow CSS injection.
 */
export function sanitizeColor(text: string): string | undefined {
  return SAFE_COLOR_PATTERN.test(text) && CSS.supports('color', text) ? text : undefined;
}

/** Decorative color dot next to the name of a record. */
export function ColorDot({ color }: { readonly color: string }) {
  const safeColor = sanitizeColor(color);
  return <span class="dot" style={safeColor === undefined ? {} : { '--dot': safeColor }} aria-hidden="true" />;
}

/** The colors that a user can choose. They are distinguishable from each other in the light and the dark theme. */
export const colorOptions = [
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
