/**
 * Browsers by a pattern with their version. Browsers whose User-Agent also contains the name of another one come before
 * that one. `also` must be in the text as well.
 */
const browsers: readonly (readonly [name: string, pattern: RegExp, also?: string])[] = [
  ['Edge', /\bEdg(?:e|A|iOS)?\/(\d+)/],
  ['Opera', /\bOPR\/(\d+)/],
  ['Samsung Internet', /\bSamsungBrowser\/(\d+)/],
  ['Firefox', /\b(?:Firefox|FxiOS)\/(\d+)/],
  ['Chrome', /\b(?:Chrome|CriOS|HeadlessChrome)\/(\d+)/],
  ['Safari', /\bVersion\/(\d+)/, ' Safari/'],
];

const systems: readonly (readonly [name: string, pattern: RegExp])[] = [
  ['iPhone', /\biPhone\b/],
  ['iPad', /\biPad\b/],
  ['Android', /\bAndroid\b/],
  ['ChromeOS', /\bCrOS\b/],
  ['Windows', /\bWindows\b/],
  ['macOS', /\bMac OS X\b|\bMacintosh\b/],
  ['Linux', /\bLinux\b|\bX11\b/],
];

const MAX_LENGTH = 120;

/** A readable name from a `User-Agent`, such as `Firefox 145 on Windows`; an unknown one is returned as it is, truncated. */
export function browserOf(userAgent: string): string {
  const browser = browsers.find(([, pattern, also = '']) => pattern.test(userAgent) && userAgent.includes(also));
  const system = systems.find(([, pattern]) => pattern.test(userAgent))?.[0];
  if (browser === undefined) return [...userAgent.replaceAll('\0', '')].slice(0, MAX_LENGTH).join('').trim();
  const [name, pattern] = browser;
  const [, version] = pattern.exec(userAgent) ?? [];
  return `${name} ${version}${system === undefined ? '' : ` on ${system}`}`;
}
