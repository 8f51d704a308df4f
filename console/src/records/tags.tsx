import { dayOrEmpty, describeDueDate, formatDayAndTime, today } from '../app/calendar-dates.ts';
import { currentRoute, updateQueryParams } from '../app/router.ts';
import { ProgressBar } from '../components/badge.tsx';

/** Tags of a record; a click on a tag filters the list by this tag. */
export function Tags({ tags }: { readonly tags: string }) {
  if (tags === '') return null;
  return tags.split(',').map((tag) => (
    <button
      key={tag}
      type="button"
      class="chip"
      title={`Only those tagged ${tag}`}
      onClick={() => updateQueryParams({ tag, page: '' })}
    >
      {tag}
    </button>
  ));
}

/** The active tag filter, with a button to clear it. */
export function TagFilter() {
  const tag = currentRoute.value.query.get('tag') ?? '';
  if (tag === '') return null;
  return (
    <button
      type="button"
      class="chip"
      aria-pressed="true"
      title="Show all tags again"
      onClick={() => updateQueryParams({ tag: '', page: '' })}
    >
      {tag} ×
    </button>
  );
}

/** Due date with relative text, such as "2 days late"; for a completed record only the date is shown. */
export function DueDate({ due, isDone }: { readonly due: string; readonly isDone: boolean }) {
  const dueDay = dayOrEmpty(due);
  if (dueDay === '') return null;
  const { text: relativeText, tone } = describeDueDate(dueDay, today());
  return (
    <span class="due">
      <span class="number">{formatDayAndTime(due)}</span>
      {!isDone && relativeText !== '' && <span class={`small due-${tone}`}>{relativeText}</span>}
    </span>
  );
}

/** Progress bar, followed by the percentage as text. */
export function ProgressPercent({ percent, name }: { readonly percent: number; readonly name: string }) {
  return (
    <span class="percent">
      <ProgressBar percent={percent} label={`Progress of ${name}`} />
      <span class="number small">{percent} %</span>
    </span>
  );
}
