import { dayOf, dueIn, showDay, today } from '../app/calendar-dates.ts';
import { Progress } from '../components/badge.tsx';

/** When something is due, and how far that is; once it is completed, nothing is late. */
export function Due({ due, isDone }: { readonly due: string; readonly isDone: boolean }) {
  const last = dayOf(due);
  if (last === '') return null;
  const { text: words, tone } = dueIn(last, today());
  return (
    <span class="due">
      <span class="number">{showDay(due)}</span>
      {!isDone && words !== '' && <span class={`small due-${tone}`}>{words}</span>}
    </span>
  );
}

/** How far something is, as a bar with its number. */
export function Percent({ percent, name }: { readonly percent: number; readonly name: string }) {
  return (
    <span class="percent">
      <Progress percent={percent} label={`Progress of ${name}`} />
      <span class="number small">{percent} %</span>
    </span>
  );
}
