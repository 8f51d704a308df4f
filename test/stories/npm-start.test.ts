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

test('C20 npm start on SIGTERM leaves no process behind and releases the database', async (t) => {
  const path = join(temporaryFolder(t), 'carillon.db');
  const npm = spawn('npm', ['start'], {
    cwd: root,
    // A process group, so that remaining processes can be ended with the test.
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
  let output = '';
  npm.stdout.setEncoding('utf8').on('data', (text: string) => {
    output += text;
  });
  const exited = once(npm, 'exit');
  const ended = exited.then(() => 'ended');
  while (!/^console: .*\n/m.test(output))
    assert.notEqual(await Promise.race([once(npm.stdout, 'data'), ended]), 'ended');
  const baseUrl = /^console: (.*)\/#\/welcome\/[\w-]{43}$/m.exec(output)?.[1] ?? '';
  assert.equal((await fetch(`${baseUrl}/healthz`)).status, 200);

  npm.kill('SIGTERM');
  await exited;
  await assert.rejects(fetch(`${baseUrl}/healthz`), 'the port is closed');
  // The file lock is held while any process of the service lives.
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

/** Whether the process group had a member to signal. */
function signalled(pid: number, signal: 'SIGKILL' | 0): boolean {
  try {
    process.kill(-pid, signal);
    return true;
  } catch {
    return false;
  }
}
