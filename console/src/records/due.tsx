import { dayOf, dueIn, showDay, today } from '../app/calendar-dates.ts';
import { Progress } from '../components/badge.tsx';

/** Due date with its relative text, such as "2 days late"; a completed record has no relative text. */
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

/** Progress bar with its number. */
export function Percent({ percent, name }: { readonly percent: number; readonly name: string }) {
  return (
    <span class="percent">
      <Progress percent={percent} label={`Progress of ${name}`} />
      <span class="number small">{percent} %</span>
    </span>
  );
}
