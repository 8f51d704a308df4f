import { creation } from '../../http/body.ts';
import { answerSchema, present } from '../../http/fields.ts';
import { recordSchema } from '../../http/paging.ts';
import { type Route, remove } from '../../http/route.ts';
import type { Chance } from '../../secrets.ts';
import { createSecret, deleteSecrets } from './actions.ts';
import { secretFields, secretInputFields } from './schema.ts';

/** X8. */
export function secretRoutes({ chance }: { chance: Chance }): readonly Route[] {
  const input = creation(secretInputFields);
  return [
    {
      method: 'POST',
      path: '/hooks/{hook_id}/secret',
      says: 'Signs the notifications of a hook from now on, or gives it a new secret; the answer shows it this once.',
      permission: 'hooks:write',
      parameters: {},
      body: input.schema,
      status: 201,
      answer: recordSchema(answerSchema(secretFields)),
      records: [],
      conditional: false,
      problems: ['hook_ended'],
      mode: 'write',
      holding: 'alone',
      async run(write, caller, { ids, body }) {
        const { hook_id = 0 } = ids;
        const created = await createSecret(write, caller, hook_id, input.read(body), chance);
        return { body: { data: present(secretFields, created) }, created: `/hooks/${hook_id}` };
      },
    },
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
