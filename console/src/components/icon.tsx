/** SVG paths of the icons, drawn as strokes on a 16 × 16 grid. */
const iconPaths = {
  activity: 'M1.5 8.5h3l2-6 3.2 11 2-5h2.8',
  archive: 'M2 4h12v2.5H2zM3 6.5V13h10V6.5M6.5 9h3',
  bell: 'M8 1.8c-2.6 0-4.2 1.9-4.2 4.4v2.5L2.6 11c-.2.4 0 .8.5.8h9.8c.5 0 .7-.4.5-.8l-1.2-2.3V6.2C12.2 3.7 10.6 1.8 8 1.8ZM6.5 14a1.6 1.6 0 0 0 3 0',
  calendar: 'M2.5 3.5h11v10h-11zM2.5 6.5h11M5.5 2v3M10.5 2v3',
  check: 'M3 8.5 6.5 12 13 4.5',
  chevron: 'm6 3.5 4.5 4.5L6 12.5',
  clock: 'M8 14A6 6 0 1 0 8 2a6 6 0 0 0 0 12ZM8 4.8V8l2.2 1.6',
  code: 'm5 4.5-3.5 3.5L5 11.5M11 4.5l3.5 3.5L11 11.5M9.3 2.8 6.7 13.2',
  copy: 'M5.5 5.5h8v8h-8zM3 10.5h-.5v-8h8V3',
  cross: 'm4 4 8 8M12 4l-8 8',
  eye: 'M1.5 8s2.3-4.500 6.500-4.500S14.500 8 14.500 8 12.200 12.500 8 12.500 1.500 8 1.500 8ZM8 10a2 2 0 1 0 0-4 2 2 0 0 0 0 4Z',
  folder: 'M1.8 4v8.5h12.4v-7H8L6.5 3.5H1.8Z',
  gauge: 'M2.2 12.5a6.5 6.5 0 1 1 11.6 0M8 9.5l2.8-3.2',
  key: 'M10.5 9A3.5 3.5 0 1 0 7.2 6.7L2 11.9V14h2.4v-1.6H6v-1.6h1.6l1-1',
  menu: 'M2 4.5h12M2 8h12M2 11.5h12',
  moon: 'M13.5 9.5A6 6 0 0 1 6.5 2.5a6 6 0 1 0 7 7Z',
  more: 'M3.5 8h.01M8 8h.01M12.5 8h.01',
  pause: 'M5.5 3v10M10.5 3v10',
  pencil: 'M11 2.5 13.5 5 6 12.5l-3.2.7.7-3.2L11 2.5Z',
  people:
    'M6 7.5a2.5 2.5 0 1 0 0-5 2.5 2.5 0 0 0 0 5ZM1.5 13.5c0-2.5 2-4 4.5-4s4.5 1.5 4.5 4M10.5 2.8a2.5 2.5 0 0 1 0 4.4M12 9.8c1.5.5 2.5 1.800 2.500 3.700',
  play: 'M5 3v10l8-5Z',
  plus: 'M8 3v10M3 8h10',
  repeat: 'M3 7V6a2 2 0 0 1 2-2h7.500M10.500 2l2 2-2 2M13 9v1a2 2 0 0 1-2 2H3.500M5.500 14l-2-2 2-2',
  search: 'M7 12A5 5 0 1 0 7 2a5 5 0 0 0 0 10ZM14 14l-3.400-3.400',
  send: 'M14 2 7.300 8.700M14 2 9.800 14l-2.500-5.300L2 6.200 14 2Z',
  signOut: 'M6 2.500H3v11h3M10.500 11l3-3-3-3M13.500 8H6',
  sun: 'M8 11a3 3 0 1 0 0-6 3 3 0 0 0 0 6ZM8 1v1.500M8 13.500V15M1 8h1.500M13.500 8H15M3 3l1 1M12 12l1 1M13 3l-1 1M4 12l-1 1',
  task: 'M2.500 2.500h11v11h-11zM5 8.200l2.200 2.200L11 6',
  trash: 'M2.500 4.500h11M6 4.500v-2h4v2M4 4.500l.6 9h6.800l.6-9M6.700 7v4M9.300 7v4',
  undo: 'M5.500 3 2.500 6l3 3M2.500 6h7a4 4 0 0 1 0 8H6',
  user: 'M8 8a3 3 0 1 0 0-6 3 3 0 0 0 0 6ZM2.500 14c0-3 2.500-4.500 5.500-4.500s5.500 1.500 5.500 4.500',
  warning: 'M8 2 1.500 13.500h13L8 2ZM8 6.500v3.500M8 12h.01',
} as const;

export type IconName = keyof typeof iconPaths;

/** A decorative icon, hidden from screen readers. */
export function Icon({ name }: { readonly name: IconName }) {
  return (
    <svg class="icon" viewBox="0 0 16 16" aria-hidden="true">
      <path d={iconPaths[name]} />
    </svg>
  );
}
