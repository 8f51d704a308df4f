/** The zone of whoever sits there. */
export const ownZone = () => new Intl.DateTimeFormat().resolvedOptions().timeZone;
