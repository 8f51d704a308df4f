import { existsSync, mkdirSync, renameSync, rmSync } from 'node:fs';
import { createRequire } from 'node:module';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { type Browser, chromium } from 'playwright-core';

/** Where a Chromium usually is; TEST_BROWSER names another. */
const USUAL = [
  '/usr/bin/chromium',
  '/usr/bin/chromium-browser',
  '/usr/bin/google-chrome',
  '/Applications/Google Chrome.app/Contents/MacOS/Google Chrome',
  'C:\\Program Files\\Google\\Chrome\\Application\\chrome.exe',
];

const require = createRequire(import.meta.url);

type Unpacked = { readonly executablePath: string; readonly libraries: string };

/** The Chromium that npm brings, unpacked once on a machine; only on Linux. Others find the browser of the machine. */
async function unpacked(): Promise<Unpacked> {
  const module = require.resolve('@sparticuz/chromium');
  const { version } = require(join(dirname(module), '../package.json')) as { version: string };
  const folder = join(tmpdir(), `carillon-chromium-${version}`);
  if (!existsSync(folder)) await unpack(module, folder);
  return { executablePath: join(folder, 'chromium'), libraries: join(folder, 'al2023/lib') };
}

/** Beside its place first, so that nobody finds half of it. */
async function unpack(module: string, folder: string): Promise<void> {
  const own = `${folder}.${process.pid}`;
  mkdirSync(own, { recursive: true });
  const { TMPDIR } = process.env;
  process.env.TMPDIR = own;
  try {
    const { default: packed, inflate } = await import('@sparticuz/chromium');
    await packed.executablePath();
    await inflate(join(dirname(module), '../bin/al2023.tar.br'));
  } finally {
    if (TMPDIR === undefined) delete process.env.TMPDIR;
    else process.env.TMPDIR = TMPDIR;
  }
  try {
    renameSync(own, folder);
  } catch (error) {
    // Another process was first.
    if (!existsSync(folder)) throw error;
    rmSync(own, { recursive: true, force: true });
  }
}

const ARGUMENTS = [
  '--disable-background-networking',
  '--disable-component-update',
  '--disable-gpu',
  '--disable-quic',
  '--disable-sync',
  '--font-render-hinting=none',
  '--no-first-run',
  // Tests run as root in containers, too; every page they open is of this repository.
  '--no-sandbox',
];

/** A real Chromium: the machine's own, else the one out of npm. */
export async function startBrowser(): Promise<Browser> {
  const named = process.env.TEST_BROWSER ?? USUAL.find((path) => existsSync(path));
  if (named !== undefined) return chromium.launch({ executablePath: named, args: ARGUMENTS });
  const { executablePath, libraries } = await unpacked();
  try {
    return await chromium.launch({ executablePath, args: ARGUMENTS });
  } catch (error) {
    // A bare machine lacks some of what a browser is linked to; the package brings that along.
    if (!String(error).includes('shared libraries')) throw error;
    const env = { ...process.env, LD_LIBRARY_PATH: libraries };
    return chromium.launch({ executablePath, args: ARGUMENTS, env });
  }
}
