import { execFileSync } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import type { Started } from '../demo/started.ts';
import type { startBrowser } from '../test/harness/chromium.ts';

type BrowserContext = Awaited<ReturnType<Awaited<ReturnType<typeof startBrowser>>['newContext']>>;

const PASSPHRASE = 'correct horse battery staple';
const main = fileURLToPath(new URL('../src/main.ts', import.meta.url));

/** Signs the owner of a service in, in a window of a browser, by a link that the command line makes. */
export async function signIn(
  context: BrowserContext,
  { baseUrl }: Pick<Started, 'baseUrl'>,
  { database, domain, key }: { readonly database: string; readonly domain: string; readonly key: string },
): Promise<void> {
  const user = await fetch(`${baseUrl}/v2/user`, { headers: { domain, key } });
  const { data } = (await user.json()) as { data: { email: string } };
  const invite = ['users', 'invite', '--database', database, '--domain', domain, '--email', data.email, '--json'];
  const { link } = JSON.parse(execFileSync(process.execPath, [main, ...invite], { encoding: 'utf8' }));
  const answer = await context.request.post(`${baseUrl}/console/welcome`, {
    headers: { origin: baseUrl, 'sec-fetch-site': 'same-origin' },
    data: { token: String(link).split('/').at(-1), passphrase: PASSPHRASE },
  });
  if (!answer.ok()) throw new Error(await answer.text());
}
