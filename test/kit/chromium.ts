import { existsSync, mkdirSync, renameSync, rmSync } from 'node:fs';
import { createRequire } from 'node:module';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { type Browser, chromium } from 'playwright-core';

/** Common paths of Chromium. TEST_BROWSER names another one. */
const COMMON_PATHS = [
  '/usr/bin/chromium',
  '/usr/bin/chromium-browser',
  '/usr/bin/google-chrome',
  '/Applications/Google Chrome.app/Contents/MacOS/Google Chrome',
  'C:\\Program Files\\Google\\Chrome\\Application\\chrome.exe',
];

const require = createRequire(import.meta.url);

type Unpacked = { readonly executablePath: string; readonly libraries: string };

/** The Chromium of the npm package, unpacked once per machine. Linux only; other systems use an installed browser. */
async function unpacked(): Promise<Unpacked> {
  const module = require.resolve('@sparticuz/chromium');
  const { version } = require(join(dirname(module), '../package.json')) as { version: string };
  const folder = join(tmpdir(), `carillon-chromium-${version}`);
  if (!existsSync(folder)) await unpack(module, folder);
  return { executablePath: join(folder, 'chromium'), libraries: join(folder, 'al2023/lib') };
}

/** Unpacks into a temporary folder and renames it, so that other processes never see a partial one. */
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
    // Another process renamed its folder first.
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
  // Tests also run as root in containers. All pages are from this repository.
  '--no-sandbox',
];

/** Starts the installed Chromium, or the one of the npm package. */
export async function startBrowser(): Promise<Browser> {
  const executablePath = process.env.TEST_BROWSER ?? COMMON_PATHS.find((path) => existsSync(path));
  if (executablePath !== undefined) return chromium.launch({ executablePath, args: ARGUMENTS });
  const { executablePath: unpackedPath, libraries } = await unpacked();
  try {
    return await chromium.launch({ executablePath: unpackedPath, args: ARGUMENTS });
  } catch (error) {
    // A minimal system lacks shared libraries that the browser links to. The package contains them.
    if (!String(error).includes('shared libraries')) throw error;
    const env = { ...process.env, LD_LIBRARY_PATH: libraries };
    return chromium.launch({ executablePath: unpackedPath, args: ARGUMENTS, env });
  }
}
