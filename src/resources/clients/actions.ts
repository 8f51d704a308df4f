import type { Caller } from '../../access.ts';
import { record } from '../../delivery/record.ts';
import type { Changed, Created, Shown } from '../../http/fields.ts';
import type { Page, Paging } from '../../http/paging.ts';
import type { Given } from '../../http/query.ts';
import { notFound } from '../../problems.ts';
import { AccountView, type AccountWrite } from '../../store/account.ts';
import { ascending, descending, number, type Order, text } from '../order.ts';
import { filtered } from '../pages.ts';
import { creatorFor } from '../people.ts';
import { type clientFields, clientFilters, type clientOrder, type clientOrders } from './schema.ts';

type ClientRow = Shown<typeof clientFields>;

/** What each order sorts by; the id makes it total (C7). */
const orders: Readonly<Record<(typeof clientOrders)[number] | 'id', Order>> = {
  id: ascending('id', number('clients.client_id')),
  clientname: ascending('clientname', text('fold(clients.client_name)'), number('clients.client_id')),
  latest: descending('latest', number('clients.date_created'), number('clients.client_id')),
};

const list = filtered('client', clientFilters, (view) => view.selectFrom('clients').selectAll('clients'));

const find = AccountView.prepared(
  (view, { id }: { id: number }) => view.selectFrom('clients').selectAll('clients').where('clients.client_id', '=', id),
  'together',
);

export async function listClients(
  view: AccountView,
  given: Given<typeof clientFilters & typeof clientOrder>,
  paging: Paging,
): Promise<Page<ClientRow>> {
  const { order = 'id', ...filters } = given;
  return list(view, filters, paging, orders[order]);
}

export async function getClient(view: AccountView, clientId: number): Promise<ClientRow> {
  const [row] = await find(view, { id: clientId });
  if (row === undefined) throw notFound();
  return row;
}

export async function createClient(
  write: AccountWrite,
  caller: Caller,
  input: Created<typeof clientFields>,
): Promise<ClientRow> {
  const user_id = await creatorFor(write, caller, input.user_id, caller.userId);
  const row = await write.insertRow('clients', { ...input, user_id, date_created: write.now, date_modified: null });
  record(write, [{ kind: 'new_client', recordId: row.client_id, userId: user_id }]);
  return row;
}

export async function changeClient(
  write: AccountWrite,
  caller: Caller,
  clientId: number,
  input: Changed<typeof clientFields>,
): Promise<ClientRow> {
  const before = await getClient(write, clientId);
  const user_id = await creatorFor(write, caller, input.user_id ?? 0, before.user_id);
  const row = await write
    .updateTable('clients')
    .set({ ...input, user_id, date_modified: write.now })
    .where('client_id', '=', clientId)
    .returningAll()
    .executeTakeFirstOrThrow();
  record(write, [{ kind: 'changed_client', recordId: clientId, userId: caller.userId }]);
  return row;
}

/** C34: its projects stay, with client "0". */
export async function deleteClient(write: AccountWrite, caller: Caller, clientId: number): Promise<void> {
  await getClient(write, clientId);
  const projects = await write
    .updateTable('projects')
    .set({ client_id: 0, date_modified: write.now })
    .where('client_id', '=', clientId)
    .returning('project_id')
    .execute();
  await write.deleteFrom('clients').where('client_id', '=', clientId).execute();
  record(write, [
    ...projects.map(({ project_id }) => ({
      kind: 'changed_project' as const,
      recordId: project_id,
      userId: caller.userId,
    })),
    { kind: 'deleted_client', recordId: clientId, userId: caller.userId },
  ]);
}
