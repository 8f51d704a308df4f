import assert from 'node:assert/strict';
import { after } from 'node:test';
import type { Insertable } from 'kysely';
import type { ApiUser } from '../../../test/kit/service/service.ts';
import { stores } from '../../../test/kit/service/stores.ts';
import type { Tables } from '../../store/tables.ts';

for (const { test, testService } of stores) {
  const carillon = await testService({ after });
  const owner = await carillon.createAccount('acme.test');
  const lists = ['events', 'clients', 'projects', 'tasks', 'subtasks', 'users', 'keys', 'hooks', 'deliveries'];

  /** Inserts rows 1 to `count` of an account directly into the database. */
  async function seed<T extends 'events' | 'clients'>(
    table: T,
    { domain, userId }: ApiUser,
    count: number,
    row: (number: number) => Omit<Insertable<Tables[T]>, 'account_id' | 'user_id' | 'date_created' | 'date_modified'>,
  ): Promise<void> {
    await carillon.store.write(async ({ queries }) => {
      const account = await queries
        .selectFrom('accounts')
        .select('account_id')
        .where('domain', '=', domain)
        .executeTakeFirstOrThrow();
      for (let number = 1; number <= count; number += 1) {
        const stamps = { date_created: number, date_modified: null, user_id: Number(userId) };
        await queries
          .insertInto(table)
          .values({ ...account, ...row(number), ...stamps } as never)
          .execute();
      }
    });
  }

  /** Inserts events that start on only three different days, so that many sort keys are equal. */
  const seedEvents = (who: ApiUser, count: number) =>
    seed('events', who, count, (number) => {
      const day = `2027-01-0${1 + (number % 3)} 00:00:00`;
      return { event_name: `e${number}`, start_date: day, due_date: day, project_id: 0 };
    });

  /** Inserts clients, many of whose names differ only in case. */
  const seedClients = (who: ApiUser, count: number) => {
    const texts = ['email', 'tel', 'fax', 'mobile', 'website', 'address', 'city', 'state', 'postcode', 'country'];
    const others = Object.fromEntries([...texts, 'notes', 'background'].map((column) => [column, '']));
    const names = ['Äon', 'beta', 'Beta', 'gamma', 'äon'];
    return seed(
      'clients',
      who,
      count,
      (number) => ({ ...others, client_name: names[number % names.length], active: 1 }) as never,
    );
  };

  /** The URL of the next page in the `Link` header; undefined if there is none. */
  function nextUrlIn(headers: Headers): string | undefined {
    const link = headers.get('link');
    if (link === null) return undefined;
    const match = /^<([^>]+)>; rel="next"$/.exec(link);
    assert.ok(match?.[1] !== undefined, link);
    return match[1];
  }

  /** Follows `Link` from a URL to the end and returns the records of each page. */
  async function followLinks(who: ApiUser, path: string): Promise<unknown[][]> {
    const pages: unknown[][] = [];
    let next: string | undefined = `${carillon.baseUrl}${path}`;
    while (next !== undefined) {
      assert.ok(next.startsWith(`${carillon.baseUrl}/v2/`), next);
      const { status, json, headers } = await carillon.call(who, 'GET', next.slice(carillon.baseUrl.length));
      assert.equal(status, 200);
      pages.push(json.data);
      next = nextUrlIn(headers);
      assert.ok(pages.length < 100, 'it ends');
    }
    return pages;
  }

  for (const resourceType of lists) {
    test(`C7 an empty list of ${resourceType} is 200, with integers in paging`, async () => {
      const empty = await carillon.createAccount(`empty-${resourceType}.test`);
      const { status, json, headers } = await carillon.call(empty, 'GET', `/v2/${resourceType}?offset=10`);
      assert.equal(status, 200);
      const total_records = ['users', 'keys'].includes(resourceType) ? 1 : 0;
      assert.deepEqual(json, { paging: { offset: 10, limit: 1000, total_records }, data: [] });
      assert.equal(nextUrlIn(headers), undefined);
    });

    test(`C7 an invalid limit or offset is rejected by name in ${resourceType}`, async () => {
      const wrongs = ['-1', 'abc', '1.5', '', '1e3', '0x10', '%201', '1%20', '+1', '%00', 'Infinity', 'NaN'];
      for (const [name, wrong] of [
        ...wrongs.flatMap((one) => [
          ['limit', one],
          ['offset', one],
        ]),
        ['limit', '0'],
      ]) {
        const { status, json } = await carillon.call(owner, 'GET', `/v2/${resourceType}?${name}=${wrong}`);
        assert.equal(status, 400, `${name}=${wrong}`);
        assert.deepEqual(
          json.errors.map((error: { field: string }) => error.field),
          [name],
        );
      }
    });

    test(`C7 a limit above 1000 is treated as 1000 in ${resourceType}, also in paging`, async () => {
      for (const limit of ['1000', '1001', '5000', '99999999999999999999999']) {
        const { status, json } = await carillon.call(owner, 'GET', `/v2/${resourceType}?limit=${limit}`);
        assert.deepEqual([status, json.paging.limit], [200, 1000], limit);
      }
      const { json } = await carillon.call(owner, 'GET', `/v2/${resourceType}?limit=999&offset=3`);
      assert.deepEqual([json.paging.limit, json.paging.offset], [999, 3]);
    });
  }

  test('C7 no page has more than 1000 records, with or without a limit; Link leads to the rest', async () => {
    const many = await carillon.createAccount('many.test');
    await seedEvents(many, 1_002);
    for (const query of ['', '?limit=1000', '?limit=1001', '?limit=100000']) {
      const pages = await followLinks(many, `/v2/events${query}`);
      assert.deepEqual(
        pages.map((page) => page.length),
        [1_000, 2],
        query,
      );
    }
  });

  test('C7 following Link to the end returns every record once, in the order of the list', async () => {
    const many = await carillon.createAccount('follow.test');
    await seedEvents(many, 25);
    const { json } = await carillon.call(many, 'GET', '/v2/events');
    const order = json.data.map((event: { start_date: string; event_id: string }) => [
      event.start_date,
      +event.event_id,
    ]);
    const sorted = [...order].sort(([a, x], [b, y]) => (a < b ? -1 : a > b ? 1 : x - y));
    assert.deepEqual(order, sorted, 'by start_date, then by event_id as a number');
    for (const limit of [1, 3, 5, 24, 25, 26]) {
      const pages = await followLinks(many, `/v2/events?limit=${limit}`);
      assert.deepEqual(pages.flat(), json.data, `limit ${limit}`);
      assert.equal(pages.length, Math.ceil(25 / limit));
    }
    assert.deepEqual((await followLinks(many, '/v2/events?limit=4&offset=7')).flat(), json.data.slice(7));
  });

  test('C7 a page in the middle is the same by offset and by Link, in any order and with a filter', async () => {
    const many = await carillon.createAccount('far.test');
    const count = 2_103;
    await seedEvents(many, count);
    await seedClients(many, count);
    for (const list of [
      'events?',
      'events?start_to=20270102',
      'clients?',
      'clients?order=clientname',
      'clients?order=latest',
    ]) {
      const whole = (await followLinks(many, `/v2/${list}`)).flat();
      assert.equal(whole.length, list.includes('start_to') ? count - 701 : count, list);
      for (const offset of [1_000, 1_001, 1_051, 1_052, 1_390, whole.length - 3, whole.length - 1].filter(
        (one) => one < whole.length,
      )) {
        const { status, json } = await carillon.call(many, 'GET', `/v2/${list}&limit=3&offset=${offset}`);
        assert.equal(status, 200);
        assert.deepEqual(json.paging, { offset, limit: 3, total_records: whole.length });
        assert.deepEqual(json.data, whole.slice(offset, offset + 3), `${list}, from ${offset} on`);
      }
      const rest = await followLinks(many, `/v2/${list}&limit=400&offset=${whole.length - 900}`);
      assert.deepEqual(rest.flat(), whole.slice(-900), `${list}, the last 900`);
    }
  });

  test('C7 Link continues right after the last record of its page, even if records before it are added or removed', async () => {
    const many = await carillon.createAccount('shifting.test');
    const { clients, projects, tasks } = many.carillon;
    const names = ['d', 'B', 'f', 'a"', 'C', 'é', 'A'];
    const ids: Record<string, number[]> = { clients: [], projects: [], tasks: [] };
    for (const name of names) {
      const { project_id } = await projects.create({ project_name: name, progress: ids.projects?.length ?? 0 });
      ids.projects?.push(Number(project_id));
      ids.clients?.push(Number((await clients.create({ client_name: name })).client_id));
      ids.tasks?.push(Number((await tasks.create(project_id, { task_name: name })).task_id));
    }
    const orders = {
      clients: ['', 'clientname', 'latest'],
      projects: ['', 'projectname', 'duedate', 'progress', 'latest'],
      tasks: ['', 'taskname', 'duedate', 'progress', 'latest'],
    };
    for (const [resourceType, words] of Object.entries(orders)) {
      for (const order of words) {
        const list = `/v2/${resourceType}?limit=2${order === '' ? '' : `&order=${order}`}`;
        const whole = (await followLinks(many, list.replace('limit=2', 'limit=1000'))).flat();
        assert.equal(whole.length, names.length);
        const { json, headers } = await carillon.call(many, 'GET', list);
        assert.deepEqual(json.data, whole.slice(0, 2), list);
        // Records before the page are removed or added: with the offset alone, records would be missed or repeated.
        for (const shift of [-2, 10]) {
          const next = new URL(nextUrlIn(headers) ?? '');
          next.searchParams.set('offset', String(2 + shift));
          const rest = await followLinks(many, next.href.slice(carillon.baseUrl.length));
          assert.deepEqual(rest.flat(), whole.slice(2), `${list}, shifted by ${shift}`);
        }
      }
    }
    const gone = await carillon.call(many, 'GET', '/v2/clients?limit=3');
    for (const { client_id } of gone.json.data) await clients.delete(client_id);
    const rest = await followLinks(many, (nextUrlIn(gone.headers) ?? '').slice(carillon.baseUrl.length));
    assert.deepEqual(
      rest.flat().map((client) => Number((client as { client_id: string }).client_id)),
      ids.clients?.slice(3),
    );
  });

  test('C7 an invalid cursor, or one of another order, is rejected by name', async () => {
    const many = await carillon.createAccount('places.test');
    for (const client_name of ['a', 'b']) await many.carillon.clients.create({ client_name });
    const { headers } = await carillon.call(many, 'GET', '/v2/clients?limit=1&order=latest');
    const place = new URL(nextUrlIn(headers) ?? '').searchParams.get('after') ?? '';
    const as = (...values: unknown[]) => Buffer.from(JSON.stringify(values)).toString('base64url');
    const wrongs = [
      '',
      'x',
      as(),
      as('latest'),
      as('latest', 1),
      as('latest', '1', 2),
      as('latest', 1, 2, 3),
      as('latest', 1.5, 2),
    ];
    for (const query of [
      ...wrongs.map((wrong) => `order=latest&after=${wrong}`),
      `after=${place}`,
      `order=clientname&after=${place}`,
    ]) {
      const { status, json } = await carillon.call(many, 'GET', `/v2/clients?${query}`);
      assert.equal(status, 400, query);
      assert.deepEqual(
        json.errors.map(({ field }: { field: string }) => field),
        ['after'],
        query,
      );
    }
    assert.equal((await carillon.call(many, 'GET', `/v2/clients?order=latest&after=${place}`)).status, 200);
  });

  test('C7 Link keeps the filters of the list in any encoding', async () => {
    const many = await carillon.createAccount('filters.test');
    for (const client_name of ['a?b&c=d #1', 'a?b&c=d #2', 'a?b&c=d #3', 'apple']) {
      await many.carillon.clients.create({ client_name });
    }
    for (const filter of ['client_name=a?b%26c%3Dd+%23', 'client_name=A%3FB&unknown=1&unknown=2', 'client_name=%23']) {
      const pages = await followLinks(many, `/v2/clients?${filter}&limit=1`);
      assert.equal(pages.flat().length, 3, filter);
      assert.equal(new Set(pages.flat().map((client) => JSON.stringify(client))).size, 3);
    }
  });

  test('C7 an offset beyond the end is an empty page with the total', async () => {
    const many = await carillon.createAccount('beyond.test');
    await seedEvents(many, 3);
    for (const offset of [3, 4, 1_000_000, Number.MAX_SAFE_INTEGER]) {
      const { status, json, headers } = await carillon.call(many, 'GET', `/v2/events?offset=${offset}`);
      assert.equal(status, 200);
      assert.deepEqual(json, { paging: { offset, limit: 1000, total_records: 3 }, data: [] });
      assert.equal(nextUrlIn(headers), undefined);
    }
  });
}
