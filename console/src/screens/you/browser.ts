const BROWSERS = [
  [/\bEdg/, 'Edge'],
  [/\bOPR\//, 'Opera'],
  [/\bFirefox\//, 'Firefox'],
  [/\bChrome\/|\bHeadlessChrome\/|\bCriOS\//, 'Chrome'],
  [/\bSafari\//, 'Safari'],
] as const;

const SYSTEMS = [
  [/\bWindows\b/, 'Windows'],
  [/\bAndroid\b/, 'Android'],
  [/\biPhone\b|\biPad\b/, 'iOS'],
  [/\bMac OS X\b/, 'macOS'],
  [/\bCrOS\b/, 'ChromeOS'],
  [/\bLinux\b/, 'Linux'],
] as const;

/** A browser in words, by what it says of itself: `Firefox on Linux`; what is none is left as it is. */
export function browserOf(agent: string): string {
  const named = (names: readonly (readonly [RegExp, string])[]) => names.find(([sign]) => sign.test(agent))?.[1];
  const browser = named(BROWSERS);
  const system = named(SYSTEMS);
  if (browser === undefined) return agent === '' ? 'A browser that does not say which' : agent;
  return system === undefined ? browser : `${browser} on ${system}`;
}
