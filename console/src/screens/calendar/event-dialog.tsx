import { useState } from 'preact/hooks';
import type { CalendarEvent, Project } from '../../../../packages/sdk/src/resources.ts';
import { EditConflictError } from '../../app/optimistic-update.ts';
import { describeError, toFieldErrors } from '../../app/use-query.ts';
import { Note, ProgressBar } from '../../components/badge.tsx';
import { Button } from '../../components/button.tsx';
import { Dialog } from '../../components/dialog.tsx';
import { Checkbox, Select, TextField } from '../../components/field.tsx';
import { createEvent, createEvents, deleteEvent, duplicateEvent } from './calendar-actions.ts';
import {
  buildSeriesInputs,
  type EventDraft,
  eventInputFromDraft,
  findInvalidField,
  saveChanges,
} from './event-draft.ts';
import { formatDays } from './locale.ts';
import { computeRepeatDays, MAX_SERIES_EVENTS, type RepeatRule, repeatRules } from './repeat.ts';
import { daysBetween, isDay, plusDays, plusMonths } from './time-math.ts';

type EventDialogProps = {
  readonly draft: EventDraft;
  readonly projects: readonly Project[];
  readonly onClose: () => void;
  /** Called with the first day of the created or changed event. */
  readonly onSaved: (day: string) => void;
};

/** Dialog that creates, edits, repeats, duplicates and deletes an event. */
export function EventDialog({ draft, projects, onClose, onSaved }: EventDialogProps) {
  const [values, setValues] = useState(draft);
  const [repeatRule, setRepeatRule] = useState<RepeatRule | ''>('');
  const [untilDay, setUntilDay] = useState(plusMonths(draft.startDay, 3));
  const [submitError, setSubmitError] = useState<{ text: string; errorsByField: Readonly<Record<string, string>> }>();
  // Number of events that were created so far; undefined while the form is not being submitted.
  const [createdCount, setCreatedCount] = useState<number>();
  const [abortController] = useState(() => new AbortController());
  // The event as it was when the dialog opened; after an edit conflict, the event as it is on the server.
  const [event, setEvent] = useState(draft.event);
  const updateValues = (changes: Partial<EventDraft>) => setValues({ ...values, ...changes });
  const eventDays =
    repeatRule === '' || !isDay(untilDay)
      ? [values.startDay]
      : computeRepeatDays(values.startDay, repeatRule, untilDay);
  const invalidField = findInvalidField(values) ?? (eventDays.length > MAX_SERIES_EVENTS ? 'many' : undefined);
  const closeDialog = () => {
    abortController.abort();
    onClose();
  };
  const submit = async (submitEvent: Event) => {
    submitEvent.preventDefault();
    if (invalidField !== undefined) return setSubmitError({ text: '', errorsByField: {} });
    setCreatedCount(0);
    try {
      if (event !== undefined) await saveChanges(event, values);
      else if (eventDays.length > 1)
        await createEvents(buildSeriesInputs(values, eventDays), {
          onProgress: setCreatedCount,
          signal: abortController.signal,
        });
      else await createEvent(eventInputFromDraft(values));
      onClose();
      onSaved(values.startDay);
    } catch (error) {
      const isConflict = error instanceof EditConflictError;
      if (isConflict) setEvent(error.currentRecord as CalendarEvent);
      const text = isConflict
        ? `${describeError(error)} Saved once more, what stands here counts.`
        : describeError(error);
      setSubmitError({ text, errorsByField: toFieldErrors(error) });
      setCreatedCount(undefined);
    }
  };
  const closeAndRun = (action: (event: CalendarEvent) => Promise<void>) => () => {
    closeDialog();
    if (event !== undefined) void action(event);
  };
  return (
    <Dialog title={event === undefined ? 'New event' : 'Event'} onClose={closeDialog}>
      <form class="stack event-form" onSubmit={submit} noValidate>
        {submitError !== undefined && submitError.text !== '' && <Note tone="bad">{submitError.text}</Note>}
        <TextField
          label="Name"
          value={values.name}
          required
          maxLength={255}
          autoFocus
          placeholder="Release v27"
          onInput={(name) => updateValues({ name })}
          errorText={
            submitError?.errorsByField.event_name ??
            (submitError !== undefined && invalidField === 'name' ? 'Give it a name.' : undefined)
          }
        />
        <StartEndFields
          values={values}
          invalidField={submitError === undefined ? undefined : invalidField}
          errorsByField={submitError?.errorsByField ?? {}}
          updateValues={updateValues}
        />
        <Select
          label="Project"
          value={values.projectId}
          options={buildProjectOptions(projects, values.projectId)}
          onChange={(projectId) => updateValues({ projectId })}
        />
        {event === undefined && (
          <RepeatFields
            repeatRule={repeatRule}
            untilDay={untilDay}
            eventDays={eventDays}
            setRepeatRule={setRepeatRule}
            setUntilDay={setUntilDay}
          />
        )}
        {createdCount !== undefined && eventDays.length > 1 && (
          <div class="row">
            <span class="grow">
              <ProgressBar label="Events created" percent={Math.round((100 * createdCount) / eventDays.length)} />
            </span>
            <span class="number small">
              {createdCount} of {eventDays.length}
            </span>
            <Button onClick={() => abortController.abort()}>Stop</Button>
          </div>
        )}
        <div class="ends">
          {event !== undefined && (
            <span class="row grow">
              <Button variant="quiet" icon="trash" onClick={closeAndRun(deleteEvent)}>
                Delete
              </Button>
              <Button variant="quiet" icon="copy" onClick={closeAndRun(duplicateEvent)}>
                Duplicate
              </Button>
            </span>
          )}
          <Button onClick={closeDialog}>Cancel</Button>
          <Button variant="primary" type="submit" disabled={createdCount !== undefined}>
            {event !== undefined ? 'Save' : eventDays.length > 1 ? `Create ${eventDays.length} events` : 'Create'}
          </Button>
        </div>
      </form>
    </Dialog>
  );
}

