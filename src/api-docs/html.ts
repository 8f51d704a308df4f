/** The content of a page: a text, which is escaped, HTML, which is not escaped, or a list of contents. */
export type HtmlContent = string | number | Html | readonly HtmlContent[];

/** Trusted HTML, inserted without escaping. */
export class Html {
  readonly text: string;

  constructor(text: string) {
    this.text = text;
  }
}

/** A template tag for HTML: html`<b>${name}</b>`. Text values are escaped, for elements and quoted attributes. */
export function html(strings: TemplateStringsArray, ...values: readonly HtmlContent[]): Html {
  const parts = strings.map((string, index) => string + render(values[index] ?? ''));
  return new Html(parts.join(''));
}

function render(value: HtmlContent): string {
  if (value instanceof Html) return value.text;
  if (typeof value === 'string') return value.replace(/[&<>"']/g, (sign) => `&#${sign.charCodeAt(0)};`);
  return typeof value === 'number' ? String(value) : value.map(render).join('');
}
