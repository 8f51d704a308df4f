import type { Client } from '../../../../packages/sdk/src/resources.ts';
import { formatDayRange } from '../../app/calendar-dates.ts';
import { client } from '../../app/client.ts';
import { listFullPage } from '../../app/full-page-navigation.ts';
import { describeFieldError } from '../../app/optimistic-update.ts';
import { hrefTo, navigate, type RecordProps } from '../../app/router.ts';
import { Badge, ColorDot, LoadingSkeleton, Note } from '../../components/badge.tsx';
import { Button } from '../../components/button.tsx';
import { QuickAddField } from '../../components/inline-edit.tsx';
import { Page } from '../../components/page.tsx';
import { RelativeTime } from '../../components/timestamp.tsx';
import { ContactList } from '../../records/contact-list.tsx';
import { useDelete } from '../../records/delete-with-undo.tsx';
import { FieldList, InlineField } from '../../records/editable-fields.tsx';
import { projectResource, projectStateOf } from '../../records/project-fields.tsx';
import { RecordPage } from '../../records/record-loader.tsx';
import { RECORDS_PER_PAGE, useRecords } from '../../records/records.ts';
import { clientFields, clientResource } from './client-fields.tsx';
import '../../records/records.css';

/** Page of one client: details, projects and contacts. */
export default function ClientPage({ id }: RecordProps) {
  return (
    <RecordPage resource={client.clients} id={id} loadingTitle="Client" listScreenName="clients">
      {(record, onChange) => <ClientDetails record={record} onChange={onChange} />}
    </RecordPage>
  );
}

function ClientDetails({ record, onChange }: { readonly record: Client; readonly onChange: (record: Client) => void }) {
  const deletion = useDelete(clientResource, {
    onDeleted: () => navigate(hrefTo('clients')),
    onRestored: ({ client_id }) => navigate(hrefTo('clients', client_id)),
  });
  const { client_id, client_name } = record;
  const fieldProps = { editableResource: clientResource, record, onChange };
  const { name, state, email, tel, mobile, fax, website, address, ...otherFields } = clientFields;
  const { postcode, city, region, country, background, notes } = otherFields;
  return (
    <Page
      title={client_name}
      intro="Client"
      actions={<Button variant="danger" icon="trash" label="Delete" onClick={() => deletion.startDelete(record)} />}
      calls={[
        {
          description: 'Read this client',
          method: 'GET',
          path: `/clients/${client_id}`,
          sdk: `clients.get('${client_id}')`,
        },
        {
          description: 'List their projects',
          method: 'GET',
          path: `/projects?client_id=${client_id}`,
          sdk: `projects.list({ client_id: '${client_id}' })`,
        },
        {
          description: 'List whom to speak to',
          method: 'GET',
          path: `/contacts?client_id=${client_id}`,
          sdk: `contacts.list({ client_id: '${client_id}' })`,
        },
      ]}
    >
      <div class="sides">
        <div class="stack">
          <ProjectsOfClient clientId={client_id} />
          <ContactList clientId={client_id} />
          <section class="card padded stack words" aria-label="Words">
            <h2>Background</h2>
            <InlineField {...fieldProps} field={background} />
            <h2>Notes</h2>
            <InlineField {...fieldProps} field={notes} />
          </section>
        </div>
        <section class="card padded" aria-label="Details">
          <FieldList {...fieldProps} fields={[name, state, email, tel, mobile, fax, website, address]} />
          <FieldList {...fieldProps} fields={[postcode, city, region, country]}>
            <div>
              <dt>Created</dt>
              <dd>
                <RelativeTime timestamp={record.date_created} />
              </dd>
            </div>
          </FieldList>
        </section>
      </div>
      {deletion.confirmDialog}
    </Page>
  );
}

function ProjectsOfClient({ clientId: client_id }: { readonly clientId: string }) {
  const projectFilters = { client_id, order: 'duedate', limit: RECORDS_PER_PAGE } as const;
  const { rows, paging, errorText, append } = useRecords(
    (signal) => listFullPage(client.projects, projectFilters, signal),
    [projectFilters],
    projectResource.idOf,
  );
  return (
    <section class="card" aria-label="Projects">
      <h2 class="card-head">Projects</h2>
      {errorText !== undefined && <Note tone="bad">{errorText}</Note>}
      {rows === undefined && errorText === undefined && <LoadingSkeleton lineCount={2} />}
      <ul class="plan-lines">
        {rows?.map((project) => (
          <li key={project.project_id}>
            <ColorDot color={project.color} />
            <a class="grow" href={hrefTo('projects', project.project_id)}>
              {project.project_name}
            </a>
            <span class="small soft">{formatDayRange(project.start_date, project.due_date)}</span>
            {projectStateOf(project) !== 'open' && <Badge>{projectStateOf(project)}</Badge>}
          </li>
        ))}
      </ul>
      {paging.total_records > RECORDS_PER_PAGE && (
        <p class="card-foot">
          <a href={`${hrefTo('projects')}?view=all&client=${client_id}`}>All {paging.total_records} projects</a>
        </p>
      )}
      <QuickAddField
        label="Add a project for them"
        formatError={(error) => describeFieldError(error, 'Name')}
        onAdd={async (project_name) => append(await client.projects.create({ project_name, client_id }))}
      />
    </section>
  );
}
