import { useState } from 'preact/hooks';
import type { TimeEntry } from '../../../../packages/sdk/src/resources.ts';
import { formatDayAndTime, formatDayRange, plusDays, today } from '../../app/calendar-dates.ts';
import { client } from '../../app/client.ts';
import { listFullPage } from '../../app/full-page-navigation.ts';
import { describeFieldError } from '../../app/optimistic-update.ts';
import { currentRoute, hrefTo, updateQueryParams } from '../../app/router.ts';
import { requireSession } from '../../app/session.ts';
import { useQuery } from '../../app/use-query.ts';
import { LoadingSkeleton, Note } from '../../components/badge.tsx';
import { Button } from '../../components/button.tsx';
import { TextField } from '../../components/field.tsx';
import { EmptyState, Page } from '../../components/page.tsx';
import { useDelete } from '../../records/delete-with-undo.tsx';
import { InlineField } from '../../records/editable-fields.tsx';
import { useRecords } from '../../records/records.ts';
import { explainBareNumber, formatHoursAndMinutes, mondayOf, parseDuration, validateDuration } from './durations.ts';
import {
  compactDay,
  isRunningTimer,
  requireDayTotalWithinLimit,
  timeEntryFields,
  timeEntryResource,
} from './entries.ts';
import { RunningTimer, StartTimerForm, TaskSelect } from './timer.tsx';
import '../../records/records.css';
import './time.css';

const DAY_OFFSETS = [0, 1, 2, 3, 4, 5, 6];
const DAY_NAMES = ['Mon', 'Tue', 'Wed', 'Thu', 'Fri', 'Sat', 'Sun'];

/** Reads the week from the query of the route and returns its Monday; defaults to the current week. */
function readMonday(): string {
  const day = currentRoute.value.query.get('week') ?? '';
  return mondayOf(/^\d{4}-\d{2}-\d{2}$/.test(day) && !Number.isNaN(Date.parse(day)) ? day : today());
}

/** Screen with the time sheet of a week, a timer, and a form for manual time entries. */
export default function TimeScreen() {
  const monday = readMonday();
  const sunday = plusDays(monday, 6);
  const user_id = requireSession().user.user_id;
  const filters = { user_id, date_from: compactDay(monday), date_to: compactDay(sunday), limit: 1000 };
  const records = useRecords(
    (signal) => listFullPage(client.timeEntries, filters, signal),
    [filters],
    timeEntryResource.idOf,
  );
  const timersQuery = useQuery(
    async (signal) => (await listFullPage(client.timeEntries, { user_id, running: '1' }, signal)).data,
    [],
  );
  const tasksQuery = useQuery(
    async (signal) => (await listFullPage(client.tasks, { status: 'open', order: 'taskname' }, signal)).data,
    [],
  );
  const reloadEntries = () => {
    records.reload();
    timersQuery.reload();
  };
  const deletion = useDelete(timeEntryResource, { onDeleted: reloadEntries, onRestored: reloadEntries });
  const finishedEntries = records.rows?.filter((entry) => !isRunningTimer(entry));
  const moveByDays = (dayOffset: number) => updateQueryParams({ week: plusDays(monday, dayOffset) });
  return (
    <Page
      title="Time"
      intro="What you have worked, by task and day."
      calls={[
        {
          description: 'List this week',
          method: 'GET',
          path: `/time_entries?user_id=${user_id}&date_from=${filters.date_from}&date_to=${filters.date_to}`,
          sdk: `timeEntries.list({ user_id: '${user_id}', date_from: '${filters.date_from}', date_to: '${filters.date_to}' })`,
        },
      ]}
    >
      {timersQuery.data?.map((runningTimer) => (
        <RunningTimer key={runningTimer.entry_id} timer={runningTimer} onEnded={reloadEntries} />
      ))}
      {timersQuery.data?.length === 0 && <StartTimerForm tasks={tasksQuery.data ?? []} onStarted={reloadEntries} />}
      {[timersQuery.errorText, tasksQuery.errorText].map(
        (errorText) => errorText !== undefined && <Note tone="bad">{errorText}</Note>,
      )}
      <div class="row weeks">
        <Button icon="chevron" label="The week before" onClick={() => moveByDays(-7)} />
        <strong>{formatDayRange(monday, sunday)}</strong>
        <Button icon="chevron" label="The week after" onClick={() => moveByDays(7)} />
        <Button onClick={() => updateQueryParams({ week: '' })}>This week</Button>
      </div>
      {records.errorText !== undefined && <Note tone="bad">{records.errorText}</Note>}
      <section class="card" aria-label="Time sheet">
        {finishedEntries === undefined && records.errorText === undefined && <LoadingSkeleton />}
        {finishedEntries?.length === 0 && (
          <EmptyState icon="clock" title="Nothing worked in this week">
            <p>Start the timer above, or enter below what it came to.</p>
          </EmptyState>
        )}
        {finishedEntries !== undefined && finishedEntries.length > 0 && (
          <WeekSheet weekEntries={finishedEntries} monday={monday} />
        )}
      </section>
      <section class="card" aria-label="Entries">
        <ul class="plan-lines" aria-label="Time entries of the week">
          {finishedEntries?.map((entry) => (
            <li key={entry.entry_id}>
              <InlineField
                editableResource={timeEntryResource}
                record={entry}
                field={timeEntryFields.date}
                onChange={reloadEntries}
              />
              <InlineField
                editableResource={timeEntryResource}
                record={entry}
                field={timeEntryFields.duration}
                onChange={reloadEntries}
              />
              <a href={hrefTo('tasks', entry.task_id)}>{entry.task_name}</a>
              <span class="grow">
                <InlineField
                  editableResource={timeEntryResource}
                  record={entry}
                  field={timeEntryFields.description}
                  onChange={reloadEntries}
                />
              </span>
              <Button
                variant="quiet"
                icon="trash"
                label={`Delete ${timeEntryResource.nameOf(entry)}`}
                onClick={() => deletion.startDelete(entry)}
              />
            </li>
          ))}
        </ul>
        <EntryForm
          key={monday}
          tasks={tasksQuery.data ?? []}
          day={monday <= today() && today() <= sunday ? today() : monday}
          onAdd={reloadEntries}
        />
      </section>
      {deletion.confirmDialog}
    </Page>
  );
}

