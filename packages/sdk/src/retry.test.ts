import assert from 'node:assert/strict';
import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { test } from 'node:test';
import { stores } from '../../../test/kit/service/stores.ts';
import { apiKey, Carillon, CarillonError, etagOf, type ProblemCode } from './index.ts';
import { withRetries } from './retry.ts';
import type { ApiCall, ApiResponse } from './transport.ts';

/** Outcome of one attempt: status, code and `Retry-After` in seconds. */
type AttemptOutcome = readonly [status: number, code?: ProblemCode, retryAfterS?: number];

const OK: AttemptOutcome = [200];
const LOST: AttemptOutcome = [0, 'connection'];
const GATEWAY: AttemptOutcome = [502, 'unexpected_answer'];
const BUSY: AttemptOutcome = [503, 'overloaded'];

/** Returns a clock that only advances by waits, and randomness without jitter. */
function simulatedDeps() {
  const waits: number[] = [];
  let now = 0;
  let words = 0;
  const deps = {
    now: () => now,
    async pause(waitMs: number) {
      waits.push(waitMs);
      now += waitMs;
    },
    randomFraction: () => 0,
    createIdempotencyKey: () => `word-${++words}`,
  };
  return { deps, waits };
}

/**
 * Makes a call whose attempts have these outcomes; further attempts repeat the last one. Returns the sent calls and the
 * result.
 */
async function callWithOutcomes(
  call: Partial<ApiCall>,
  tries: readonly AttemptOutcome[],
  options: { storesResponses?: boolean } = {},
) {
  const sent: ApiCall[] = [];
  const { deps, waits } = simulatedDeps();
  const send = withRetries(
    async (one): Promise<ApiResponse> => {
      const [status, code, retryAfterS] = tries[sent.push(one) - 1] ?? tries.at(-1) ?? OK;
      if (code === undefined) return { status, headers: new Headers(), body: { data: {} } };
      throw new CarillonError({ code, status, message: `try ${sent.length}`, retryAfterS });
    },
    { retries: 2, timeoutMs: 30_000, storesResponses: true, ...options },
    deps,
  );
  const came = await send({ method: 'GET', path: ['events'], ...call }).then(
    ({ status }) => status,
    (error: unknown) => (error instanceof CarillonError ? error.code : error),
  );
  return { came, sent, waits, count: sent.length };
}

test('X4 transient failures are retried twice with exponential backoff; rejections are not', async () => {
  const passing: AttemptOutcome[] = [
    LOST,
    GATEWAY,
    BUSY,
    [504, 'unexpected_answer'],
    [408, 'request_timeout'],
    [429, 'unexpected_answer'],
  ];
  for (const failure of [...passing, [409, 'idempotency_in_progress'] as const]) {
    const { came, waits } = await callWithOutcomes({}, [failure, failure, OK]);
    assert.deepEqual([came, waits], [200, [500, 1_000]], String(failure));
    assert.deepEqual((await callWithOutcomes({}, [failure])).count, 3);
    assert.deepEqual((await callWithOutcomes({}, [failure])).came, failure[1]);
  }
  const final: AttemptOutcome[] = [
    [400, 'invalid_input'],
    [401, 'unauthorized'],
    [404, 'not_found'],
    [409, 'target_taken'],
    [410, 'cursor_gone'],
    [500, 'internal'],
    [301, 'unexpected_answer'],
    [0, 'timeout'],
  ];
  for (const failure of final) assert.equal((await callWithOutcomes({}, [failure])).count, 1, String(failure));
  assert.equal((await callWithOutcomes({ retries: 0 }, [LOST])).count, 1);
  assert.equal((await callWithOutcomes({ retries: 5 }, [LOST])).count, 6);
});

