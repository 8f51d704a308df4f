import { useState } from 'preact/hooks';
import type { CalendarEvent, EventInput } from '../../../../packages/sdk/src/events.ts';
import type { Project } from '../../../../packages/sdk/src/projects.ts';
import { Overtaken } from '../../app/optimistic-update.ts';
import { explain, faultsOf } from '../../app/use-query.ts';
import { Note, Progress } from '../../components/badge.tsx';
import { Button } from '../../components/button.tsx';
import { Dialog } from '../../components/dialog.tsx';
import { Check, Select, TextField } from '../../components/field.tsx';
import { changeEvent, createEvent, createEvents, deleteEvent, duplicateEvent } from './calendar-actions.ts';
import { daysName } from './locale.ts';
import { MAX_REPEATS, offsets, type Rhythm, repeated, rhythms } from './repeat.ts';
import { datedFrom, daysFrom, type Filled, filledFrom, isDay, moved, plusDays, plusMonths } from './time-math.ts';

/** What an event is made from, or which one it is. */
export type Draft = Filled & { readonly name: string; readonly projectId: string; readonly event?: CalendarEvent };

export const draftOf = (event: CalendarEvent): Draft => {
  return { ...filledFrom(event), name: event.event_name, projectId: event.project_id, event };
};

type Props = {
  readonly draft: Draft;
  readonly projects: readonly Project[];
  readonly onClose: () => void;
  /** It has been made, or changed: these are its days now. */
  readonly onDone: (day: string) => void;
};

const DAY_S = 86_400;

/** Where an event is made, changed, repeated, duplicated and deleted. */
export function EventDialog({ draft, projects, onClose, onDone }: Props) {
  const [now, setNow] = useState(draft);
  const [rhythm, setRhythm] = useState<Rhythm | ''>('');
  const [until, setUntil] = useState(plusMonths(draft.startDay, 3));
  const [fault, setFault] = useState<{ text: string; fields: Readonly<Record<string, string>> }>();
  const [made, setMade] = useState<number>();
  const [stop] = useState(() => new AbortController());
  // What it is changed from: as it was opened, or as somebody else has left it meanwhile.
  const [event, setEvent] = useState(draft.event);
  const set = (change: Partial<Draft>) => setNow({ ...now, ...change });
  const days = rhythm === '' || !isDay(until) ? [now.startDay] : repeated(now.startDay, rhythm, until);
  const wrong = faultIn(now) ?? (days.length > MAX_REPEATS ? 'many' : undefined);
  const close = () => {
    stop.abort();
    onClose();
  };
  const submit = async (submitted: Event) => {
    submitted.preventDefault();
    if (wrong !== undefined) return setFault({ text: '', fields: {} });
    setMade(0);
    try {
      if (event !== undefined) await save(event, now);
      else if (days.length > 1) await createEvents(seriesOf(now, days), { onDone: setMade, signal: stop.signal });
      else await createEvent(inputOf(now));
      onClose();
      onDone(now.startDay);
    } catch (error) {
      const isOvertaken = error instanceof Overtaken;
      if (isOvertaken) setEvent(error.record as CalendarEvent);
      const text = isOvertaken ? `${explain(error)} Saved once more, what stands here counts.` : explain(error);
      setFault({ text, fields: faultsOf(error) });
      setMade(undefined);
    }
  };
  const andClose = (work: (event: CalendarEvent) => Promise<void>) => () => {
    close();
    if (event !== undefined) void work(event);
  };
  return (
    <Dialog title={event === undefined ? 'New event' : 'Event'} onClose={close}>
      <form class="stack event-form" onSubmit={submit} noValidate>
        {fault !== undefined && fault.text !== '' && <Note tone="bad">{fault.text}</Note>}
        <TextField
          label="Name"
          value={now.name}
          required
          maxLength={255}
          autoFocus
          placeholder="Release v27"
          onInput={(name) => set({ name })}
          fault={fault?.fields.event_name ?? (fault !== undefined && wrong === 'name' ? 'Give it a name.' : undefined)}
        />
        <When now={now} wrong={fault === undefined ? undefined : wrong} fields={fault?.fields ?? {}} set={set} />
        <Select
          label="Project"
          value={now.projectId}
          options={projectOptions(projects, now.projectId)}
          onChange={(projectId) => set({ projectId })}
        />
        {event === undefined && (
          <Repeat rhythm={rhythm} until={until} days={days} setRhythm={setRhythm} setUntil={setUntil} />
        )}
        {made !== undefined && days.length > 1 && (
          <div class="row">
            <span class="grow">
              <Progress label="Events created" percent={Math.round((100 * made) / days.length)} />
            </span>
            <span class="number small">
              {made} of {days.length}
            </span>
            <Button onClick={() => stop.abort()}>Stop</Button>
          </div>
        )}
        <div class="ends">
          {event !== undefined && (
            <span class="row grow">
              <Button look="quiet" icon="trash" onClick={andClose(deleteEvent)}>
                Delete
              </Button>
              <Button look="quiet" icon="copy" onClick={andClose(duplicateEvent)}>
                Duplicate
              </Button>
            </span>
          )}
          <Button onClick={close}>Cancel</Button>
          <Button look="primary" type="submit" disabled={made !== undefined}>
            {event !== undefined ? 'Save' : days.length > 1 ? `Create ${days.length} events` : 'Create'}
          </Button>
        </div>
      </form>
    </Dialog>
  );
}