/** Table of a week: one row per task, one column per day, with totals. */
function WeekSheet({ weekEntries, monday }: { readonly weekEntries: readonly TimeEntry[]; readonly monday: string }) {
  const days = DAY_OFFSETS.map((dayOffset) => plusDays(monday, dayOffset));
  const entriesByTask = [...Map.groupBy(weekEntries, ({ task_id }) => task_id)];
  const sumSeconds = (listedEntries: readonly TimeEntry[]) =>
    listedEntries.reduce((total, { seconds }) => total + Number(seconds), 0);
  const renderDayCells = (listedEntries: readonly TimeEntry[]) =>
    days.map((day) => {
      const seconds = sumSeconds(listedEntries.filter(({ date }) => date === day));
      return (
        <td key={day} class="number">
          {seconds === 0 ? <span class="nothing">–</span> : formatHoursAndMinutes(seconds)}
        </td>
      );
    });
  return (
    <table class="table sheet">
      <thead>
        <tr>
          <th>Task</th>
          {days.map((day, index) => (
            <th key={day} class="number" title={formatDayAndTime(day)}>
              {DAY_NAMES[index]} {Number(day.slice(8))}
            </th>
          ))}
          <th class="number">Week</th>
        </tr>
      </thead>
      <tbody>
        {entriesByTask.map(([taskId, taskEntries]) => (
          <tr key={taskId}>
            <th scope="row">
              <a href={hrefTo('tasks', taskId)} title={taskEntries[0]?.task_name}>
                {taskEntries[0]?.task_name}
              </a>{' '}
              <span class="small soft cut">{taskEntries[0]?.project_name}</span>
            </th>
            {renderDayCells(taskEntries)}
            <td class="number">{formatHoursAndMinutes(sumSeconds(taskEntries))}</td>
          </tr>
        ))}
      </tbody>
      <tfoot>
        <tr>
          <th scope="row">All</th>
          {renderDayCells(weekEntries)}
          <td class="number">
            <strong>{formatHoursAndMinutes(sumSeconds(weekEntries))}</strong>
          </td>
        </tr>
      </tfoot>
    </table>
  );
}

type EntryFormProps = {
  readonly tasks: Parameters<typeof TaskSelect>[0]['tasks'];
  readonly day: string;
  readonly onAdd: () => void;
};

/** Form that creates a manual time entry. */
function EntryForm({ tasks, day, onAdd }: EntryFormProps) {
  const [chosenTaskId, setChosenTaskId] = useState('');
  const [date, setDate] = useState('');
  const [timeText, setTimeText] = useState('');
  const [description, setDescription] = useState('');
  const [errorText, setErrorText] = useState<string>();
  const [isBusy, setBusy] = useState(false);
  const taskId = chosenTaskId || tasks[0]?.task_id;
  const bareNumberHint = explainBareNumber(timeText);
  const addEntry = async (event: Event) => {
    event.preventDefault();
    if (isBusy) return;
    const validationError = validateDuration(timeText);
    if (validationError !== undefined) return setErrorText(validationError);
    if (taskId === undefined) return setErrorText('There is no open task to enter it for.');
    const seconds = parseDuration(timeText) ?? 0;
    setBusy(true);
    try {
      await requireDayTotalWithinLimit({ user_id: requireSession().user.user_id, date: date || day, seconds });
      await client.timeEntries.create(taskId, { seconds, date: compactDay(date || day), description });
      setTimeText('');
      setDescription('');
      setErrorText(undefined);
      onAdd();
    } catch (error) {
      setErrorText(describeFieldError(error, 'Entry:'));
    } finally {
      setBusy(false);
    }
  };
  return (
    <form class="row enter" aria-label="Enter time" onSubmit={addEntry}>
      <TaskSelect label="Task" tasks={tasks} value={taskId ?? ''} onChange={setChosenTaskId} />
      <TextField label="Day" type="date" value={date || day} onInput={setDate} />
      <TextField
        label="Time"
        placeholder="1:30"
        autoComplete="off"
        value={timeText}
        {...(errorText !== undefined && { errorText })}
        {...(bareNumberHint !== undefined && { hint: bareNumberHint })}
        onInput={(text) => {
          setTimeText(text);
          setErrorText(undefined);
        }}
      />
      <TextField label="Description" value={description} onInput={setDescription} />
      <Button type="submit" icon="plus">
        Enter
      </Button>
    </form>
  );
}
