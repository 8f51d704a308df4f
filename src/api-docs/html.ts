/** Content of an HTML page: a text or number (escaped), trusted HTML (not escaped), or a list of such contents. */
export type HtmlContent = string | number | Html | readonly HtmlContent[];

/** Trusted HTML, inserted without escaping. */
export class Html {
  readonly text: string;

  constructor(text: string) {
    this.text = text;
  }
}

/** Template tag for HTML: html`<b>${name}</b>`. Escapes text values for use in elements and quoted attributes. */
export function html(strings: TemplateStringsArray, ...values: readonly HtmlContent[]): Html {
  const renderedParts = strings.map((string, index) => string + renderContent(values[index] ?? ''));
  return new Html(renderedParts.join(''));
}

function renderContent(value: HtmlContent): string {
  if (value instanceof Html) return value.text;
  if (typeof value === 'string') return value.replace(/[&<>"']/g, (character) => `&#${character.charCodeAt(0)};`);
  return typeof value === 'number' ? String(value) : value.map(renderContent).join('');
}
