import assert from 'node:assert/strict';
import { connect } from 'node:net';
import type { TestContext } from 'node:test';
import { patience } from '../../src/http/server/resource-limits.ts';
import { requestText } from '../kit/conversation.ts';
import { eventually } from '../kit/eventually.ts';
import { stores } from '../kit/stores.ts';
import { type doors, mountedBy, type Operation, sorted } from '../reliability/tenant-isolation/operations.ts';

/** Paths of no route, and methods of no route. */
const UNKNOWN = ['POST /nothing', 'PUT /v2/nothing', 'POST /console/nothing', 'POST /', 'POST /healthz', 'PATCH /v2/x'];

/** Timeouts that make the service wait for a missing body until the end of the test. */
const LONG_TIMEOUTS = { ...patience, drainMs: 0, bodyGraceMs: 600_000, visitorBodyMs: 600_000, dropMs: 600_000 };

type Headers = Readonly<Record<string, string>>;
type TestRequest = { readonly name: string; readonly headers: Headers; readonly needsBody: boolean };

for (const { test, testService } of stores) {
  test('C4 a body that is announced and never sent occupies no slot on any route, and every response that needs no body arrives', async (t) => {
    const { started: carillon, mounted } = await mountedBy(() =>
      // With a single slot, a request that occupies it is noticed.
      testService(t, { options: { maxRequests: '1' }, ports: { timeouts: LONG_TIMEOUTS } }),
    );
    const owner = await carillon.account('acme.test');
    const signedIn = await carillon.signIn(owner);
    const credentials: Readonly<Record<string, Headers>> = {
      '/v2': owner.headers,
      '/console/api': { ...signedIn.headers, origin: carillon.baseUrl },
    } satisfies Record<keyof typeof doors, Headers>;
    const { operations, others } = sorted(mounted);
    const requests: TestRequest[] = [];
    for (const operation of operations) {
      const name = nameOf(operation);
      const isRead = ['GET', 'HEAD'].includes(operation.method);
      requests.push({ name, headers: {}, needsBody: false });
      requests.push({ name, headers: credentials[operation.door] ?? {}, needsBody: !isRead });
    }
    for (const name of [...others, ...UNKNOWN]) {
      const needsBody = /^(POST|DELETE) \/console\/(?!nothing)/.test(name);
      requests.push({ name, headers: { origin: carillon.baseUrl }, needsBody });
    }
    assert.ok(requests.length > 300, `${requests.length} requests`);

    const waiting = requests.filter(({ needsBody }) => needsBody).map((one) => send(t, carillon.baseUrl, one));
    for (const one of requests.filter(({ needsBody }) => !needsBody)) {
      const request = send(t, carillon.baseUrl, one);
      const status = await eventually(request.status, (status) => status !== undefined);
      assert.notEqual(status, 503, one.name);
    }
    assert.equal((await carillon.call(owner, 'POST', '/v2/clients', { client_name: 'ACME' })).status, 201);
    const early = waiting.filter(({ status }) => status() !== undefined).map(({ name, status }) => [name, status()]);
    assert.deepEqual(early, []);
    // The request with its body continues without waiting for the others.
    const [first] = waiting;
    first?.socket.write('{"a":"b"}');
    await eventually(
      () => first?.status(),
      (status) => status !== undefined && status < 500,
    );
  });
}

/** The request line of an operation, with never-issued ids in its path. */
function nameOf({ door, method, row }: Operation): string {
  return `${method} ${door}${row.path.replace(/\{\w+\}/g, '9007199254740991')}`;
}

function send(t: TestContext, baseUrl: string, { name, headers }: TestRequest) {
  const { hostname, port } = new URL(baseUrl);
  const socket = connect(Number(port), hostname).setEncoding('latin1');
  t.after(() => socket.destroy());
  let text = '';
  socket.on('data', (some: string) => {
    text += some;
  });
  const lines = Object.entries(headers).map(([header, value]) => `${header}: ${value}`);
  const first = `${name.replace(/[:*]\w*/g, 'x')} HTTP/1.1`;
  socket.write(requestText([first, 'host: x', ...lines, 'content-length: 9']));
  const status = () => {
    const [, found] = /^HTTP\/1\.1 (\d{3}) /.exec(text) ?? [];
    return found === undefined ? undefined : Number(found);
  };
  return { name, socket, status };
}
