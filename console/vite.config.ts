import { fileURLToPath } from 'node:url';
import { defineConfig, type Plugin } from 'vite';

/** What an event is drawn as: an element that may not be a button, which it is as well. */
const ARTICLE = '<article><!></article>';

/** Where the calendar takes the step of its hours, which its months do not have: they would fail when an end is dragged. */
const STEP = /(\w+=\w+\?\.duration);/g;
const ONE_DAY = '{years:0,months:0,days:1,seconds:0}';

/** The calendar comes as a script that sets a global name; a module of it can be imported, and loaded when it is needed. */
const calendarAsModule: Plugin = {
  name: 'calendar-as-module',
  transform(code, id) {
    if (!id.includes('@event-calendar/build/dist/event-calendar.min.js')) return;
    if (code.match(STEP)?.length !== 1 || !code.includes(ARTICLE)) {
      throw new Error('Another version of the calendar: what is mended in it stands elsewhere, or is mended already.');
    }
    const mended = code.replace(STEP, `$1??${ONE_DAY};`).replace(ARTICLE, '<div><!></div>');
    return { code: `${mended}\nexport const { create, destroy } = EventCalendar;`, map: null };
  },
};

const SERVICE = process.env.CARILLON_BASE_URL ?? 'http://127.0.0.1:8080';

export default defineConfig({
  root: fileURLToPath(new URL('.', import.meta.url)),
  // Addresses are relative, so that the console may stand below a path of its host.
  base: './',
  plugins: [calendarAsModule],
  optimizeDeps: { exclude: ['@event-calendar/build'] },
  build: {
    outDir: 'dist',
    // What is left over is taken away when all is built.
    emptyOutDir: false,
    target: 'es2023',
    modulePreload: { polyfill: false },
    // Nothing inlined: the page's policy allows files of its own and no data in scripts or styles.
    assetsInlineLimit: 0,
    reportCompressedSize: false,
  },
  server: { proxy: { '/console': SERVICE, '/v2': SERVICE } },
});
