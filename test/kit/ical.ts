/** An independent iCalendar parser, to check the output of our own. Exported for tests outside `test/`. */
export { default as ICAL } from 'ical.js';
