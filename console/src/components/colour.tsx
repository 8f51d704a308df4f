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
