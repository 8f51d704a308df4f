import { updateQueryParams } from '../../app/router.ts';
import { Note, ProgressBar } from '../../components/badge.tsx';
import { Button } from '../../components/button.tsx';
import { eventCache } from './calendar-actions.ts';
import { MAX_EVENTS_PER_RANGE, type RangeData } from './range-cache.ts';

/** Status line of the calendar: error, loading, too many events, or no events. */
export function StatusLine({
  rangeData,
  isFiltered,
  entryCount,
}: {
  rangeData: RangeData | undefined;
  isFiltered: boolean;
  entryCount: number;
}) {
  const errorText = eventCache.errorText.value;
  if (errorText !== undefined) {
    return (
      <Note tone="bad">
        {errorText} <Button onClick={() => void eventCache.reload()}>Try again</Button>
      </Note>
    );
  }
  if (rangeData === undefined) return <ProgressBar label="Loading events" />;
  if (rangeData.totalEvents > MAX_EVENTS_PER_RANGE && rangeData.isComplete) {
    return (
      <Note tone="warn">
        {`These are ${rangeData.events.length.toLocaleString('en')} of ${rangeData.totalEvents.toLocaleString('en')} events. Choose a week or a day to see all of it.`}
      </Note>
    );
  }
  if (!rangeData.isComplete && rangeData.totalEvents > rangeData.events.length) {
    return (
      <p class="small soft state" role="status">
        {`${rangeData.events.length.toLocaleString('en')} of ${rangeData.totalEvents.toLocaleString('en')} events so far…`}
      </p>
    );
  }
  if (entryCount > 0 || !rangeData.isComplete) return null;
  if (isFiltered) {
    return (
      <p class="hint" role="status">
        Nothing on these days is called so, or is of these projects.{' '}
        <Button variant="quiet" onClick={() => updateQueryParams({ q: undefined, projects: undefined })}>
          Show everything
        </Button>
      </p>
    );
  }
  return (
    <p class="hint" role="status">
      Nothing on these days yet. Drag over some, click one, or write a line above.
    </p>
  );
}
