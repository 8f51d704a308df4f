/**
 * Browsers by what only they say of themselves; those that say they are another one as well come first. `also` has to be
 * in the text too.
 */
const browsers: readonly (readonly [name: string, says: RegExp, also?: string])[] = [
  ['Edge', /\bEdg(?:e|A|iOS)?\/(\d+)/],
  ['Opera', /\bOPR\/(\d+)/],
  ['Samsung Internet', /\bSamsungBrowser\/(\d+)/],
  ['Firefox', /\b(?:Firefox|FxiOS)\/(\d+)/],
  ['Chrome', /\b(?:Chrome|CriOS|HeadlessChrome)\/(\d+)/],
  ['Safari', /\bVersion\/(\d+)/, ' Safari/'],
];

const systems: readonly (readonly [name: string, says: RegExp])[] = [
  ['iPhone', /\biPhone\b/],
  ['iPad', /\biPad\b/],
  ['Android', /\bAndroid\b/],
  ['ChromeOS', /\bCrOS\b/],
  ['Windows', /\bWindows\b/],
  ['macOS', /\bMac OS X\b|\bMacintosh\b/],
  ['Linux', /\bLinux\b|\bX11\b/],
];

const LONGEST = 120;

/** A browser in words, by its `User-Agent`: `Firefox 145 on Windows`; what nobody knows as it says it, cut short. */
export function browserOf(userAgent: string): string {
  const browser = browsers.find(([, says, also = '']) => says.test(userAgent) && userAgent.includes(also));
  const system = systems.find(([, says]) => says.test(userAgent))?.[0];
  if (browser === undefined) return [...userAgent.replaceAll('\0', '')].slice(0, LONGEST).join('').trim();
  const [name, says] = browser;
  const [, version] = says.exec(userAgent) ?? [];
  return `${name} ${version}${system === undefined ? '' : ` on ${system}`}`;
}
