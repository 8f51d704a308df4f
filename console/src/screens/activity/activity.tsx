import type { ScreenProps } from '../../screens.ts';
import { Happenings } from './happenings.tsx';
import { OneOccurrence } from './one-occurrence.tsx';
import './activity.css';

/** What happens, as it happens; or one occurrence from commit to fetch. */
export default function Activity({ rest: [cursor] }: ScreenProps) {
  return cursor === undefined ? <Happenings /> : <OneOccurrence key={cursor} cursor={cursor} />;
}
