/** What may stand in a page: text, which is escaped; HTML, which is not; and any number of either. */
export type Content = string | number | Html | readonly Content[];

/** Text that is HTML already. */
export class Html {
  readonly text: string;

  constructor(text: string) {
    this.text = text;
  }
}

/** HTML with values in it: html`<b>${name}</b>`. What is text in it stays text, in elements and in quoted attributes. */
export function html(strings: TemplateStringsArray, ...values: readonly Content[]): Html {
  const parts = strings.map((string, index) => string + shown(values[index] ?? ''));
  return new Html(parts.join(''));
}

function shown(value: Content): string {
  if (value instanceof Html) return value.text;
  if (typeof value === 'string') return value.replace(/[&<>"']/g, (sign) => `&#${sign.charCodeAt(0)};`);
  return typeof value === 'number' ? String(value) : value.map(shown).join('');
}
