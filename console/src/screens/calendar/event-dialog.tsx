import { useState } from 'preact/hooks';
import type { CalendarEvent, EventInput, Project } from '../../../../packages/sdk/src/resources.ts';
import { EditConflictError } from '../../app/optimistic-update.ts';
import { errorMessage, fieldErrors } from '../../app/use-query.ts';
import { Note, Progress } from '../../components/badge.tsx';
import { Button } from '../../components/button.tsx';
import { Dialog } from '../../components/dialog.tsx';
import { Checkbox, Select, TextField } from '../../components/field.tsx';
import { changeEvent, createEvent, createEvents, deleteEvent, duplicateEvent } from './calendar-actions.ts';
import { formatDays } from './locale.ts';
import { dayOffsets, MAX_REPEATS, type RepeatRule, repeatDates, repeatRules } from './repeat.ts';
import {
  daysBetween,
  type FormDates,
  formToEventDates,
  isDay,
  moveDates,
  plusDays,
  plusMonths,
  toFormDates,
} from './time-math.ts';

/** Values of the event form; `event` is set when an existing event is edited. */
export type EventDraft = FormDates & {
  readonly name: string;
  readonly projectId: string;
  readonly event?: CalendarEvent;
};

export const toEventDraft = (event: CalendarEvent): EventDraft => {
  return { ...toFormDates(event), name: event.event_name, projectId: event.project_id, event };
};

type EventDialogProps = {
  readonly draft: EventDraft;
  readonly projects: readonly Project[];
  readonly onClose: () => void;
  /** Called with the first day of the created or changed event. */
  readonly onDone: (day: string) => void;
};

const DAY_S = 86_400;

/** Dialog that creates, edits, repeats, duplicates and deletes an event. */
export function EventDialog({ draft, projects, onClose, onDone }: EventDialogProps) {
  const [values, setValues] = useState(draft);
  const [rhythm, setRhythm] = useState<RepeatRule | ''>('');
  const [until, setUntil] = useState(plusMonths(draft.startDay, 3));
  const [fault, setFault] = useState<{ text: string; fields: Readonly<Record<string, string>> }>();
  const [createdCount, setCreatedCount] = useState<number>();
  const [controller] = useState(() => new AbortController());
  // The event that the edit is based on: as it was opened, or its current version after an edit conflict.
  const [event, setEvent] = useState(draft.event);
  const set = (change: Partial<EventDraft>) => setValues({ ...values, ...change });
  const days = rhythm === '' || !isDay(until) ? [values.startDay] : repeatDates(values.startDay, rhythm, until);
  const invalidField = invalidFieldOf(values) ?? (days.length > MAX_REPEATS ? 'many' : undefined);
  const close = () => {
    controller.abort();
    onClose();
  };
  const submit = async (submitted: Event) => {
    submitted.preventDefault();
    if (invalidField !== undefined) return setFault({ text: '', fields: {} });
    setCreatedCount(0);
    try {
      if (event !== undefined) await saveChanges(event, values);
      else if (days.length > 1)
        await createEvents(seriesInputs(values, days), { onDone: setCreatedCount, signal: controller.signal });
      else await createEvent(toEventInput(values));
      onClose();
      onDone(values.startDay);
    } catch (error) {
      const isConflict = error instanceof EditConflictError;
      if (isConflict) setEvent(error.record as CalendarEvent);
      const text = isConflict
        ? `${errorMessage(error)} Saved once more, what stands here counts.`
        : errorMessage(error);
      setFault({ text, fields: fieldErrors(error) });
      setCreatedCount(undefined);
    }
  };
  const closeThen = (action: (event: CalendarEvent) => Promise<void>) => () => {
    close();
    if (event !== undefined) void action(event);
  };
  return (
    <Dialog title={event === undefined ? 'New event' : 'Event'} onClose={close}>
      <form class="stack event-form" onSubmit={submit} noValidate>
        {fault !== undefined && fault.text !== '' && <Note tone="bad">{fault.text}</Note>}
        <TextField
          label="Name"
          value={values.name}
          required
          maxLength={255}
          autoFocus
          placeholder="Release v27"
          onInput={(name) => set({ name })}
          fault={
            fault?.fields.event_name ?? (fault !== undefined && invalidField === 'name' ? 'Give it a name.' : undefined)
          }
        />
        <WhenFields
          values={values}
          invalidField={fault === undefined ? undefined : invalidField}
          fields={fault?.fields ?? {}}
          set={set}
        />
        <Select
          label="Project"
          value={values.projectId}
          options={projectOptions(projects, values.projectId)}
          onChange={(projectId) => set({ projectId })}
        />
        {event === undefined && (
          <RepeatFields rhythm={rhythm} until={until} days={days} setRhythm={setRhythm} setUntil={setUntil} />
        )}
        {createdCount !== undefined && days.length > 1 && (
          <div class="row">
            <span class="grow">
              <Progress label="Events created" percent={Math.round((100 * createdCount) / days.length)} />
            </span>
            <span class="number small">
              {createdCount} of {days.length}
            </span>
            <Button onClick={() => controller.abort()}>Stop</Button>
          </div>
        )}
        <div class="ends">
          {event !== undefined && (
            <span class="row grow">
              <Button variant="quiet" icon="trash" onClick={closeThen(deleteEvent)}>
                Delete
              </Button>
              <Button variant="quiet" icon="copy" onClick={closeThen(duplicateEvent)}>
                Duplicate
              </Button>
            </span>
          )}
          <Button onClick={close}>Cancel</Button>
          <Button variant="primary" type="submit" disabled={createdCount !== undefined}>
            {event !== undefined ? 'Save' : days.length > 1 ? `Create ${days.length} events` : 'Create'}
          </Button>
        </div>
      </form>
    </Dialog>
  );
}

