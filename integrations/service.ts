import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { apiKey, Carillon } from '../packages/sdk/src/index.ts';
import { atEnd, type Cleanup } from '../test/kit/cleanup.ts';
import { startProcess } from '../test/kit/start-service.ts';

/** A real service in a process of its own, on a database of its own, and what a person who connects a platform has. */
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

/** A key of a member of the same account, who sees the same records and has hooks of their own. */
export async function memberKey({ carillon }: { readonly carillon: Carillon }): Promise<string> {
  const { user_id } = await carillon.users.create({ email: 'member@team.test', role: 'member' });
  const permissions = ['hooks:read', 'hooks:write', 'events:read', 'events:write', 'projects:read'] as const;
  return (await carillon.keys.create({ user_id, permissions, label: 'platform' })).key;
}
