import type { ComponentChildren } from 'preact';
import type { Gets } from '../../../packages/sdk/src/resource.ts';
import { ButtonLink } from '../design/button.tsx';
import { Page } from '../design/page.tsx';
import { Note, Waiting } from '../design/state.tsx';
import { useLoaded } from '../load.ts';
import { to } from '../router.ts';

type RecordPageProps<T> = {
  readonly noun: Gets<T>;
  readonly id: string;
  /** What it is: `Client`. */
  readonly title: string;
  /** The screen that has all of them. */
  readonly all: string;
  /** @param onChange shows the record as it is now */
  readonly children: (record: T, onChange: (record: T) => void) => ComponentChildren;
};

/** One record as soon as it has come; until then that it comes, or why it does not and where the others are. */
export function RecordPage<T>({ noun, id, title, all, children }: RecordPageProps<T>) {
  const { data, fault, set } = useLoaded((signal) => noun.get(id, { signal }), [id]);
  if (data !== undefined) return <>{children(data, set)}</>;
  return (
    <Page title={title} calls={[]}>
      {fault === undefined ? <Waiting /> : <Note tone="bad">{fault}</Note>}
      <div>
        <ButtonLink href={to(all)}>All {all}</ButtonLink>
      </div>
    </Page>
  );
}
