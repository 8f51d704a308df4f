/** Origins that allow more than one site, with the risk that is logged at start-up. */
const RISKY_ORIGINS = new Map([
  ['*', 'every web page may call the interface from every browser, with any key that it is given'],
  ['null', 'every web page can take on the origin null in a sandboxed frame, so it admits more than one application'],
]);

/** Validates a list of web origins; `null` (local files, desktop applications) and `*` (every page) are allowed. */
export function parseOrigins(origins: readonly string[]): { value: readonly string[] } | { fault: string } {
  const wrong = origins.find((origin) => !RISKY_ORIGINS.has(origin) && URL.parse(origin)?.origin !== origin);
  return wrong === undefined
    ? { value: origins }
    : { fault: `must list origins such as https://app.example.com, null or *; ${wrong} is none` };
}

export function riskyOrigins(
  origins: readonly string[],
): readonly { readonly origin: string; readonly risk: string }[] {
  return [...RISKY_ORIGINS].filter(([origin]) => origins.includes(origin)).map(([origin, risk]) => ({ origin, risk }));
}
