const COLOUR = /^#?\w+$|^(rgb|hsl)a?\([^()]*\)$/i;

/**
 * A colour that somebody gave a record, or undefined when the text is none: it goes into a style, where any other text
 * could ask for more than a colour.
 */
export function colourOf(text: string): string | undefined {
  return COLOUR.test(text) && CSS.supports('color', text) ? text : undefined;
}

/** The colour of a record beside its name; it says nothing by itself. */
export function Dot({ color }: { readonly color: string }) {
  const colour = colourOf(color);
  return <span class="dot" style={colour === undefined ? {} : { '--dot': colour }} aria-hidden="true" />;
}

/** The colours that a record can be given here. Each can be told from the others, and from light and dark ground. */
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
