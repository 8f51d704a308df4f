/** An independent iCalendar parser, to check the files that the service writes. Exported for tests outside `test/`. */
export { default as ICAL } from 'ical.js';
