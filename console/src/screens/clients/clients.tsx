import { useEffect, useState } from 'preact/hooks';
import type { Client, ClientFilters } from '../../../../src/sdk/clients.ts';
import { faultIn } from '../../changes.ts';
import { client } from '../../client.ts';
import { AddLine } from '../../design/add-line.tsx';
import { Button } from '../../design/button.tsx';
import { Select, TextField } from '../../design/field.tsx';
import { Menu } from '../../design/menu.tsx';
import { Empty, Page } from '../../design/page.tsx';
import { Pager } from '../../design/pager.tsx';
import { Note, Waiting } from '../../design/state.tsx';
import { FactField } from '../../plan/facts.tsx';
import { PAGE_SIZE, pageOffset, useRecords } from '../../plan/records.ts';
import { go, place, setQuery, to } from '../../router.ts';
import type { ScreenProps } from '../../screens.ts';
import { ClientPage } from './client.tsx';
import { useDeleteClient } from './deleting.tsx';
import { clientFacts, clients } from './facts.tsx';
import '../../plan/plan.css';

const orders = [
  { value: '', text: 'By name' },
  { value: 'latest', text: 'Newest first' },
] as const;

type Order = (typeof orders)[number]['value'];

/** How long somebody pauses before what they wrote is searched for. */
const PAUSE_MS = 150;

/** What the address asks for. */
function filtersHere(): ClientFilters {
  const { query } = place.value;
  const part = query.get('name') ?? '';
  return {
    ...(part !== '' && { client_name: part }),
    order: query.get('order') === 'latest' ? 'latest' : 'clientname',
    limit: PAGE_SIZE,
    offset: pageOffset(),
  };
}

/** The clients of the account, or one of them. */
export default function Clients({ rest: [clientId] }: ScreenProps) {
  return clientId === undefined ? <AllClients /> : <ClientPage key={clientId} clientId={clientId} />;
}

function AllClients() {
  const filters = filtersHere();
  const records = useRecords((signal) => client.clients.list(filters, { signal }), [filters], clients.idOf);
  const deleting = useDeleteClient({ onGone: records.drop, onBack: records.append });
  const search = new URLSearchParams(Object.entries(filters).map(([name, value]) => [name, String(value)]));
  return (
    <Page
      title="Clients"
      lead="Whom the projects are for."
      calls={[
        {
          says: 'List these clients',
          method: 'GET',
          path: `/clients?${search}`,
          sdk: `clients.list(${JSON.stringify(filters)})`,
        },
        {
          says: 'Create a client',
          method: 'POST',
          path: '/clients',
          body: { client_name: 'Foundry & Sons' },
          sdk: `clients.create({ client_name: 'Foundry & Sons' })`,
        },
      ]}
    >
      <div class="row filters">
        <Search />
        <Select<Order>
          label="Order"
          hideLabel
          value={filters.order === 'latest' ? 'latest' : ''}
          options={orders}
          onChange={(order) => setQuery({ order, page: '' })}
        />
      </div>
      {records.fault !== undefined && (
        <Note tone="bad">
          {records.fault} <Button onClick={records.reload}>Try again</Button>
        </Note>
      )}
      <section class="card" aria-label="Clients" aria-busy={records.isLoading}>
        {records.rows === undefined && records.fault === undefined && (
          <div class="card-waiting">
            <Waiting />
          </div>
        )}
        {records.rows?.length === 0 && (
          <Empty
            icon="archive"
            title={
              filters.client_name === undefined ? 'No clients yet' : `No client is called “${filters.client_name}”`
            }
          >
            <p>A client is whom projects are for. Write a name below; how to reach them can follow.</p>
          </Empty>
        )}
        {records.rows !== undefined && records.rows.length > 0 && (
          <table class="table plan">
            <caption class="hidden-text">Clients</caption>
            <thead>
              <tr>
                <th>Client</th>
                <th>Email</th>
                <th>Telephone</th>
                <th>State</th>
                <th>
                  <span class="hidden-text">More</span>
                </th>
              </tr>
            </thead>
            <tbody>
              {records.rows.map((row) => (
                <ClientRow
                  key={row.client_id}
                  row={row}
                  onChange={records.put}
                  onDelete={() => void deleting.begin(row)}
                />
              ))}
            </tbody>
          </table>
        )}
        <AddLine
          label="Add a client"
          explain={(error) => faultIn(error, 'Name')}
          onAdd={async (client_name) => records.append(await client.clients.create({ client_name }))}
        />
      </section>
      {records.rows !== undefined && (
        <Pager
          paging={records.paging}
          words={['client', 'clients']}
          shown={records.rows.length}
          onPage={(page) => setQuery({ page: page === 1 ? '' : String(page) })}
        />
      )}
      {deleting.question}
    </Page>
  );
}

function Search() {
  const [part, setPart] = useState(place.value.query.get('name') ?? '');
  useEffect(() => {
    const timer = setTimeout(() => {
      if (part !== (place.value.query.get('name') ?? '')) setQuery({ name: part, page: '' });
    }, PAUSE_MS);
    return () => clearTimeout(timer);
  }, [part]);
  return (
    <TextField
      label="Search clients by name"
      hideLabel
      type="search"
      placeholder="Search by name"
      autoComplete="off"
      value={part}
      onInput={setPart}
    />
  );
}

type ClientRowProps = {
  readonly row: Client;
  readonly onChange: (row: Client) => void;
  readonly onDelete: () => void;
};

function ClientRow({ row, onChange, onDelete }: ClientRowProps) {
  const shared = { kept: clients, record: row, onChange };
  const address = to('clients', row.client_id);
  return (
    <tr>
      <td class="name">
        <FactField {...shared} fact={clientFacts.name} href={address} />
      </td>
      <td class="where">
        <FactField {...shared} fact={clientFacts.email} />
      </td>
      <td class="when">
        <FactField {...shared} fact={clientFacts.tel} />
      </td>
      <td class="state">
        <FactField {...shared} fact={clientFacts.state} />
      </td>
      <td class="more">
        <Menu
          label={`More for ${row.client_name}`}
          items={[
            { text: 'Open', icon: 'archive', onPick: () => go(address) },
            { text: 'Delete', icon: 'trash', isDanger: true, onPick: onDelete },
          ]}
        />
      </td>
    </tr>
  );
}
