import { create, list, type Route, remove } from '../../http/route.ts';
import type { Chance } from '../../secrets.ts';
import { listInvitations, makeInvitation, withdrawInvitation } from './actions.ts';
import { invitationFields, invitationFilters, invitationInputFields, issuedInvitationFields } from './schema.ts';

export type InvitationPorts = { readonly chance: Chance; readonly baseUrl: () => string };

export function invitationRoutes(ports: InvitationPorts): readonly Route[] {
  return [
    list({
      path: '/invitations',
      says: 'The links by which users can still set a passphrase; for admins.',
      permission: 'users:write',
      parameters: invitationFilters,
      fields: invitationFields,
      call: (view, _caller, given, paging) => listInvitations(view, given, paging),
    }),
    create({
      path: '/invitations',
      says: 'Makes a link by which a user sets a passphrase, once; for admins. It replaces earlier ones.',
      permission: 'users:write',
      fields: issuedInvitationFields,
      takes: invitationInputFields,
      records: [],
      holding: 'alone',
      at: { collection: '/invitations', key: 'id' },
      call: (write, caller, input) => makeInvitation(write, caller, input, ports),
    }),
    remove({
      path: '/invitations/{invitation_id}',
      says: 'Takes a link back; for admins.',
      permission: 'users:write',
      records: [],
      call: (write, caller, ids) => withdrawInvitation(write, caller, ids.invitation_id),
    }),
  ];
}
