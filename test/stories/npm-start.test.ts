import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { openStore } from '../../src/store/open.ts';
import { openingOf } from '../kit/database.ts';
import { inherited } from '../kit/environment.ts';
import { temporaryFolder } from '../kit/service.ts';

const root = fileURLToPath(new URL('../..', import.meta.url));

test('C20 npm start that is told to stop leaves nothing running behind it, and the database to the next', async (t) => {
  const path = join(temporaryFolder(t), 'carillon.db');
  const npm = spawn('npm', ['start'], {
    cwd: root,
    // A group of its own, so that whatever is left of it can be ended with the test.
    detached: true,
    env: {
      ...inherited,
      CARILLON_DATABASE: `sqlite:${path}`,
      CARILLON_PORT: '0',
      npm_config_update_notifier: 'false',
    },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  t.after(() => endGroup(npm.pid));
  let said = '';
  npm.stdout.setEncoding('utf8').on('data', (text: string) => {
    said += text;
  });
  const exited = once(npm, 'exit');
  const ended = exited.then(() => 'ended');
  while (!/^console: .*\n/m.test(said)) assert.notEqual(await Promise.race([once(npm.stdout, 'data'), ended]), 'ended');
  const baseUrl = /^console: (.*)\/#\/welcome\/[\w-]{43}$/m.exec(said)?.[1] ?? '';
  assert.equal((await fetch(`${baseUrl}/healthz`)).status, 200);

  npm.kill('SIGTERM');
  await exited;
  await assert.rejects(fetch(`${baseUrl}/healthz`), 'nobody listens any more');
  // Held for as long as a process of a service lives.
  const next = await openStore(openingOf(`sqlite:${path}`));
  assert.equal((await next.read.selectFrom('accounts').selectAll().execute()).length, 1);
  await next.close();
  assert.equal(isGroupAlive(npm.pid), false);
});

function isGroupAlive(pid: number | undefined): boolean {
  return pid !== undefined && signalled(pid, 0);
}

function endGroup(pid: number | undefined): void {
  if (pid !== undefined) signalled(pid, 'SIGKILL');
}

/** Whether there was anybody in the group to be signalled. */
function signalled(pid: number, signal: 'SIGKILL' | 0): boolean {
  try {
    process.kill(-pid, signal);
    return true;
  } catch {
    return false;
  }
}
