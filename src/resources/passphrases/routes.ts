import { creation } from '../../http/body.ts';
import { answerSchema, present } from '../../http/field.ts';
import { recordSchema } from '../../http/paging.ts';
import { inTwo, type Route } from '../../http/route.ts';
import type { Passphrases } from '../../secrets.ts';
import { changePassphrase, preparePassphrase } from './actions.ts';
import { passphraseFields, passphraseSetFields } from './schema.ts';
import type { Tries } from './tries.ts';

export type PassphrasePorts = { readonly passphrases: Passphrases; readonly tries: Tries };

export function passphraseRoutes(ports: PassphrasePorts): readonly Route[] {
  const input = creation(passphraseFields);
  return [
    {
      method: 'PUT',
      path: '/passphrase',
      says: 'Sets another passphrase of your own, and ends your other sessions.',
      permission: undefined,
      parameters: {},
      body: input.schema,
      status: 200,
      answer: recordSchema(answerSchema(passphraseSetFields)),
      records: [],
      conditional: false,
      problems: ['too_many_tries'],
      holding: 'alone',
      ...inTwo({
        prepare: (caller, { body }, view, source) => preparePassphrase(view, caller, input.read(body), source, ports),
        run: async (write, caller, _input, found) => ({
          body: { data: present(passphraseSetFields, await changePassphrase(write, caller, found)) },
        }),
      }),
    },
  ];
}
