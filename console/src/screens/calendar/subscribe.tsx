import { useState } from 'preact/hooks';
import type { Calendar, CreatedCalendar } from '../../../../packages/sdk/src/calendars.ts';
import type { Project } from '../../../../packages/sdk/src/resources.ts';
import { client } from '../../app/client.ts';
import { requireSession } from '../../app/session.ts';
import { collectAll, runWithToast, useQuery, useSubmission } from '../../app/use-query.ts';
import { CodeBlock } from '../../components/api-call.tsx';
import { Note } from '../../components/badge.tsx';
import { Button } from '../../components/button.tsx';
import { Select, TextField } from '../../components/field.tsx';
import { RelativeTime } from '../../components/timestamp.tsx';
import { getBrowserTimeZone } from './locale.ts';

type ProjectsProp = { readonly projects: readonly Project[] };

/** Creates, lists and revokes subscription URLs for other calendar programs. A new URL is shown once. */
export function CalendarSubscriptions({
  projects,
  onSecretVisibilityChange,
}: ProjectsProp & { readonly onSecretVisibilityChange: (isShown: boolean) => void }) {
  const user_id = requireSession().user.user_id;
  const calendarsQuery = useQuery((signal) => collectAll(client.calendars.each({ user_id }, { signal })), []);
  const [createdCalendar, setCreatedCalendar] = useState<CreatedCalendar>();
  const showCreatedUrl = (calendar: CreatedCalendar | undefined) => {
    setCreatedCalendar(calendar);
    onSecretVisibilityChange(calendar !== undefined);
  };
  const existingCalendars = calendarsQuery.data ?? [];
  const revokeCalendar = async ({ id }: Calendar) => {
    await runWithToast(() => client.calendars.revoke(id));
    if (createdCalendar?.id === id) showCreatedUrl(undefined);
    calendarsQuery.reload();
  };
  return (
    <>
      <p class="soft">
        Google Calendar, Apple Calendar, Outlook and others show what is here, read-only, and ask for it again by
        themselves.
      </p>
      {createdCalendar === undefined ? (
        <CreateCalendarForm
          projects={projects}
          onCreated={(calendar) => {
            showCreatedUrl(calendar);
            calendarsQuery.reload();
          }}
        />
      ) : (
        <div class="stack">
          <Note tone="warn">
            Copy it now. It is shown this once, and whoever has it reads the calendar without signing in.
          </Note>
          <CodeBlock label="The address" text={createdCalendar.url} />
          <Button onClick={() => showCreatedUrl(undefined)}>I have copied it</Button>
        </div>
      )}
      {calendarsQuery.errorText !== undefined && <Note tone="bad">{calendarsQuery.errorText}</Note>}
      {existingCalendars.length > 0 && (
        <ul class="card list" aria-label="Addresses">
          {existingCalendars.map((calendar) => (
            <li key={calendar.id} class="row spread">
              <span>
                {calendar.label || 'Without a name'} <span class="small soft">{describeScope(calendar, projects)}</span>
                <br />
                <span class="small soft">
                  Last asked for: <RelativeTime timestamp={calendar.last_fetched} />
                </span>
              </span>
              <Button variant="danger" onClick={() => void revokeCalendar(calendar)}>
                Revoke
              </Button>
            </li>
          ))}
        </ul>
      )}
    </>
  );
}

function describeScope({ scope, project_id }: Calendar, projects: readonly Project[]): string {
  if (scope !== 'project') return scope === 'own' ? 'what concerns you' : 'everything';
  return projects.find((project) => project.project_id === project_id)?.project_name ?? 'a project';
}

function CreateCalendarForm({
  projects,
  onCreated,
}: ProjectsProp & { readonly onCreated: (calendar: CreatedCalendar) => void }) {
  const [label, setLabel] = useState('');
  const [chosenScope, setChosenScope] = useState('own');
  const scopeOptions = [
    { value: 'own', text: 'What concerns me' },
    { value: 'account', text: 'Everything' },
    ...projects.map(({ project_id, project_name }) => ({ value: project_id, text: project_name })),
  ];
  const { submit, isBusy, errorsByField, errorText } = useSubmission(async () => {
    const isProjectScope = chosenScope !== 'own' && chosenScope !== 'account';
    const scopeFields = isProjectScope
      ? ({ scope: 'project', project_id: chosenScope } as const)
      : ({ scope: chosenScope } as const);
    onCreated(await client.calendars.create({ label, time_zone: getBrowserTimeZone(), ...scopeFields }));
  });
  return (
    <form class="stack" onSubmit={submit}>
      {errorText !== undefined && <Note tone="bad">{errorText}</Note>}
      <div class="pair">
        <Select
          label="What it shows"
          value={chosenScope}
          options={scopeOptions}
          onChange={setChosenScope}
          errorText={errorsByField.project_id}
        />
        <TextField
          label="What it is for"
          placeholder="My telephone"
          value={label}
          onInput={setLabel}
          maxLength={255}
          errorText={errorsByField.label}
        />
      </div>
      <div class="ends">
        <Button variant="primary" type="submit" disabled={isBusy}>
          Make an address
        </Button>
      </div>
    </form>
  );
}
