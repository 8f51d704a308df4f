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
  readonly loadingTitle: string;
  /** Name of the screen that lists the records, such as `clients`. */
  readonly listScreenName: string;
  /** @param onChange receives the updated record */
  readonly children: (record: T, onChange: (record: T) => void) => ComponentChildren;
};

/** Page of one record, with loading and error states. */
export function RecordPage<T>({ resource, id, loadingTitle, listScreenName, children }: RecordPageProps<T>) {
  const { data, errorText, setData } = useQuery((signal) => resource.get(id, { signal }), [id]);
  if (data !== undefined) return <>{children(data, setData)}</>;
  return (
    <Page title={loadingTitle} calls={[]}>
      {errorText === undefined ? <LoadingSkeleton /> : <Note tone="bad">{errorText}</Note>}
      <div>
        <ButtonLink href={hrefTo(listScreenName)}>All {listScreenName}</ButtonLink>
      </div>
    </Page>
  );
}
