import type { CalendarEvent } from '../../../../packages/sdk/src/events.ts';
import type { Project } from '../../../../packages/sdk/src/projects.ts';
import type { Task } from '../../../../packages/sdk/src/tasks.ts';
import { colourOf } from '../../components/colour.tsx';
import { inOrder, type Placed } from './layout.ts';
import type { Held } from './range-cache.ts';
import { at, type Day, dayOf, daysOf, drawn, plusDays } from './time-math.ts';

/** Something on the calendar: an event, or the day that a task is due. */
export type Entry = Placed & {
  /** The colour of its project; undefined without one. */
  readonly colour: string | undefined;
  readonly projectName: string;
} & ({ readonly event: CalendarEvent; readonly task?: never } | { readonly task: Task; readonly event?: never });

export type Projects = ReadonlyMap<string, Project>;

/** Steps around the colours by the golden angle: ids that follow each other lie far apart. */
const GOLDEN_DEGREES = 137.508;

/** The colour of a project: its own, or one that is always the same for its id. */
export function colourOfProject(projectId: string, projects: Projects): string | undefined {
  if (projectId === '0') return undefined;
  const own = projects.get(projectId)?.color ?? '';
  return (
    (own === '' ? undefined : colourOf(own)) ??
    `oklch(0.64 0.15 ${((Number(projectId) * GOLDEN_DEGREES) % 360).toFixed(1)})`
  );
}

export const projectNameOf = (projectId: string, projects: Projects) =>
  projectId === '0' ? '' : (projects.get(projectId)?.project_name ?? `Project ${projectId}`);

/** What of a window is shown: of some projects, or of all; with some text in the name, in any case. */
export type Sieve = { readonly projectIds: readonly string[]; readonly text: string };

export function entriesOf({ events, tasks }: Held, projects: Projects, { projectIds, text }: Sieve): readonly Entry[] {
  const wanted = text.trim().toLowerCase();
  const isWanted = (projectId: string, name: string) =>
    (projectIds.length === 0 || projectIds.includes(projectId)) && name.toLowerCase().includes(wanted);
  const ofProject = (projectId: string) => ({
    colour: colourOfProject(projectId, projects),
    projectName: projectNameOf(projectId, projects),
  });
  const shownEvents = events
    .filter((event) => isWanted(event.project_id, event.event_name))
    .map((event): Entry => {
      const times = drawn(event);
      const days = daysOf(times);
      return {
        id: `e${event.event_id}`,
        title: event.event_name,
        event,
        days,
        ...times,
        ...ofProject(event.project_id),
      };
    });
  const shownTasks = tasks
    .filter((task) => isWanted(task.project_id, task.task_name))
    .map((task): Entry => {
      const day = dayOf(task.due_date);
      const times = { start: at(day), end: at(plusDays(day, 1)), isAllDay: true };
      const days = { from: day, to: day };
      return { id: `t${task.task_id}`, title: task.task_name, task, days, ...times, ...ofProject(task.project_id) };
    });
  return [...shownEvents, ...shownTasks].sort(inOrder);
}

/** Whether an entry is on a day. */
export const isOn = ({ days }: Entry, day: Day) => days.from <= day && days.to >= day;