type WhenProps = {
  readonly now: Draft;
  readonly wrong: string | undefined;
  readonly fields: Readonly<Record<string, string>>;
  readonly set: (change: Partial<Draft>) => void;
};

/** From when to when; the end moves along with the begin. */
function When({ now, wrong, fields, set }: WhenProps) {
  const isAllDay = now.startTime === '' && now.dueTime === '';
  const begin = (startDay: string) => {
    if (!isDay(startDay) || !isDay(now.dueDay)) return set({ startDay });
    set({ startDay, dueDay: plusDays(now.dueDay, daysFrom(now.startDay, startDay)) });
  };
  return (
    <>
      <div class={`when ${isAllDay ? '' : 'timed'}`}>
        <div class="bound">
          <TextField
            label="From"
            type="date"
            value={now.startDay}
            onInput={begin}
            fault={fields.start_date ?? (wrong === 'start' ? 'Give the first day.' : undefined)}
          />
          {!isAllDay && (
            <TextField
              label="Begins at"
              type="time"
              value={now.startTime}
              onInput={(startTime) => set({ startTime })}
            />
          )}
        </div>
        <div class="bound">
          <TextField
            label="To"
            type="date"
            value={now.dueDay}
            onInput={(dueDay) => set({ dueDay })}
            fault={fields.due_date ?? (wrong === 'due' ? 'It ends before it begins.' : undefined)}
          />
          {!isAllDay && (
            <TextField label="Ends at" type="time" value={now.dueTime} onInput={(dueTime) => set({ dueTime })} />
          )}
        </div>
      </div>
      <Check
        label="All day"
        checked={isAllDay}
        onChange={(checked) => set(checked ? { startTime: '', dueTime: '' } : { startTime: '09:00', dueTime: '10:00' })}
      />
    </>
  );
}

type RepeatProps = {
  readonly rhythm: Rhythm | '';
  readonly until: string;
  readonly days: readonly string[];
  readonly setRhythm: (rhythm: Rhythm | '') => void;
  readonly setUntil: (until: string) => void;
};

function Repeat({ rhythm, until, days, setRhythm, setUntil }: RepeatProps) {
  const options = [
    { value: '' as const, text: 'Does not repeat' },
    ...Object.entries(rhythms).map(([value, { text }]) => ({ value: value as Rhythm, text })),
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
          hint={`Makes ${days.length} ${days.length === 1 ? 'event' : 'events'}, the last on ${daysName({ from: last, to: last }, '')}.`}
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

/** What keeps a draft from being an event. */
function faultIn({ name, startDay, dueDay, startTime, dueTime }: Draft): 'name' | 'start' | 'due' | undefined {
  if (name.trim() === '') return 'name';
  if (!isDay(startDay)) return 'start';
  if (!isDay(dueDay) || dueDay < startDay) return 'due';
  const isBefore = dueDay === startDay && dueTime !== '' && dueTime !== '00:00' && dueTime < startTime;
  return isBefore ? 'due' : undefined;
}

function inputOf(draft: Draft): EventInput {
  return { event_name: draft.name.trim(), ...datedFrom(draft), project_id: draft.projectId };
}

/** The same on each of the days. */
function seriesOf(draft: Draft, days: readonly string[]): readonly EventInput[] {
  const input = inputOf(draft);
  return offsets(days).map((count) => ({ ...input, ...moved(datedFrom(draft), count * DAY_S) }));
}

/** Sends what was changed here, and nothing else: what others change beside it stays. */
async function save(event: CalendarEvent, draft: Draft): Promise<void> {
  const before = draftOf(event);
  const input = inputOf(draft);
  const isOther = (...names: readonly (keyof Draft)[]) => names.some((name) => before[name] !== draft[name]);
  const isTurned = (before.startTime === '') !== (draft.startTime === '');
  const changes = {
    ...(isOther('name') && { event_name: input.event_name }),
    ...((isOther('startDay', 'startTime') || isTurned) && { start_date: input.start_date }),
    ...((isOther('dueDay', 'dueTime') || isTurned) && { due_date: input.due_date }),
    ...(isOther('projectId') && { project_id: draft.projectId }),
  };
  if (Object.keys(changes).length > 0) await changeEvent(event, changes);
}
