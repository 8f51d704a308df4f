import { list, type Route, remove } from '../../http/routes/route.ts';
import { endSession, listSessions } from './actions.ts';
import { sessionFields, sessionParameters } from './schema.ts';

export const sessionRoutes: readonly Route[] = [
  list({
    path: '/sessions',
    description: 'Lists your sessions, or for admins those of another user.',
    permission: undefined,
    parameters: sessionParameters,
    fields: sessionFields,
    call: listSessions,
  }),
  remove({
    path: '/sessions/{session_id}',
    description: 'Ends a session: your own, or for admins that of another user.',
    permission: undefined,
    records: [],
    call: (write, caller, ids) => endSession(write, caller, ids.session_id),
  }),
];