type StartEndFieldsProps = {
  readonly values: EventDraft;
  readonly invalidField: string | undefined;
  readonly errorsByField: Readonly<Record<string, string>>;
  readonly updateValues: (changes: Partial<EventDraft>) => void;
};

/** Fields for start and end of an event. When the start day changes, the end day moves by the same number of days. */
function StartEndFields({ values, invalidField, errorsByField, updateValues }: StartEndFieldsProps) {
  const isAllDay = values.startTime === '' && values.dueTime === '';
  const moveStartDay = (startDay: string) => {
    if (!isDay(startDay) || !isDay(values.dueDay)) return updateValues({ startDay });
    updateValues({ startDay, dueDay: plusDays(values.dueDay, daysBetween(values.startDay, startDay)) });
  };
  return (
    <>
      <div class={`when ${isAllDay ? '' : 'timed'}`}>
        <div class="bound">
          <TextField
            label="From"
            type="date"
            value={values.startDay}
            onInput={moveStartDay}
            errorText={errorsByField.start_date ?? (invalidField === 'start' ? 'Give the first day.' : undefined)}
          />
          {!isAllDay && (
            <TextField
              label="Begins at"
              type="time"
              value={values.startTime}
              onInput={(startTime) => updateValues({ startTime })}
            />
          )}
        </div>
        <div class="bound">
          <TextField
            label="To"
            type="date"
            value={values.dueDay}
            onInput={(dueDay) => updateValues({ dueDay })}
            errorText={errorsByField.due_date ?? (invalidField === 'due' ? 'It ends before it begins.' : undefined)}
          />
          {!isAllDay && (
            <TextField
              label="Ends at"
              type="time"
              value={values.dueTime}
              onInput={(dueTime) => updateValues({ dueTime })}
            />
          )}
        </div>
      </div>
      <Checkbox
        label="All day"
        checked={isAllDay}
        onChange={(checked) =>
          updateValues(checked ? { startTime: '', dueTime: '' } : { startTime: '09:00', dueTime: '10:00' })
        }
      />
    </>
  );
}

type RepeatFieldsProps = {
  readonly repeatRule: RepeatRule | '';
  readonly untilDay: string;
  readonly eventDays: readonly string[];
  readonly setRepeatRule: (repeatRule: RepeatRule | '') => void;
  readonly setUntilDay: (untilDay: string) => void;
};

function RepeatFields({ repeatRule, untilDay, eventDays, setRepeatRule, setUntilDay }: RepeatFieldsProps) {
  const repeatOptions = [
    { value: '' as const, text: 'Does not repeat' },
    ...Object.entries(repeatRules).map(([value, { text }]) => ({ value: value as RepeatRule, text })),
  ];
  const hasTooManyDays = eventDays.length > MAX_SERIES_EVENTS;
  const lastDay = eventDays.at(-1) ?? '';
  return (
    <div class="when">
      <Select label="Repeat" value={repeatRule} options={repeatOptions} onChange={setRepeatRule} />
      {repeatRule !== '' && (
        <TextField
          label="Until"
          type="date"
          value={untilDay}
          onInput={setUntilDay}
          errorText={
            hasTooManyDays ? `That is more than ${MAX_SERIES_EVENTS} events. Choose an earlier day.` : undefined
          }
          hint={`Makes ${eventDays.length} ${eventDays.length === 1 ? 'event' : 'events'}, the last on ${formatDays({ from: lastDay, to: lastDay }, '')}.`}
        />
      )}
    </div>
  );
}

function buildProjectOptions(projects: readonly Project[], selectedId: string) {
  const projectChoices = projects.map(({ project_id, project_name }) => ({ value: project_id, text: project_name }));
  const isSelectedListed = selectedId === '0' || projects.some(({ project_id }) => project_id === selectedId);
  return [
    { value: '0', text: 'No project' },
    ...(isSelectedListed ? [] : [{ value: selectedId, text: `Project ${selectedId}` }]),
    ...projectChoices,
  ];
}
