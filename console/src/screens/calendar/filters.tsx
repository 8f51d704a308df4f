import { useMemo } from 'preact/hooks';
import { updateQueryParams } from '../../app/router.ts';
import { Dialog } from '../../components/dialog.tsx';
import { Icon } from '../../components/icon.tsx';
import { type ProjectsById, projectColorOf, projectNameOf } from './entries.ts';
import type { RangeData } from './range-cache.ts';

const MAX_PROJECT_CHIPS = 8;

export const SEARCH_INPUT_ID = 'calendar-search';

type CalendarFilterProps = {
  readonly data: RangeData | undefined;
  readonly projects: ProjectsById;
  readonly chosenProjectIds: readonly string[];
  readonly searchText: string;
  readonly includesTasks: boolean;
};

/**
 * Filter controls of the calendar. Their values are stored in the query of the route. The project chips are also the
 * color legend.
 */
export function CalendarFilterControls({
  data,
  projects,
  chosenProjectIds,
  searchText,
  includesTasks,
}: CalendarFilterProps) {
  const projectIds = useMemo(() => findProjectIdsToShow(data, chosenProjectIds), [data, chosenProjectIds.join()]);
  const toggleProject = (projectId: string) => {
    const nextProjectIds = chosenProjectIds.includes(projectId)
      ? chosenProjectIds.filter((chosenId) => chosenId !== projectId)
      : [...chosenProjectIds, projectId];
    updateQueryParams({ projects: nextProjectIds.join(',') });
  };
  return (
    <fieldset class="calendar-filters" aria-label="What is shown">
      <label class="search">
        <Icon name="search" />
        <input
          id={SEARCH_INPUT_ID}
          class="input"
          type="search"
          aria-label="Search by name"
          placeholder="Search"
          value={searchText}
          onInput={(event) => updateQueryParams({ q: event.currentTarget.value })}
          onKeyDown={(event) => {
            if (event.key !== 'Escape') return;
            updateQueryParams({ q: undefined });
            event.currentTarget.blur();
          }}
        />
      </label>
      <button
        type="button"
        class="chip"
        aria-pressed={includesTasks}
        onClick={() => updateQueryParams({ tasks: includesTasks ? undefined : '1' })}
      >
        <Icon name="task" />
        Tasks due
      </button>
      {projectIds.length > 0 && <span class="divider" />}
      {projectIds.map((projectId) => {
        const colour = projectColorOf(projectId, projects);
        return (
          <button
            key={projectId}
            type="button"
            class="chip"
            aria-pressed={chosenProjectIds.includes(projectId)}
            onClick={() => toggleProject(projectId)}
          >
            <span class="dot" style={{ '--dot': colour ?? 'var(--accent)' }} />
            <span class="cut">{projectId === '0' ? 'No project' : projectNameOf(projectId, projects)}</span>
          </button>
        );
      })}
      {chosenProjectIds.length > 0 && (
        <button type="button" class="chip" onClick={() => updateQueryParams({ projects: undefined })}>
          <Icon name="cross" />
          All projects
        </button>
      )}
    </fieldset>
  );
}

/** Returns the ids of the projects with the most visible entries, and of the selected projects. */
function findProjectIdsToShow(
  rangeData: RangeData | undefined,
  chosenProjectIds: readonly string[],
): readonly string[] {
  const entryCountByProjectId = new Map<string, number>();
  for (const { project_id } of [...(rangeData?.events ?? []), ...(rangeData?.tasks ?? [])]) {
    entryCountByProjectId.set(project_id, (entryCountByProjectId.get(project_id) ?? 0) + 1);
  }
  const mostUsedProjectIds = [...entryCountByProjectId].sort(([, a], [, b]) => b - a).map(([projectId]) => projectId);
  const displayedProjectIds = new Set([...mostUsedProjectIds.slice(0, MAX_PROJECT_CHIPS), ...chosenProjectIds]);
  // Show no chips if no visible entry has a project.
  if (displayedProjectIds.size === 1 && displayedProjectIds.has('0') && chosenProjectIds.length === 0) return [];
  return [...displayedProjectIds].sort((a, b) => Number(a === '0') - Number(b === '0') || Number(a) - Number(b));
}

const SHORTCUT_DESCRIPTIONS: readonly (readonly [keys: string, action: string])[] = [
  ['← → ↑ ↓', 'Go from day to day'],
  ['Enter', 'Go to what is on the day; on an empty day, make an event; on an event, open it'],
  ['↑ ↓', 'On an event: go to the others of its day'],
  ['Esc', 'Back to the day'],
  ['n', 'New event on this day'],
  ['q', 'Add an event in one line'],
  ['e', 'Edit the event'],
  ['c', 'Duplicate the event'],
  ['Delete', 'Delete the event'],
  ['Shift ← →', 'Move the event by a day; with ↑ ↓ by a week'],
  ['Alt Shift ← →', 'End the event a day earlier or later'],
  ['j k', 'Next and previous; so do Page Down and Page Up'],
  ['t', 'Today'],
  ['m w d l', 'Month, week, day, list'],
  ['/', 'Search'],
  ['?', 'These keys'],
];

/** Dialog that lists the keyboard shortcuts. */
export function ShortcutsDialog({ onClose }: { readonly onClose: () => void }) {
  return (
    <Dialog title="Keys of the calendar" onClose={onClose}>
      <dl class="keys">
        {SHORTCUT_DESCRIPTIONS.map(([keys, action]) => (
          <div key={action}>
            <dt>
              {keys.split(' ').map((key) => (
                <kbd key={key} class="key">
                  {key}
                </kbd>
              ))}
            </dt>
            <dd>{action}</dd>
          </div>
        ))}
      </dl>
    </Dialog>
  );
}
