const ID = /^(0|[1-9]\d{0,15})$/;

/** Parses an id, a string of digits or a number, below 2^53 (C5); undefined for anything else. */
export function parseId(value: unknown): number | undefined {
  if (typeof value === 'number') return Number.isSafeInteger(value) && value >= 0 ? value : undefined;
  if (typeof value !== 'string' || !ID.test(value)) return undefined;
  const id = Number(value);
  return Number.isSafeInteger(id) ? id : undefined;
}
