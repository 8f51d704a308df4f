import { useMemo } from 'preact/hooks';
import { setQuery } from '../../app/router.ts';
import { Dialog } from '../../components/dialog.tsx';
import { Icon } from '../../components/icon.tsx';
import { type ProjectsById, projectColor, projectNameOf } from './entries.ts';
import type { RangeData } from './range-cache.ts';

const MAX_PROJECT_CHIPS = 8;

export const SEARCH_INPUT_ID = 'calendar-search';

type FilterControlsProps = {
  readonly data: RangeData | undefined;
  readonly projects: ProjectsById;
  readonly chosen: readonly string[];
  readonly text: string;
  readonly hasTasks: boolean;
};

/**
 * Filter controls of the calendar. Their values are stored in the query of the route. The project chips are also the
 * color legend.
 */
export function FilterControls({ data, projects, chosen, text, hasTasks }: FilterControlsProps) {
  const ids = useMemo(() => projectsToShow(data, chosen), [data, chosen.join()]);
  const toggle = (id: string) => {
    const next = chosen.includes(id) ? chosen.filter((one) => one !== id) : [...chosen, id];
    setQuery({ projects: next.join(',') });
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
          value={text}
          onInput={(event) => setQuery({ q: event.currentTarget.value })}
          onKeyDown={(event) => {
            if (event.key !== 'Escape') return;
            setQuery({ q: undefined });
            event.currentTarget.blur();
          }}
        />
      </label>
      <button
        type="button"
        class="chip"
        aria-pressed={hasTasks}
        onClick={() => setQuery({ tasks: hasTasks ? undefined : '1' })}
      >
        <Icon name="task" />
        Tasks due
      </button>
      {ids.length > 0 && <span class="divider" />}
      {ids.map((id) => {
        const colour = projectColor(id, projects);
        return (
          <button key={id} type="button" class="chip" aria-pressed={chosen.includes(id)} onClick={() => toggle(id)}>
            <span class="dot" style={{ '--dot': colour ?? 'var(--accent)' }} />
            <span class="cut">{id === '0' ? 'No project' : projectNameOf(id, projects)}</span>
          </button>
        );
      })}
      {chosen.length > 0 && (
        <button type="button" class="chip" onClick={() => setQuery({ projects: undefined })}>
          <Icon name="cross" />
          All projects
        </button>
      )}
    </fieldset>
  );
}

/** Returns the ids of the projects with the most visible entries, and of the selected projects. */
function projectsToShow(held: RangeData | undefined, chosen: readonly string[]): readonly string[] {
  const counts = new Map<string, number>();
  for (const { project_id } of [...(held?.events ?? []), ...(held?.tasks ?? [])]) {
    counts.set(project_id, (counts.get(project_id) ?? 0) + 1);
  }
  const byCount = [...counts].sort(([, a], [, b]) => b - a).map(([id]) => id);
  const displayed = new Set([...byCount.slice(0, MAX_PROJECT_CHIPS), ...chosen]);
  // Show no legend for a single color.
  if (displayed.size === 1 && displayed.has('0') && chosen.length === 0) return [];
  return [...displayed].sort((a, b) => Number(a === '0') - Number(b === '0') || Number(a) - Number(b));
}

const SHORTCUTS: readonly (readonly [keys: string, action: string])[] = [
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
        {SHORTCUTS.map(([keys, action]) => (
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
