/** IANA time zone of the browser. */
export const ownZone = () => new Intl.DateTimeFormat().resolvedOptions().timeZone;
