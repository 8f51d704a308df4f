import type { ComponentChildren } from 'preact';
import type { GetMethod } from '../../../packages/sdk/src/resource-methods.ts';
import { hrefTo } from '../app/router.ts';
import { useQuery } from '../app/use-query.ts';
import { LoadingSkeleton, Note } from '../components/badge.tsx';
import { ButtonLink } from '../components/button.tsx';
import { Page } from '../components/page.tsx';

type RecordPageProps<T> = {
  readonly resource: GetMethod<T>;
  readonly id: string;
  /** Title until the record is loaded, such as `Client`. */
  readonly title: string;
  /** Name of the screen that lists the records, such as `clients`. */
  readonly all: string;
  /** @param onChange receives the updated record */
  readonly children: (record: T, onChange: (record: T) => void) => ComponentChildren;
};

/** Page of one record, with loading and error states. */
export function RecordPage<T>({ resource, id, title, all, children }: RecordPageProps<T>) {
  const { data, fault, set } = useQuery((signal) => resource.get(id, { signal }), [id]);
  if (data !== undefined) return <>{children(data, set)}</>;
  return (
    <Page title={title} calls={[]}>
      {fault === undefined ? <LoadingSkeleton /> : <Note tone="bad">{fault}</Note>}
      <div>
        <ButtonLink href={hrefTo(all)}>All {all}</ButtonLink>
      </div>
    </Page>
  );
}
