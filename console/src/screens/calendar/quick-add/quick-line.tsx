import { useId, useState } from 'preact/hooks';
import type { EventInput, Project } from '../../../../../packages/sdk/src/resources.ts';
import { today } from '../../../app/calendar-dates.ts';
import { runWithToast } from '../../../app/use-query.ts';
import { Button } from '../../../components/button.tsx';
import { Icon } from '../../../components/icon.tsx';
import { createEvent } from '../calendar-actions.ts';
import { type ProjectsById, projectColorOf } from '../entries.ts';
import { formatDays, formatTime, isMonthFirst } from '../locale.ts';
import { type Day, formToEventDates } from '../time-math.ts';
import { type ParsedLine, parseQuickAddLine } from './quick-add.ts';

type QuickAddFormProps = {
  readonly projects: ProjectsById;
  /** Day of the event if the line contains no day. */
  readonly defaultDay: Day;
  readonly onCreated: (day: Day) => void;
};

export const QUICK_ADD_INPUT_ID = 'quick-line';

/** Converts a parsed line to the input of an event; undefined while the name is missing. */
function eventInputFromLine(
  { name, days, times, project }: ParsedLine<Project>,
  defaultDay: Day,
): EventInput | undefined {
  if (name === '') return undefined;
  const { start, due } = days ?? { start: defaultDay, due: defaultDay };
  const eventDates = formToEventDates({
    startDay: start,
    dueDay: due,
    startTime: times?.start ?? '',
    dueTime: times?.due ?? '',
  });
  return { event_name: name, ...eventDates, project_id: project?.project_id ?? '0' };
}

/** Quick-add form: one line of text creates an event. While the user types, chips show the parsed values. */
export function QuickAddForm({ projects, defaultDay, onCreated }: QuickAddFormProps) {
  const [lineText, setLineText] = useState('');
  const [isBusy, setBusy] = useState(false);
  const chipsId = useId();
  const parsedLine = parseQuickAddLine(lineText, { today: today(), projects: [...projects.values()], isMonthFirst });
  const eventInput = eventInputFromLine(parsedLine, defaultDay);
  const submit = async (event: Event) => {
    event.preventDefault();
    if (eventInput === undefined || isBusy) return;
    setBusy(true);
    const isCreated = await runWithToast(() => createEvent(eventInput));
    setBusy(false);
    if (!isCreated) return;
    setLineText('');
    onCreated(eventInput.start_date.slice(0, 10));
  };
  return (
    <form class="quick" onSubmit={submit}>
      <Icon name="plus" />
      <input
        id={QUICK_ADD_INPUT_ID}
        class="input"
        aria-label="Add an event in one line"
        aria-describedby={lineText === '' ? undefined : chipsId}
        autoComplete="off"
        maxLength={400}
        placeholder="Release v27 20 Apr – 24 Apr #Node 27"
        value={lineText}
        onInput={(event) => setLineText(event.currentTarget.value)}
        onKeyDown={(event) => {
          if (event.key !== 'Escape') return;
          setLineText('');
          event.currentTarget.blur();
        }}
      />
      {lineText.trim() === '' ? (
        <kbd class="key">q</kbd>
      ) : (
        <div class="understood" id={chipsId}>
          <ParsedChips parsedLine={parsedLine} defaultDay={defaultDay} projects={projects} />
          <Button variant="primary" type="submit" disabled={eventInput === undefined || isBusy}>
            Add
          </Button>
        </div>
      )}
    </form>
  );
}

function ParsedChips({
  parsedLine: { name, days, times, project },
  defaultDay,
  projects,
}: {
  parsedLine: ParsedLine<Project>;
  defaultDay: Day;
  projects: ProjectsById;
}) {
  const { start, due } = days ?? { start: defaultDay, due: defaultDay };
  const colour = project === undefined ? undefined : projectColorOf(project.project_id, projects);
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
