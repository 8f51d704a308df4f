import type { CalendarEvent, Project, Task } from '../../../../packages/sdk/src/resources.ts';
import { sanitizeColor } from '../../components/badge.tsx';
import { compareEntries, type LayoutEntry } from './layout.ts';
import type { RangeData } from './range-cache.ts';
import { type Day, dayOf, dayRangeOf, plusDays, timeSpanOf, toTimestamp } from './time-math.ts';

/** An entry of the calendar: an event, or the due date of a task. */
export type CalendarEntry = LayoutEntry & {
  /** Color of the entry's project; undefined without a project. */
  readonly colour: string | undefined;
  readonly projectName: string;
} & ({ readonly event: CalendarEvent; readonly task?: never } | { readonly task: Task; readonly event?: never });

export type ProjectsById = ReadonlyMap<string, Project>;

/** The golden angle: as a step between hues, it gives consecutive ids clearly different colors. */
const GOLDEN_ANGLE_DEGREES = 137.508;

/** Returns the color of a project: the color that is set for it, or a color derived from its id. */
export function projectColorOf(projectId: string, projects: ProjectsById): string | undefined {
  if (projectId === '0') return undefined;
  const ownColor = projects.get(projectId)?.color ?? '';
  return (
    (ownColor === '' ? undefined : sanitizeColor(ownColor)) ??
    `oklch(0.64 0.15 ${((Number(projectId) * GOLDEN_ANGLE_DEGREES) % 360).toFixed(1)})`
  );
}

export const projectNameOf = (projectId: string, projects: ProjectsById) =>
  projectId === '0' ? '' : (projects.get(projectId)?.project_name ?? `Project ${projectId}`);

/** Filters of calendar entries: project ids (empty means all), and a case-insensitive substring of the name. */
type EntryFilter = { readonly projectIds: readonly string[]; readonly searchText: string };

export function buildCalendarEntries(
  { events, tasks }: RangeData,
  projects: ProjectsById,
  { projectIds, searchText }: EntryFilter,
): readonly CalendarEntry[] {
  const normalizedSearchText = searchText.trim().toLowerCase();
  const isFilterMatch = (projectId: string, name: string) =>
    (projectIds.length === 0 || projectIds.includes(projectId)) && name.toLowerCase().includes(normalizedSearchText);
  const projectFieldsOf = (projectId: string) => ({
    colour: projectColorOf(projectId, projects),
    projectName: projectNameOf(projectId, projects),
  });
  const eventEntries = events
    .filter((event) => isFilterMatch(event.project_id, event.event_name))
    .map((event): CalendarEntry => {
      const timeSpan = timeSpanOf(event);
      const days = dayRangeOf(timeSpan);
      return {
        id: `e${event.event_id}`,
        title: event.event_name,
        event,
        days,
        ...timeSpan,
        ...projectFieldsOf(event.project_id),
      };
    });
  const taskEntries = tasks
    .filter((task) => isFilterMatch(task.project_id, task.task_name))
    .map((task): CalendarEntry => {
      const day = dayOf(task.due_date);
      const timeSpan = { start: toTimestamp(day), end: toTimestamp(plusDays(day, 1)), isAllDay: true };
      const days = { from: day, to: day };
      return {
        id: `t${task.task_id}`,
        title: task.task_name,
        task,
        days,
        ...timeSpan,
        ...projectFieldsOf(task.project_id),
      };
    });
  return [...eventEntries, ...taskEntries].sort(compareEntries);
}

export const isEntryOnDay = ({ days }: CalendarEntry, day: Day) => days.from <= day && days.to >= day;