test('X4 all tries of a POST have the same generated key and body; the caller’s own key is kept', async () => {
  const input = { event_name: 'a' };
  const call = callWithOutcomes({ method: 'POST', body: input }, [LOST, BUSY, OK]);
  input.event_name = 'another';
  const { sent, came } = await call;
  assert.equal(came, 200);
  assert.deepEqual(
    sent.map(({ idempotencyKey, body }) => [idempotencyKey, body]),
    Array(3).fill(['word-1', { event_name: 'a' }]),
  );
  const own = await callWithOutcomes({ method: 'POST', idempotencyKey: 'mine' }, [OK]);
  assert.equal(own.sent[0]?.idempotencyKey, 'mine');
  for (const method of ['GET', 'PUT', 'DELETE'] as const) {
    assert.equal((await callWithOutcomes({ method }, [OK])).sent[0]?.idempotencyKey, undefined);
  }
  assert.equal((await callWithOutcomes({ method: 'POST', retries: 0 }, [OK])).sent[0]?.idempotencyKey, undefined);
});

test('X4 X5 a call that may have run is retried only if it is idempotent, one that has not run is always retried', async () => {
  const cases: [Partial<ApiCall>, AttemptOutcome, number, { storesResponses?: boolean }?][] = [
    [{ method: 'PUT' }, LOST, 3],
    [{ method: 'PUT', ifMatch: '"a"' }, LOST, 1],
    [{ method: 'PUT', ifMatch: '"a"' }, GATEWAY, 1],
    [{ method: 'PUT', ifMatch: '"a"' }, [503, 'timed_out'], 1],
    [{ method: 'PUT', ifMatch: '"a"' }, BUSY, 3],
    [{ method: 'PUT', ifMatch: '"a"' }, [429, 'unexpected_answer'], 3],
    [{ method: 'DELETE', ifMatch: '"a"' }, LOST, 1],
    [{ method: 'DELETE', ifMatch: '"a"' }, [503, 'storage_unavailable'], 3],
    // The console API stores no responses, regardless of the key that is sent.
    [{ method: 'POST', idempotencyKey: 'w' }, LOST, 1, { storesResponses: false }],
    [{ method: 'POST' }, BUSY, 3, { storesResponses: false }],
    [{ method: 'GET' }, LOST, 3, { storesResponses: false }],
  ];
  for (const [call, failure, count, options] of cases) {
    assert.equal((await callWithOutcomes(call, [failure], options)).count, count, JSON.stringify([call, failure]));
  }
});

test('C28 a deletion whose response was lost succeeds if its retry returns not_found; any other does not', async () => {
  const gone: AttemptOutcome = [404, 'not_found'];
  assert.equal((await callWithOutcomes({ method: 'DELETE' }, [LOST, gone])).came, 200);
  assert.equal((await callWithOutcomes({ method: 'DELETE' }, [BUSY, gone])).came, 'not_found');
  assert.equal((await callWithOutcomes({ method: 'DELETE' }, [gone])).came, 'not_found');
  assert.equal((await callWithOutcomes({ method: 'PUT' }, [LOST, gone])).came, 'not_found');
});

test('a retry waits for Retry-After; beyond a minute or the timeout the call rejects', async () => {
  const asking = (seconds: number): AttemptOutcome => [503, 'overloaded', seconds];
  assert.deepEqual((await callWithOutcomes({}, [asking(7), OK])).waits, [7_000]);
  assert.deepEqual((await callWithOutcomes({}, [asking(0), OK])).waits, [500]);
  assert.deepEqual((await callWithOutcomes({ timeoutMs: 0 }, [asking(60), OK])).waits, [60_000]);
  for (const [timeoutMs, seconds] of [
    [0, 61],
    [30_000, 30],
    [400, 0],
  ] as const) {
    const { came, count } = await callWithOutcomes({ timeoutMs }, [asking(seconds), OK]);
    assert.deepEqual([came, count], ['overloaded', 1]);
  }
  // The backoff stays at its maximum, regardless of the number of attempts.
  const many = await callWithOutcomes({ retries: 12, timeoutMs: 0 }, [LOST]);
  assert.deepEqual([many.count, many.waits.at(-1), Math.max(...many.waits)], [13, 60_000, 60_000]);
  const { sent } = await callWithOutcomes({ timeoutMs: 10_000 }, [asking(4), LOST, OK]);
  assert.deepEqual(
    sent.map(({ timeoutMs }) => timeoutMs),
    [10_000, 6_000, 5_000],
  );
});

