import { fileURLToPath } from 'node:url';
import { defineConfig, type Plugin } from 'vite';

/** What an event is drawn as: an element that may not be a button, which it is as well. */
const ARTICLE = '<article><!></article>';

/** The calendar comes as a script that sets a global name; a module of it can be imported, and loaded when it is needed. */
const calendarAsModule: Plugin = {
  name: 'calendar-as-module',
  transform(code, id) {
    if (!id.includes('@event-calendar/build/dist/event-calendar.min.js')) return;
    if (!code.includes(ARTICLE)) throw new Error('The calendar draws its events in another way than it did.');
    return {
      code: `${code.replace(ARTICLE, ARTICLE.replaceAll('article', 'div'))}\nexport const { create, destroy } = EventCalendar;`,
      map: null,
    };
  },
};

const SERVICE = process.env.CARILLON_BASE_URL ?? 'http://127.0.0.1:8080';

export default defineConfig({
  root: fileURLToPath(new URL('.', import.meta.url)),
  // Addresses are relative, so that the console may stand below a path of its host.
  base: './',
  plugins: [calendarAsModule],
  build: {
    outDir: 'dist',
    emptyOutDir: true,
    target: 'es2023',
    modulePreload: { polyfill: false },
    // Nothing inlined: the page's policy allows files of its own and no data in scripts or styles.
    assetsInlineLimit: 0,
    reportCompressedSize: false,
  },
  server: { proxy: { '/console': SERVICE, '/v2': SERVICE } },
});
