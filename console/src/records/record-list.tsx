import type { ComponentChildren } from 'preact';
import { describeFieldError } from '../app/optimistic-update.ts';
import { currentRoute, updateQueryParams } from '../app/router.ts';
import { LoadingSkeleton, Note } from '../components/badge.tsx';
import { Button } from '../components/button.tsx';
import { Select } from '../components/field.tsx';
import { QuickAddField } from '../components/inline-edit.tsx';
import { EmptyState, Pager } from '../components/page.tsx';
import type { PagedRecords } from './records.ts';

type RecordListProps<T> = {
  readonly records: PagedRecords<T>;
  /** Singular and plural of the listed records: `['task', 'tasks']`. */
  readonly nounForms: readonly [string, string];
  /** Column headings; a column for the row menu is added. */
  readonly columns: readonly ComponentChildren[];
  /** Shown when the list has no records. */
  readonly emptyState: ComponentChildren;
  readonly renderRow: (record: T) => ComponentChildren;
  /** Creates a record from its name; undefined hides the quick-add field. */
  readonly createRecord: ((name: string) => Promise<T>) | undefined;
  /** Additional fields of the quick-add form. */
  readonly children?: ComponentChildren;
};

/** Table with one page of records, a quick-add field and pagination, and with loading, empty and error states. */
export function RecordList<T>({
  records,
  nounForms,
  columns,
  emptyState,
  renderRow,
  createRecord,
  children,
}: RecordListProps<T>) {
  const { rows, errorText, paging, isLoading, reload, append } = records;
  return (
    <>
      {errorText !== undefined && (
        <Note tone="bad">
          {errorText} <Button onClick={reload}>Try again</Button>
        </Note>
      )}
      <section class="card" aria-label={`List of ${nounForms[1]}`} aria-busy={isLoading}>
        {rows === undefined && errorText === undefined && (
          <div class="card-waiting">
            <LoadingSkeleton />
          </div>
        )}
        {rows?.length === 0 && (paging.offset === 0 ? emptyState : <PageOutOfRange />)}
        {rows !== undefined && rows.length > 0 && (
          <table class="table plan">
            <thead>
              <tr>
                {columns.map((column, index) => (
                  <th key={index}>{column}</th>
                ))}
                <th>
                  <ScreenReaderText>More</ScreenReaderText>
                </th>
              </tr>
            </thead>
            <tbody>{rows.map(renderRow)}</tbody>
          </table>
        )}
        {createRecord !== undefined && (
          <QuickAddField
            label={`Add a ${nounForms[0]}`}
            formatError={(error) => describeFieldError(error, 'Name')}
            onAdd={async (name) => append(await createRecord(name))}
          >
            {children}
          </QuickAddField>
        )}
      </section>
      {rows !== undefined && (
        <Pager
          paging={paging}
          nounForms={nounForms}
          shownCount={rows.length}
          onPageChange={(page) => updateQueryParams({ page: page === 1 ? '' : String(page) })}
        />
      )}
    </>
  );
}

/** Empty state of a page after the last page of the list. */
function PageOutOfRange() {
  return (
    <EmptyState icon="check" title="Nothing on this page">
      <Button onClick={() => updateQueryParams({ page: '' })}>To the first page</Button>
    </EmptyState>
  );
}

/** Text for screen readers only. */
export const ScreenReaderText = ({ children }: { readonly children: string }) => (
  <span class="hidden-text">{children}</span>
);

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
      isLabelHidden
      value={currentRoute.value.query.get(name) ?? ''}
      options={options}
      onChange={(value) => updateQueryParams({ [name]: value, page: '' })}
    />
  );
}

/** Returns the value of a query parameter if it is one of the options, otherwise undefined. */
export function readQueryOption<V extends string>(
  name: string,
  options: readonly { readonly value: V }[],
): V | undefined {
  return options.find(({ value }) => value === currentRoute.value.query.get(name))?.value;
}

/** Formats list filters as a query string. */
export function toQueryString(filters: object): string {
  return String(new URLSearchParams(Object.entries(filters).map(([name, value]) => [name, String(value)])));
}
