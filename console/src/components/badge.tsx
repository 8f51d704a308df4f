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
export function Waiting({ lines = 4 }: { readonly lines?: number }) {
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
