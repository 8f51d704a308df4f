import { create, type Route, remove } from '../../http/route.ts';
import type { Chance } from '../../secrets.ts';
import { createSecret, deleteSecrets } from './actions.ts';
import { secretFields, secretInputFields } from './schema.ts';

/** X8. */
export function secretRoutes({ chance }: { chance: Chance }): readonly Route[] {
  return [
    create({
      path: '/hooks/{hook_id}/secret',
      says: 'Signs the notifications of a hook from now on, or gives it a new secret; the answer shows it this once.',
      permission: 'hooks:write',
      fields: secretFields,
      takes: secretInputFields,
      records: [],
      holding: 'alone',
      problems: ['hook_ended'],
      at: { collection: '/hooks', key: 'hook_id' },
      call: (write, caller, input, ids) => createSecret(write, caller, ids.hook_id, input, chance),
    }),
    remove({
      path: '/hooks/{hook_id}/secret',
      says: 'Signs the notifications of a hook no more. After the answer no attempt begins that is signed.',
      permission: 'hooks:write',
      records: [],
      problems: ['hook_ended'],
      call: (write, caller, ids) => deleteSecrets(write, caller, ids.hook_id),
    }),
  ];
}