test('an abort ends the wait with its reason, and no request follows', async (t) => {
  let asked = 0;
  const server = createServer((_, response) => {
    asked += 1;
    response.writeHead(503, { 'content-type': 'application/problem+json', 'retry-after': '20' });
    response.end(JSON.stringify({ code: 'overloaded', message: 'Later.' }), () =>
      setImmediate(() => leaving.abort(reason)),
    );
  });
  await once(server.listen(0, '127.0.0.1'), 'listening');
  t.after(() => server.close());
  const leaving = new AbortController();
  const reason = new Error('enough');
  const baseUrl = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  const carillon = new Carillon({ baseUrl, auth: apiKey({ domain: 'acme.test', key: 'k' }) });
  await assert.rejects(carillon.user.get({ signal: leaving.signal }), (error) => error === reason);
  assert.equal(asked, 1);
  const { came, count } = await callWithOutcomes({ signal: AbortSignal.abort(reason) }, [LOST]);
  assert.deepEqual([came, count], [reason, 1], 'whatever a fetch makes of its signal');
});

for (const { test, testService } of stores) {
  test('X4 C28 a POST and a DELETE whose responses are lost run once and return a result', async (t) => {
    const service = await testService(t);
    const owner = await service.createAccount('acme.test');
    const lines: string[] = [];
    const carillon = new Carillon({
      baseUrl: service.baseUrl,
      auth: apiKey(owner),
      async fetch(url, init) {
        const response = await fetch(url, init);
        lines.push(`${init.method} ${response.status} ${response.headers.get('idempotency-replayed')}`);
        if (lines.length % 2 === 0) return response;
        await response.body?.cancel();
        throw new TypeError('the line was cut');
      },
    });
    const created = await carillon.clients.create({ client_name: 'Once' });
    await carillon.clients.delete(created.client_id);
    assert.deepEqual(lines, ['POST 201 null', 'POST 201 true', 'DELETE 200 null', 'DELETE 404 null']);
    const lost = await carillon.keys.create({ label: 'ci' }).catch((error: unknown) => error);
    assert.ok(lost instanceof CarillonError && lost.code === 'secret_gone');
    const { data } = await owner.carillon.notifications.list();
    assert.deepEqual(
      data.map(({ kind }) => kind),
      ['new_client', 'deleted_client'],
    );
  });

  test('X5 a change with the ETag of the read record succeeds if nobody else changed it, and each() survives deletions', async (t) => {
    const service = await testService(t);
    const { carillon } = await service.createAccount('acme.test');
    const created = await carillon.clients.create({ client_name: 'One' });
    const { client_id } = created;
    const read = await carillon.clients.get(client_id);
    assert.equal(etagOf(read), etagOf(created));
    assert.equal(await carillon.clients.get(client_id, { known: read }), read);
    const changed = await carillon.clients.update(client_id, { city: 'Ulm' }, { ifMatch: etagOf(read) });
    await assert.rejects(carillon.clients.delete(client_id, { ifMatch: etagOf(read) }), {
      code: 'precondition_failed',
    });
    await carillon.clients.delete(client_id, { ifMatch: etagOf(changed) });

    for (const name of 'abcde') await carillon.clients.create({ client_name: name });
    const names: string[] = [];
    for await (const client of carillon.clients.each({ limit: 2 })) {
      names.push(client.client_name);
      await carillon.clients.delete(client.client_id);
    }
    assert.deepEqual(names, ['a', 'b', 'c', 'd', 'e']);
  });
}
