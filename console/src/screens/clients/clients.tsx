import { useEffect, useState } from 'preact/hooks';
import type { Client, ClientFilters } from '../../../../packages/sdk/src/resources.ts';
import { client } from '../../app/client.ts';
import { listFullPage } from '../../app/full-page-navigation.ts';
import { currentRoute, hrefTo, navigate, updateQueryParams } from '../../app/router.ts';
import { TextField } from '../../components/field.tsx';
import { Menu } from '../../components/menu.tsx';
import { EmptyState, Page } from '../../components/page.tsx';
import { useDelete } from '../../records/delete-with-undo.tsx';
import { InlineField } from '../../records/editable-fields.tsx';
import { FilterSelect, RecordList, readQueryOption, toQueryString } from '../../records/record-list.tsx';
import { RECORDS_PER_PAGE, readPageOffset, useRecords } from '../../records/records.ts';
import { clientFields, clientResource } from './client-fields.tsx';
import '../../records/records.css';

const orderOptions = [
  { value: '', text: 'By name' },
  { value: 'latest', text: 'Newest first' },
] as const;

/** Debounce delay of the search field: the search starts when the user has stopped typing. */
const SEARCH_DEBOUNCE_MS = 150;

/** Reads the API filters from the query of the route. */
function readClientFilters(): ClientFilters {
  const { query } = currentRoute.value;
  const nameFilter = query.get('name') ?? '';
  return {
    ...(nameFilter !== '' && { client_name: nameFilter }),
    order: readQueryOption('order', orderOptions) || 'clientname',
    limit: RECORDS_PER_PAGE,
    offset: readPageOffset(),
  };
}

export default function ClientsScreen() {
  const filters = readClientFilters();
  const records = useRecords((signal) => listFullPage(client.clients, filters, signal), [filters], clientResource.idOf);
  const deletion = useDelete(clientResource, { onDeleted: records.remove, onRestored: records.append });
  return (
    <Page
      title="Clients"
      intro="Whom the projects are for."
      calls={[
        {
          description: 'List these clients',
          method: 'GET',
          path: `/clients?${toQueryString(filters)}`,
          sdk: `clients.list(${JSON.stringify(filters)})`,
        },
        {
          description: 'Create a client',
          method: 'POST',
          path: '/clients',
          body: { client_name: 'Foundry & Sons' },
          sdk: `clients.create({ client_name: 'Foundry & Sons' })`,
        },
      ]}
    >
      <div class="row filters">
        <ClientSearch />
        <FilterSelect name="order" label="Order" options={orderOptions} />
      </div>
      <RecordList
        records={records}
        nounForms={['client', 'clients']}
        columns={['Client', 'Email', 'Telephone', 'State']}
        emptyState={
          <EmptyState
            icon="archive"
            title={
              filters.client_name === undefined ? 'No clients yet' : `No client is called “${filters.client_name}”`
            }
          >
            <p>A client is whom projects are for. Write a name below; how to reach them can follow.</p>
          </EmptyState>
        }
        renderRow={(row) => (
          <ClientRow
            key={row.client_id}
            row={row}
            onChange={records.replace}
            onDelete={() => deletion.startDelete(row)}
          />
        )}
        createRecord={(client_name) => client.clients.create({ client_name })}
      />
      {deletion.confirmDialog}
    </Page>
  );
}

function ClientSearch() {
  const [searchText, setSearchText] = useState(currentRoute.value.query.get('name') ?? '');
  useEffect(() => {
    const timer = setTimeout(() => {
      if (searchText !== (currentRoute.value.query.get('name') ?? ''))
        updateQueryParams({ name: searchText, page: '' });
    }, SEARCH_DEBOUNCE_MS);
    return () => clearTimeout(timer);
  }, [searchText]);
  return (
    <TextField
      label="Search clients by name"
      isLabelHidden
      type="search"
      placeholder="Search by name"
      autoComplete="off"
      value={searchText}
      onInput={setSearchText}
    />
  );
}

type ClientRowProps = {
  readonly row: Client;
  readonly onChange: (row: Client) => void;
  readonly onDelete: () => void;
};

function ClientRow({ row, onChange, onDelete }: ClientRowProps) {
  const fieldProps = { editableResource: clientResource, record: row, onChange };
  const detailHref = hrefTo('clients', row.client_id);
  return (
    <tr>
      <td class="name">
        <InlineField {...fieldProps} field={clientFields.name} href={detailHref} />
      </td>
      <td class="where">
        <InlineField {...fieldProps} field={clientFields.email} />
      </td>
      <td class="where">
        <InlineField {...fieldProps} field={clientFields.tel} />
      </td>
      <td class="state">
        <InlineField {...fieldProps} field={clientFields.state} />
      </td>
      <td class="more">
        <Menu
          label={`More for ${row.client_name}`}
          items={[
            { text: 'Open', icon: 'archive', onPick: () => navigate(detailHref) },
            { text: 'Delete', icon: 'trash', isDestructive: true, onPick: onDelete },
          ]}
        />
      </td>
    </tr>
  );
}
