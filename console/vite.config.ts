import { fileURLToPath } from 'node:url';
import { defineConfig, type Plugin } from 'vite';

/**
 * Patch 1: the calendar library renders events as `<article role="button">`. ARIA forbids this role on an article,
 * so the patch replaces the element by a `<div>`.
 */
const ARTICLE_TEMPLATE = '<article><!></article>';

/**
 * Patch 2: when an event is resized, the calendar library reads the snap duration of the hour grid. The month view
 * has no hour grid, so the library throws there. The patch makes one day the default.
 */
const SNAP_DURATION_PATTERN = /(\w+=\w+\?\.duration);/g;
const ONE_DAY = '{years:0,months:0,days:1,seconds:0}';

/**
 * Converts the calendar library, a script that sets the global `EventCalendar`, into a module that can be imported
 * lazily. It also applies both patches.
 */
const calendarAsModule: Plugin = {
  name: 'calendar-as-module',
  transform(code, id) {
    if (!id.includes('@event-calendar/build/dist/event-calendar.min.js')) return;
    if (code.match(SNAP_DURATION_PATTERN)?.length !== 1 || !code.includes(ARTICLE_TEMPLATE)) {
      throw new Error(
        '@event-calendar has changed: the code to patch was not found. Check whether the patch is needed.',
      );
    }
    const patched = code.replace(SNAP_DURATION_PATTERN, `$1??${ONE_DAY};`).replace(ARTICLE_TEMPLATE, '<div><!></div>');
    return { code: `${patched}\nexport const { create, destroy } = EventCalendar;`, map: null };
  },
};

export default defineConfig({
  root: fileURLToPath(new URL('.', import.meta.url)),
  // Use relative URLs, because the console may be served below a path prefix.
  base: './',
  plugins: [calendarAsModule],
  optimizeDeps: { exclude: ['@event-calendar/build'] },
  build: {
    outDir: 'dist',
    // Vite must not empty the folder before the build: build.ts deletes stale files afterwards.
    emptyOutDir: false,
    target: 'es2023',
    modulePreload: { polyfill: false },
    // Do not inline assets as data: URLs: the Content-Security-Policy allows only files of the same origin.
    assetsInlineLimit: 0,
    reportCompressedSize: false,
  },
});
