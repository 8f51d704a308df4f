import { create, list, one, type Route, remove, update } from '../../http/route.ts';
import { changeClient, createClient, deleteClient, getClient, listClients } from './actions.ts';
import { clientFields, clientFilters, clientOrder } from './schema.ts';

export const clientRoutes: readonly Route[] = [
  list({
    path: '/clients',
    says: 'Clients.',
    permission: 'clients:read',
    parameters: { ...clientFilters, ...clientOrder },
    fields: clientFields,
    call: (view, _caller, given, paging) => listClients(view, given, paging),
  }),
  create({
    path: '/clients',
    says: 'Adds a client.',
    permission: 'clients:write',
    fields: clientFields,
    records: ['new_client'],
    at: { collection: '/clients', key: 'client_id' },
    call: createClient,
  }),
  one({
    path: '/clients/{client_id}',
    says: 'One client.',
    permission: 'clients:read',
    fields: clientFields,
    call: (view, _caller, ids) => getClient(view, ids.client_id),
  }),
  update({
    path: '/clients/{client_id}',
    says: 'Changes what is given of a client.',
    permission: 'clients:write',
    fields: clientFields,
    records: ['changed_client'],
    call: (write, caller, input, ids) => changeClient(write, caller, ids.client_id, input),
  }),
  remove({
    path: '/clients/{client_id}',
    says: 'Deletes a client; its projects stay, with client "0".',
    permission: 'clients:write',
    records: ['changed_project', 'deleted_client'],
    call: (write, caller, ids) => deleteClient(write, caller, ids.client_id),
  }),
];
