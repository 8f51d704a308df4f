import assert from 'node:assert/strict';
import { readFileSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { startTarget } from '../../../test/kit/network/target.ts';
import { runCarillon } from '../../../test/kit/service/command.ts';
import { createTemporaryFolder } from '../../../test/kit/service/service.ts';
import { sqlite } from '../../../test/kit/service/stores.ts';

const { test } = sqlite;

test('login saves a key that the service accepts, readable only by its owner; flags override the environment, which overrides the file', async (t) => {
  const service = await sqlite.testService(t);
  const owner = await service.createAccount('acme.test');
  const member = await service.createUser(owner, 'member');
  const folder = createTemporaryFolder(t);
  const environment = { XDG_CONFIG_HOME: folder };
  const where = ['--service', `${service.baseUrl}/`, '--domain', 'Acme.Test'];
  const printed: string[] = [];
  const command = async (
    args: readonly string[],
    more: { input?: string; environment?: Record<string, string> } = {},
  ) => {
    const ended = await runCarillon(args, { ...more, environment: { ...environment, ...more.environment } });
    printed.push(ended.stdout, ...ended.stderrLines);
    return ended;
  };

  const nobody = await command(['whoami']);
  assert.deepEqual(nobody.stderrLines, [
    '--domain (or CARILLON_DOMAIN) and a key (CARILLON_KEY) must be given, or saved with carillon login.',
  ]);
  const refused = await command(['login', ...where], { input: 'carillon_wrong' });
  assert.match(refused.stderrLines.join(), /rejects this key for acme\.test \(401; from this login\)\.$/);
  assert.equal((await command(['logout'])).code, 1);

  assert.equal((await command(['login', ...where], { input: `${owner.key}\n` })).code, 0);
  const file = join(folder, 'carillon', 'profiles.json');
  assert.equal(statSync(file).mode & 0o777, 0o600);
  assert.equal(statSync(join(folder, 'carillon')).mode & 0o777, 0o700);
  const profile = { service: service.baseUrl, domain: 'acme.test', key: owner.key };
  assert.deepEqual(JSON.parse(readFileSync(file, 'utf8')), { default: profile });
  await command(['login', ...where, '--profile', 'other'], { environment: { CARILLON_KEY: member.key } });

  const who = async (args: readonly string[], more = {}) =>
    JSON.parse((await command(['whoami', '--json', ...args], { environment: more })).stdout);
  const [own, other, given, flagged] = await Promise.all([
    who([]),
    who(['--profile', 'other']),
    who([], { CARILLON_KEY: member.key }),
    who(['--key', owner.key], { CARILLON_KEY: member.key, CARILLON_PROFILE: 'other' }),
  ]);
  assert.deepEqual([own.user_id, own.role, own.key], [owner.userId, 'owner', 'from profile default']);
  assert.deepEqual([other.user_id, other.key], [member.userId, 'from profile other']);
  assert.deepEqual([given.user_id, given.key], [member.userId, 'from CARILLON_KEY']);
  assert.deepEqual([flagged.user_id, flagged.key], [owner.userId, 'from --key']);

  // A saved key is sent only to the service that it was saved for.
  const stranger = await startTarget(t);
  const elsewhere = await command(['whoami', '--service', stranger.url]);
  assert.match(
    elsewhere.stderrLines.join(),
    /^The saved key is for acme\.test at http:\/\/127\.0\.0\.1:\d+ and is not sent elsewhere/,
  );
  assert.equal(stranger.received.length, 0);
  const strange = await command(['whoami', '--service', stranger.url], { environment: { CARILLON_KEY: 'a-test' } });
  assert.match(strange.stderrLines.join(), /does not answer like Carillon\./);

  assert.equal((await command(['logout', '--profile', 'other'])).stdout, 'deleted: other\n');
  assert.match(
    (await command(['whoami', '--profile', 'other'])).stderrLines.join(),
    /^There is no profile other; carillon login/,
  );
  assert.deepEqual(JSON.parse(readFileSync(file, 'utf8')), { default: profile });

  // The error message must not quote invalid contents, which may be a key.
  writeFileSync(file, owner.key);
  const broken = `${file} was not written by carillon login, or is damaged: correct or delete it, and log in again.`;
  assert.deepEqual((await command(['whoami'])).stderrLines, [broken]);
  const tooFar = await command(['whoami', '--service', `${service.baseUrl}/v2/`]);
  assert.deepEqual(tooFar.stderrLines, ['--service must be the address without /v2, such as http://127.0.0.1:8080.']);
  const encrypted = ['--service', service.baseUrl.replace('http:', 'https:'), '--domain', 'acme.test'];
  const { stderrLines } = await command(['login', ...encrypted], { input: owner.key });
  assert.match(stderrLines.join('\n'), /^https:\S+ does not answer: .* Is it running\? Is --service right\?$/);
  for (const secret of [owner.key, member.key]) assert.ok(!printed.join('\n').includes(secret));
});
