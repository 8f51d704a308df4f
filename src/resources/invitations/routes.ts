import { creation } from '../../http/body.ts';
import { answerSchema, present } from '../../http/fields.ts';
import { recordSchema } from '../../http/paging.ts';
import { list, type Route, remove } from '../../http/route.ts';
import type { Chance } from '../../secrets.ts';
import { listInvitations, makeInvitation, withdrawInvitation } from './actions.ts';
import { invitationFields, invitationFilters, invitationInputFields, issuedInvitationFields } from './schema.ts';

export type InvitationPorts = { readonly chance: Chance; readonly baseUrl: () => string };

export function invitationRoutes(ports: InvitationPorts): readonly Route[] {
  const input = creation(invitationInputFields);
  return [
    list({
      path: '/invitations',
      says: 'The links by which users can still set a passphrase; for admins.',
      permission: 'users:write',
      parameters: invitationFilters,
      fields: invitationFields,
      call: (view, _caller, given, paging) => listInvitations(view, given, paging),
    }),
    {
      method: 'POST',
      path: '/invitations',
      says: 'Makes a link by which a user sets a passphrase, once; for admins. It replaces earlier ones.',
      permission: 'users:write',
      parameters: {},
      body: input.schema,
      status: 201,
      answer: recordSchema(answerSchema(issuedInvitationFields)),
      records: [],
      conditional: false,
      problems: [],
      mode: 'write',
      holding: 'alone',
      async run(write, caller, { body }) {
        const made = await makeInvitation(write, caller, input.read(body), ports);
        return { body: { data: present(issuedInvitationFields, made) }, created: `/invitations/${made.id}` };
      },
    },
    remove({
      path: '/invitations/{invitation_id}',
      says: 'Takes a link back; for admins.',
      permission: 'users:write',
      records: [],
      call: (write, caller, ids) => withdrawInvitation(write, caller, ids.invitation_id),
    }),
  ];
}
