import assert from 'node:assert/strict';
import { runCarillon, runCarillonJson } from '../../../test/kit/service/command.ts';
import type { Json } from '../../../test/kit/service/service.ts';
import { everyStore } from '../../../test/kit/service/stores.ts';

for (const { test, database } of everyStore) {
  test('audit lists entries, including those of the command line, by account, action or time, or all', async (t) => {
    const environment = { CARILLON_DATABASE: await database(t) };
    const command = (...args: string[]): Promise<Json> => runCarillonJson(args, { environment });
    const owner = ['--domain', 'acme.test', '--email', 'owner@acme.test'];
    const { key } = await command('accounts', 'create', ...owner);
    await command('users', 'create', '--domain', 'acme.test', '--email', 'member@acme.test');
    const { id } = await command('keys', 'create', ...owner, '--permissions', 'events:read', '--expires', '30d');
    await command('keys', 'revoke', '--domain', 'acme.test', '--id', id);
    await command('accounts', 'create', '--domain', 'other.test', '--email', 'owner@other.test');

    const listed = await command('audit', '--domain', 'acme.test');
    assert.deepEqual(
      listed.map(({ action, subject, source }: Json) => [action, subject, source]),
      [
        ['account.created', 'account acme.test'],
        ['user.created', 'user 1'],
        ['key.issued', 'key 1'],
        ['user.created', 'user 2'],
        ['key.issued', `key ${id}`],
        ['key.revoked', `key ${id}`],
      ].map((row) => [...row, 'command line']),
    );
    const [issued, ...more] = (await command('audit', '--domain', 'acme.test', '--action', 'key.issued')).slice(1);
    assert.deepEqual(more, []);
    assert.deepEqual(Object.keys(issued), [
      'id',
      'date',
      'domain',
      'action',
      'subject',
      'user_id',
      'email',
      'key_id',
      'source',
      'detail',
    ]);
    assert.deepEqual([issued.domain, issued.user_id, issued.email], ['acme.test', '0', '']);
    assert.equal(issued.detail.permissions, 'events:read');
    assert.match(issued.detail.expires, /^20\d\d-/);
    assert.equal((await command('audit')).length, 9);
    assert.deepEqual(await command('audit', '--since', '0s'), []);
    assert.equal((await command('audit', '--since', '1h')).length, 9);
    assert.ok(!JSON.stringify(await command('audit')).includes(key));

    const spoken = await runCarillon(['audit', '--domain', 'acme.test', '--action', 'key.revoked'], { environment });
    assert.match(
      spoken.stdout,
      new RegExp(`^20\\S+ \\S+\tacme\\.test\tkey\\.revoked\tkey ${id}\t\tcommand line\t{}\n$`),
    );
    const mistakes: [string[], RegExp][] = [
      [['--domain', 'nowhere.test'], /^There is no account with the domain nowhere\.test\.$/],
      [['--since', 'soon'], /^--since must be a duration such as 7d or 12h; soon is not one\.$/],
      [['--action', 'toString'], /^--action must be one of account\.created, .*; toString is not one\.$/],
    ];
    for (const [args, line] of mistakes) {
      const { code, stderrLines } = await runCarillon(['audit', ...args], { environment });
      assert.deepEqual([code, stderrLines.length], [1, 1]);
      assert.match(stderrLines[0] ?? '', line);
    }
  });
}
