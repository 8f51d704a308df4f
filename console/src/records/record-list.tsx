import type { ComponentChildren } from 'preact';
import { faultIn } from '../app/optimistic-update.ts';
import { place, setQuery } from '../app/router.ts';
import { Note, Waiting } from '../components/badge.tsx';
import { Button } from '../components/button.tsx';
import { Select } from '../components/field.tsx';
import { AddLine } from '../components/inline-create.tsx';
import { Empty } from '../components/page.tsx';
import { Pager } from '../components/pager.tsx';
import type { Records } from './records.ts';

type RecordListProps<T> = {
  readonly records: Records<T>;
  /** What is listed, one of it and several: `['task', 'tasks']`. */
  readonly words: readonly [string, string];
  /** The heads of the columns; what else can be done with a row comes behind them. */
  readonly columns: readonly ComponentChildren[];
  /** What stands where nothing is. */
  readonly empty: ComponentChildren;
  readonly row: (record: T) => ComponentChildren;
  /** Creates one by its name; undefined where there is nothing to add it to. */
  readonly create: ((name: string) => Promise<T>) | undefined;
  /** What else is to be chosen for a new one. */
  readonly children?: ComponentChildren;
};

/** A page of records in a table: what there is, how much of it, the way to the rest, and one more at the end. */
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
            <Waiting />
          </div>
        )}
        {rows?.length === 0 && (paging.offset === 0 ? empty : <Beyond />)}
        {rows !== undefined && rows.length > 0 && (
          <table class="table plan">
            <thead>
              <tr>
                {columns.map((column, index) => (
                  <th key={index}>{column}</th>
                ))}
                <th>
                  <Unseen>More</Unseen>
                </th>
              </tr>
            </thead>
            <tbody>{rows.map(row)}</tbody>
          </table>
        )}
        {create !== undefined && (
          <AddLine
            label={`Add a ${words[0]}`}
            explain={(error) => faultIn(error, 'Name')}
            onAdd={async (name) => append(await create(name))}
          >
            {children}
          </AddLine>
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

/** What stands where a page would begin behind the last record. */
function Beyond() {
  return (
    <Empty icon="check" title="Nothing on this page">
      <Button onClick={() => setQuery({ page: '' })}>To the first page</Button>
    </Empty>
  );
}

/** What only those need who hear the page. */
export const Unseen = ({ children }: { readonly children: string }) => <span class="hidden-text">{children}</span>;

type Narrowing = {
  /** Its name in the address. */
  readonly name: string;
  readonly label: string;
  readonly options: readonly { readonly value: string; readonly text: string }[];
};

/** A choice that narrows or orders the list, kept in the address. */
export function Narrow({ name, label, options }: Narrowing) {
  return (
    <Select
      label={label}
      hideLabel
      value={place.value.query.get(name) ?? ''}
      options={options}
      onChange={(value) => setQuery({ [name]: value, page: '' })}
    />
  );
}

/** The value of a choice in the address, if it is one of these. */
export function chosen<V extends string>(name: string, options: readonly { readonly value: V }[]): V | undefined {
  return options.find(({ value }) => value === place.value.query.get(name))?.value;
}

/** The filters of a list as they stand behind a question mark. */
export function queryOf(filters: object): string {
  return String(new URLSearchParams(Object.entries(filters).map(([name, value]) => [name, String(value)])));
}
