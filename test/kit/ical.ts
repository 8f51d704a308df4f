/** A second reader of iCalendar, which shares nothing with the one of the service; for tests outside of `test/`, too. */
export { default as ICAL } from 'ical.js';
