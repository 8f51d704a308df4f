import { create, get, list, type Route, remove, update } from '../../http/routes/route.ts';
import type { Random } from '../../secrets.ts';
import { getKey, issueKey, listKeys, narrowKey, revokeKey } from './actions.ts';
import { issuedKeyFields, keyChangeFields, keyFields, keyFilters, keyInputFields } from './schema.ts';

export function keyRoutes({ random }: { random: Random }): readonly Route[] {
  return [
    list({
      path: '/keys',
      description: 'Lists API keys: your own, or for admins those of every user.',
      permission: 'keys:read',
      parameters: keyFilters,
      fields: keyFields,
      call: listKeys,
    }),
    create({
      path: '/keys',
      description: 'Issues an API key with at most the permissions of your own. It is returned only once.',
      permission: 'keys:write',
      fields: issuedKeyFields,
      takes: keyInputFields,
      records: [],
      at: { collection: '/keys', key: 'id' },
      call: (write, caller, input) => issueKey(write, caller, input, random),
    }),
    get({
      path: '/keys/{key_id}',
      description: 'Returns an API key, without its secret.',
      permission: 'keys:read',
      fields: keyFields,
      call: (view, caller, ids) => getKey(view, caller, ids.key_id),
    }),
    update({
      path: '/keys/{key_id}',
      description: 'Renames an API key or removes permissions, effective immediately. Permissions cannot be added.',
      permission: 'keys:write',
      fields: keyFields,
      takes: keyChangeFields,
      records: [],
      call: (write, caller, input, ids) => narrowKey(write, caller, ids.key_id, input),
    }),
    remove({
      path: '/keys/{key_id}',
      description: 'Revokes an API key. Hooks are not affected.',
      permission: 'keys:write',
      records: [],
      call: (write, caller, ids) => revokeKey(write, caller, ids.key_id),
    }),
  ];
}