type WhenFieldsProps = {
  readonly values: EventDraft;
  readonly invalidField: string | undefined;
  readonly fields: Readonly<Record<string, string>>;
  readonly set: (change: Partial<EventDraft>) => void;
};

/** Fields for start and end of an event. When the start day changes, the end moves by as many days. */
function WhenFields({ values, invalidField, fields, set }: WhenFieldsProps) {
  const isAllDay = values.startTime === '' && values.dueTime === '';
  const setStartDay = (startDay: string) => {
    if (!isDay(startDay) || !isDay(values.dueDay)) return set({ startDay });
    set({ startDay, dueDay: plusDays(values.dueDay, daysBetween(values.startDay, startDay)) });
  };
  return (
    <>
      <div class={`when ${isAllDay ? '' : 'timed'}`}>
        <div class="bound">
          <TextField
            label="From"
            type="date"
            value={values.startDay}
            onInput={setStartDay}
            fault={fields.start_date ?? (invalidField === 'start' ? 'Give the first day.' : undefined)}
          />
          {!isAllDay && (
            <TextField
              label="Begins at"
              type="time"
              value={values.startTime}
              onInput={(startTime) => set({ startTime })}
            />
          )}
        </div>
        <div class="bound">
          <TextField
            label="To"
            type="date"
            value={values.dueDay}
            onInput={(dueDay) => set({ dueDay })}
            fault={fields.due_date ?? (invalidField === 'due' ? 'It ends before it begins.' : undefined)}
          />
          {!isAllDay && (
            <TextField label="Ends at" type="time" value={values.dueTime} onInput={(dueTime) => set({ dueTime })} />
          )}
        </div>
      </div>
      <Checkbox
        label="All day"
        checked={isAllDay}
        onChange={(checked) => set(checked ? { startTime: '', dueTime: '' } : { startTime: '09:00', dueTime: '10:00' })}
      />
    </>
  );
}

type RepeatFieldsProps = {
  readonly rhythm: RepeatRule | '';
  readonly until: string;
  readonly days: readonly string[];
  readonly setRhythm: (rhythm: RepeatRule | '') => void;
  readonly setUntil: (until: string) => void;
};

function RepeatFields({ rhythm, until, days, setRhythm, setUntil }: RepeatFieldsProps) {
  const options = [
    { value: '' as const, text: 'Does not repeat' },
    ...Object.entries(repeatRules).map(([value, { text }]) => ({ value: value as RepeatRule, text })),
  ];
  const isTooMany = days.length > MAX_REPEATS;
  const last = days.at(-1) ?? '';
  return (
    <div class="when">
      <Select label="Repeat" value={rhythm} options={options} onChange={setRhythm} />
      {rhythm !== '' && (
        <TextField
          label="Until"
          type="date"
          value={until}
          onInput={setUntil}
          fault={isTooMany ? `That is more than ${MAX_REPEATS} events. Choose an earlier day.` : undefined}
          hint={`Makes ${days.length} ${days.length === 1 ? 'event' : 'events'}, the last on ${formatDays({ from: last, to: last }, '')}.`}
        />
      )}
    </div>
  );
}

function projectOptions(projects: readonly Project[], chosen: string) {
  const known = projects.map(({ project_id, project_name }) => ({ value: project_id, text: project_name }));
  const isKnown = chosen === '0' || projects.some(({ project_id }) => project_id === chosen);
  return [
    { value: '0', text: 'No project' },
    ...(isKnown ? [] : [{ value: chosen, text: `Project ${chosen}` }]),
    ...known,
  ];
}

/** Returns the first invalid field of a draft; undefined if all fields are valid. */
function invalidFieldOf({
  name,
  startDay,
  dueDay,
  startTime,
  dueTime,
}: EventDraft): 'name' | 'start' | 'due' | undefined {
  if (name.trim() === '') return 'name';
  if (!isDay(startDay)) return 'start';
  if (!isDay(dueDay) || dueDay < startDay) return 'due';
  const isBefore = dueDay === startDay && dueTime !== '' && dueTime !== '00:00' && dueTime < startTime;
  return isBefore ? 'due' : undefined;
}

function toEventInput(draft: EventDraft): EventInput {
  return { event_name: draft.name.trim(), ...formToEventDates(draft), project_id: draft.projectId };
}

/** Returns the inputs for a repeated event, one per day. */
function seriesInputs(draft: EventDraft, days: readonly string[]): readonly EventInput[] {
  const input = toEventInput(draft);
  return dayOffsets(days).map((count) => ({ ...input, ...moveDates(formToEventDates(draft), count * DAY_S) }));
}

/** Sends only the changed fields, so that concurrent edits of other fields are kept. */
async function saveChanges(event: CalendarEvent, draft: EventDraft): Promise<void> {
  const before = toEventDraft(event);
  const input = toEventInput(draft);
  const hasChanged = (...names: readonly (keyof EventDraft)[]) => names.some((name) => before[name] !== draft[name]);
  const hasToggledAllDay = (before.startTime === '') !== (draft.startTime === '');
  const changes = {
    ...(hasChanged('name') && { event_name: input.event_name }),
    ...((hasChanged('startDay', 'startTime') || hasToggledAllDay) && { start_date: input.start_date }),
    ...((hasChanged('dueDay', 'dueTime') || hasToggledAllDay) && { due_date: input.due_date }),
    ...(hasChanged('projectId') && { project_id: draft.projectId }),
  };
  if (Object.keys(changes).length > 0) await changeEvent(event, changes);
}
