import { fileURLToPath } from 'node:url';
import { defineConfig, type Plugin } from 'vite';

/**
 * Patch 1: the calendar renders events as `<article role="button">`, which ARIA forbids. A `<div>` may be a
 * button.
 */
const ARTICLE = '<article><!></article>';

/**
 * Patch 2: resizing reads the snap duration of the hour grid, undefined in the month view, and throws. Use one
 * day.
 */
const SNAP_DURATION = /(\w+=\w+\?\.duration);/g;
const ONE_DAY = '{years:0,months:0,days:1,seconds:0}';

/**
 * Turns the calendar's script, which sets a global, into a module that can be imported lazily; applies the
 * patches.
 */
const calendarAsModule: Plugin = {
  name: 'calendar-as-module',
  transform(code, id) {
    if (!id.includes('@event-calendar/build/dist/event-calendar.min.js')) return;
    if (code.match(SNAP_DURATION)?.length !== 1 || !code.includes(ARTICLE)) {
      throw new Error(
        '@event-calendar has changed: the code to patch was not found. Check whether the patch is needed.',
      );
    }
    const patched = code.replace(SNAP_DURATION, `$1??${ONE_DAY};`).replace(ARTICLE, '<div><!></div>');
    return { code: `${patched}\nexport const { create, destroy } = EventCalendar;`, map: null };
  },
};

const SERVICE = process.env.CARILLON_BASE_URL ?? 'http://127.0.0.1:8080';

export default defineConfig({
  root: fileURLToPath(new URL('.', import.meta.url)),
  // Relative URLs: the console may be served below a path prefix.
  base: './',
  plugins: [calendarAsModule],
  optimizeDeps: { exclude: ['@event-calendar/build'] },
  build: {
    outDir: 'dist',
    // build.ts deletes stale files after the build.
    emptyOutDir: false,
    target: 'es2023',
    modulePreload: { polyfill: false },
    // Inline nothing: the Content-Security-Policy allows only same-origin files, no data: URLs.
    assetsInlineLimit: 0,
    reportCompressedSize: false,
  },
  server: { proxy: { '/console': SERVICE, '/v2': SERVICE } },
});
