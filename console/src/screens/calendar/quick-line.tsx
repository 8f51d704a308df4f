import { useId, useState } from 'preact/hooks';
import type { EventInput, Project } from '../../../../packages/sdk/src/resources.ts';
import { today } from '../../app/calendar-dates.ts';
import { runWithToast } from '../../app/use-query.ts';
import { Button } from '../../components/button.tsx';
import { Icon } from '../../components/icon.tsx';
import { createEvent } from './calendar-actions.ts';
import { type ProjectsById, projectColor } from './entries.ts';
import { formatDays, formatTime, isMonthFirst } from './locale.ts';
import { type ParsedLine, parseQuickAdd } from './quick-add.ts';
import { type Day, formToEventDates } from './time-math.ts';

type QuickLineProps = {
  readonly projects: ProjectsById;
  /** Day of the event if the line contains no day. */
  readonly cursor: Day;
  readonly onDone: (day: Day) => void;
};

export const QUICK_LINE_INPUT_ID = 'quick-line';

/** Converts a parsed line to the input of an event; undefined while the name is missing. */
export function toEventInput({ name, days, times, project }: ParsedLine<Project>, cursor: Day): EventInput | undefined {
  if (name === '') return undefined;
  const { start, due } = days ?? { start: cursor, due: cursor };
  const dates = formToEventDates({
    startDay: start,
    dueDay: due,
    startTime: times?.start ?? '',
    dueTime: times?.due ?? '',
  });
  return { event_name: name, ...dates, project_id: project?.project_id ?? '0' };
}

/** Quick-add form: one line of text creates an event. While the user types, chips show the parsed values. */
export function QuickLine({ projects, cursor, onDone }: QuickLineProps) {
  const [text, setText] = useState('');
  const [isBusy, setBusy] = useState(false);
  const id = useId();
  const parsed = parseQuickAdd(text, { today: today(), projects: [...projects.values()], isMonthFirst });
  const input = toEventInput(parsed, cursor);
  const submit = async (event: Event) => {
    event.preventDefault();
    if (input === undefined || isBusy) return;
    setBusy(true);
    const isDone = await runWithToast(() => createEvent(input));
    setBusy(false);
    if (!isDone) return;
    setText('');
    onDone(input.start_date.slice(0, 10));
  };
  return (
    <form class="quick" onSubmit={submit}>
      <Icon name="plus" />
      <input
        id={QUICK_LINE_INPUT_ID}
        class="input"
        aria-label="Add an event in one line"
        aria-describedby={text === '' ? undefined : id}
        autoComplete="off"
        maxLength={400}
        placeholder="Release v27 20 Apr – 24 Apr #Node 27"
        value={text}
        onInput={(event) => setText(event.currentTarget.value)}
        onKeyDown={(event) => {
          if (event.key !== 'Escape') return;
          setText('');
          event.currentTarget.blur();
        }}
      />
      {text.trim() === '' ? (
        <kbd class="key">q</kbd>
      ) : (
        <div class="understood" id={id}>
          <ParsedChips parsed={parsed} cursor={cursor} projects={projects} />
          <Button variant="primary" type="submit" disabled={input === undefined || isBusy}>
            Add
          </Button>
        </div>
      )}
    </form>
  );
}

function ParsedChips({
  parsed: { name, days, times, project },
  cursor,
  projects,
}: {
  parsed: ParsedLine<Project>;
  cursor: Day;
  projects: ProjectsById;
}) {
  const { start, due } = days ?? { start: cursor, due: cursor };
  const colour = project === undefined ? undefined : projectColor(project.project_id, projects);
  return (
    <>
      <span class={`chip ${name === '' ? 'missing' : ''}`} data-of="name">
        <Icon name="pencil" />
        <span class="cut">{name === '' ? 'It needs a name' : name}</span>
      </span>
      <span class={`chip ${days === undefined ? 'guessed' : ''}`} data-of="days">
        <Icon name="calendar" />
        {formatDays({ from: start, to: due }, today().slice(0, 4))}
      </span>
      <span class={`chip ${times === undefined ? 'guessed' : ''}`} data-of="times">
        <Icon name="clock" />
        {times === undefined ? 'all day' : `${formatTime(times.start)} – ${formatTime(times.due)}`}
      </span>
      {project !== undefined && (
        <span class="chip" data-of="project">
          <span class="dot" style={colour === undefined ? {} : { '--dot': colour }} />
          <span class="cut">{project.project_name}</span>
        </span>
      )}
    </>
  );
}
