/** Origins that allow more than one site, with the risk that is logged at start-up. */
const RISKS_BY_ORIGIN = new Map([
  ['*', 'every web page may call the interface from every browser, with any key that it is given'],
  ['null', 'every web page can take on the origin null in a sandboxed frame, so it admits more than one application'],
]);

/** Validates a list of web origins; `null` (local files, desktop applications) and `*` (every page) are allowed. */
export function parseOrigins(origins: readonly string[]): { value: readonly string[] } | { fault: string } {
  const invalidOrigin = origins.find((origin) => !RISKS_BY_ORIGIN.has(origin) && URL.parse(origin)?.origin !== origin);
  return invalidOrigin === undefined
    ? { value: origins }
    : { fault: `must list origins such as https://app.example.com, null or *; ${invalidOrigin} is none` };
}

export function findRiskyOrigins(
  origins: readonly string[],
): readonly { readonly origin: string; readonly risk: string }[] {
  return [...RISKS_BY_ORIGIN]
    .filter(([origin]) => origins.includes(origin))
    .map(([origin, risk]) => ({ origin, risk }));
}
