import type { ComponentChildren } from 'preact';
import { fieldError } from '../app/optimistic-update.ts';
import { currentRoute, setQuery } from '../app/router.ts';
import { LoadingSkeleton, Note } from '../components/badge.tsx';
import { Button } from '../components/button.tsx';
import { Select } from '../components/field.tsx';
import { QuickAddField } from '../components/inline-edit.tsx';
import { EmptyState, Pager } from '../components/page.tsx';
import type { Records } from './records.ts';

type RecordListProps<T> = {
  readonly records: Records<T>;
  /** Singular and plural of the listed records: `['task', 'tasks']`. */
  readonly words: readonly [string, string];
  /** Column headings; a column for the row menu is added. */
  readonly columns: readonly ComponentChildren[];
  /** Shown when the list has no records. */
  readonly empty: ComponentChildren;
  readonly row: (record: T) => ComponentChildren;
  /** Creates a record from its name; undefined hides the quick-add field. */
  readonly create: ((name: string) => Promise<T>) | undefined;
  /** Additional fields of the quick-add form. */
  readonly children?: ComponentChildren;
};

/** Table with one page of records, a quick-add field and pagination, and with loading, empty and error states. */
export function RecordList<T>({ records, words, columns, empty, row, create, children }: RecordListProps<T>) {
  const { rows, fault, paging, isLoading, reload, append } = records;
  return (
    <>
      {fault !== undefined && (
        <Note tone="bad">
          {fault} <Button onClick={reload}>Try again</Button>
        </Note>
      )}
      <section class="card" aria-label={`List of ${words[1]}`} aria-busy={isLoading}>
        {rows === undefined && fault === undefined && (
          <div class="card-waiting">
            <LoadingSkeleton />
          </div>
        )}
        {rows?.length === 0 && (paging.offset === 0 ? empty : <PageOutOfRange />)}
        {rows !== undefined && rows.length > 0 && (
          <table class="table plan">
            <thead>
              <tr>
                {columns.map((column, index) => (
                  <th key={index}>{column}</th>
                ))}
                <th>
                  <HiddenText>More</HiddenText>
                </th>
              </tr>
            </thead>
            <tbody>{rows.map(row)}</tbody>
          </table>
        )}
        {create !== undefined && (
          <QuickAddField
            label={`Add a ${words[0]}`}
            explain={(error) => fieldError(error, 'Name')}
            onAdd={async (name) => append(await create(name))}
          >
            {children}
          </QuickAddField>
        )}
      </section>
      {rows !== undefined && (
        <Pager
          paging={paging}
          words={words}
          shown={rows.length}
          onPage={(page) => setQuery({ page: page === 1 ? '' : String(page) })}
        />
      )}
    </>
  );
}

/** Empty state of a page after the last page of the list. */
function PageOutOfRange() {
  return (
    <EmptyState icon="check" title="Nothing on this page">
      <Button onClick={() => setQuery({ page: '' })}>To the first page</Button>
    </EmptyState>
  );
}

/** Text for screen readers only. */
export const HiddenText = ({ children }: { readonly children: string }) => <span class="hidden-text">{children}</span>;

type FilterSelectProps = {
  /** Name of the query parameter. */
  readonly name: string;
  readonly label: string;
  readonly options: readonly { readonly value: string; readonly text: string }[];
};

/** Select that filters or sorts the list; its value is a query parameter of the route. */
export function FilterSelect({ name, label, options }: FilterSelectProps) {
  return (
    <Select
      label={label}
      hideLabel
      value={currentRoute.value.query.get(name) ?? ''}
      options={options}
      onChange={(value) => setQuery({ [name]: value, page: '' })}
    />
  );
}

/** Returns the value of a query parameter if it is one of the options, otherwise undefined. */
export function optionFromQuery<V extends string>(
  name: string,
  options: readonly { readonly value: V }[],
): V | undefined {
  return options.find(({ value }) => value === currentRoute.value.query.get(name))?.value;
}

/** Formats list filters as a query string. */
export function toQueryString(filters: object): string {
  return String(new URLSearchParams(Object.entries(filters).map(([name, value]) => [name, String(value)])));
}
