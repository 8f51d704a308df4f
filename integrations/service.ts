import { randomUUID } from 'node:crypto';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { apiKey, Carillon } from '../packages/sdk/src/index.ts';
import { atEnd, type Cleanup } from '../test/kit/cleanup.ts';
import { startProcess } from '../test/kit/service/service-process.ts';

/** Starts a service in a process of its own with a new database; returns the credentials that a platform needs. */
export async function startService(context: Cleanup, options: Readonly<Record<string, string>> = {}) {
  const folder = mkdtempSync(join(tmpdir(), 'carillon-platform-'));
  atEnd(context, () => rmSync(folder, { recursive: true, force: true }));
  const database = `sqlite:${join(folder, 'carillon.db')}`;
  const started = await startProcess({ CARILLON_DATABASE: database, CARILLON_PORT: '0', ...options });
  atEnd(context, () => started.stop('SIGKILL'));
  const { baseUrl, domain = '', key = '' } = started;
  const carillon = new Carillon({ baseUrl, auth: apiKey({ domain, key }) });
  return { baseUrl, domain, key, carillon };
}

/** Creates a member and returns a key for them. The member sees the same records, but has separate hooks. */
export async function createMemberKey({ carillon }: { readonly carillon: Carillon }): Promise<string> {
  const { user_id } = await carillon.users.create({ email: `${randomUUID()}@team.test`, role: 'member' });
  const permissions = ['hooks:read', 'hooks:write', 'events:read', 'events:write', 'projects:read'] as const;
  return (await carillon.keys.create({ user_id, permissions, label: 'platform' })).key;
}
