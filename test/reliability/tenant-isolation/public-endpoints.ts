import type { Answer, TestService } from '../../kit/service/service.ts';
import type { Tenant } from './fixture.ts';
import { hidden } from './response-diff.ts';

type CheckResult = { readonly description: string; readonly violation: string | undefined };

/** Public routes that read nothing of any account. */
const accountIndependent =
  /^(?:GET|HEAD|OPTIONS) (?:\/|\/\*|\/healthz|\/readyz|\/openapi\.json|\/docs|\/llms\.txt|\/metrics|\/bell\.svg|\/assets\/[\w.-]+|\/problems\/:code)$/;

const UNKNOWN = 'x'.repeat(43);

/** Public routes that take a secret: called with one of the tenant, and with an unknown one. */
type Probe = readonly [description: string, own: Answer, unknown: Answer];

const probes: Readonly<Record<string, (carillon: TestService, tenant: Tenant) => Promise<readonly Probe[]>>> = {
  'POST /console/session': async (carillon, { owner, emails: [email] }) => {
    const ask = (of: object) => post(carillon, '/console/session', { passphrase: 'a passphrase of nobody', ...of });
    const nobody = await ask({ domain: 'nowhere.test', email: 'nobody@nowhere.test' });
    return [['their domain and e-mail address', await ask({ domain: owner.domain, email }), nobody]];
  },
  'POST /console/invitation': (carillon, tenant) => withLink(carillon, tenant, '/console/invitation', {}),
  'POST /console/welcome': (carillon, tenant) =>
    withLink(carillon, tenant, '/console/welcome', { passphrase: 'a passphrase of nobody' }),
  'DELETE /console/session': async (carillon) => {
    const signOut = (token: string) =>
      carillon.call({ headers: { ...home, cookie: `carillon=${token}` } }, 'DELETE', '/console/session');
    return [['a cookie that is none', await signOut(UNKNOWN), await signOut('')]];
  },
  'GET /calendar/:file': (carillon, tenant) => withToken(carillon, tenant, 'GET'),
  'HEAD /calendar/:file': (carillon, tenant) => withToken(carillon, tenant, 'HEAD'),
};

const home = { 'sec-fetch-site': 'same-origin' };

const post = (carillon: TestService, path: string, body: object) =>
  carillon.call({ headers: home }, 'POST', path, body);

/** An invitation link that was replaced by a newer one. */
async function withLink(carillon: TestService, { owner }: Tenant, path: string, more: object): Promise<Probe[]> {
  const old = await carillon.link(owner);
  await carillon.link(owner);
  const ask = (token: string) => post(carillon, path, { token, ...more });
  return [['a link that was replaced', await ask(old.split('/').at(-1) ?? ''), await ask(UNKNOWN)]];
}

async function withToken(carillon: TestService, { calendars }: Tenant, method: string): Promise<Probe[]> {
  const ask = (path: string) => carillon.call(undefined, method, path);
  const unknown = await ask(`/calendar/${UNKNOWN}.ics`);
  return [['an address that was revoked', await ask(new URL(calendars.revoked).pathname), unknown]];
}

/** Tests every other mounted route; `untested` lists those without a test. */
export async function checkPublicRoutes(
  carillon: TestService,
  tenant: Tenant,
  mounted: readonly string[],
): Promise<{ results: CheckResult[]; untested: string[] }> {
  const results: CheckResult[] = [];
  const untested: string[] = [];
  for (const name of mounted.filter((one) => !accountIndependent.test(one))) {
    const ask = probes[name];
    if (ask === undefined) untested.push(name);
    for (const [description, own, unknown] of (await ask?.(carillon, tenant)) ?? [])
      results.push({ description: `${name}, ${description}:`, violation: hidden(own, unknown) });
  }
  return { results, untested };
}
