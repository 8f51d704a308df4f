/** Packages of the test tools, exported again for tests outside `test/`, where they cannot be resolved. */
export { default as fc } from 'fast-check';
/** An independent iCalendar parser, to check the files that the service writes. */
export { default as ICAL } from 'ical.js';
