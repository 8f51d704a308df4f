import { create, list, one, type Route, remove, update } from '../../http/route.ts';
import { changeUser, createUser, deleteUser, getUser, listUsers } from './actions.ts';
import { userFields } from './schema.ts';

export const userRoutes: readonly Route[] = [
  one({
    path: '/user',
    says: 'Who is calling.',
    permission: undefined,
    fields: userFields,
    call: (view, caller) => getUser(view, caller.userId),
  }),
  list({
    path: '/users',
    says: 'The users of the account.',
    permission: 'users:read',
    parameters: {},
    fields: userFields,
    call: (view, _caller, _given, paging) => listUsers(view, paging),
  }),
  create({
    path: '/users',
    says: 'Adds a user; for admins.',
    permission: 'users:write',
    fields: userFields,
    records: ['new_user'],
    problems: ['email_taken'],
    at: { collection: '/users', key: 'user_id' },
    call: createUser,
  }),
  one({
    path: '/users/{user_id}',
    says: 'One user.',
    permission: 'users:read',
    fields: userFields,
    call: (view, _caller, ids) => getUser(view, ids.user_id),
  }),
  update({
    path: '/users/{user_id}',
    says: 'Changes what is given of a user; for admins.',
    permission: 'users:write',
    fields: userFields,
    records: ['changed_user'],
    problems: ['email_taken', 'last_owner'],
    call: (write, caller, input, ids) => changeUser(write, caller, ids.user_id, input),
  }),
  remove({
    path: '/users/{user_id}',
    says: 'Deletes a user; for admins. The keys are revoked, the hooks end, the records stay.',
    permission: 'users:write',
    records: ['deleted_user'],
    problems: ['last_owner'],
    call: (write, caller, ids) => deleteUser(write, caller, ids.user_id),
  }),
];
