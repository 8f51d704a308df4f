import type { ComponentChildren } from 'preact';
import { useState } from 'preact/hooks';
import type { Assigned, AssignedTeam, Paging } from '../../../packages/sdk/src/api-types.ts';
import type { Deletes } from '../../../packages/sdk/src/resource.ts';
import { idsOf } from '../app/optimistic-update.ts';
import { attempt } from '../app/use-query.ts';
import { Ask } from '../components/dialog.tsx';
import { tell } from '../components/toast.tsx';

/** What follows from a deletion, where that is more than the record's end. */
export type Consequence = { readonly yes: string; readonly text: ComponentChildren };

/** How records of a noun are deleted, and brought back. */
export type Deletable<T> = {
  readonly noun: Deletes;
  idOf(record: T): string;
  nameOf(record: T): string;
  /** What else goes or changes with it; undefined when nothing does. */
  consequence(record: T): Promise<Consequence | undefined>;
  /** Makes it anew with what it was; left out where a deletion is always asked for, and cannot be taken back. */
  again?(record: T): Promise<T>;
};

type Ends<T> = {
  /** Shows that it is gone. */
  readonly onGone: (record: T) => void;
  /** Shows that it is there again, under another id. */
  readonly onBack: (record: T) => void;
};

/** Deletes records: at once and with a way back where nothing hangs on one, else after a question. */
export function useDelete<T>({ noun, idOf, nameOf, consequence, again }: Deletable<T>, { onGone, onBack }: Ends<T>) {
  const [asked, setAsked] = useState<{ readonly record: T } & Consequence>();
  const remove = async (record: T, said: { readonly undo?: () => void }) => {
    if (!(await attempt(() => noun.delete(idOf(record))))) return;
    onGone(record);
    tell(`“${nameOf(record)}” deleted.`, said);
  };
  const begin = (record: T) =>
    void attempt(async () => {
      const found = await consequence(record);
      if (found !== undefined) setAsked({ record, ...found });
      else if (again === undefined) await remove(record, {});
      else await remove(record, { undo: () => void attempt(async () => onBack(await again(record))) });
    });
  const question = asked !== undefined && (
    <Ask
      title={`Delete “${nameOf(asked.record)}”?`}
      yes={asked.yes}
      onYes={() => void remove(asked.record, {})}
      onClose={() => setAsked(undefined)}
    >
      {asked.text}
    </Ask>
  );
  return { begin, question };
}

/**
 * What a record is made anew from: everything that it was. What the service itself gives a record, it does not take.
 * The creator is whoever brings it back: the first one may be no user any more.
 */
export function inputOf<T extends Made>(record: T) {
  const { user_id: _, users = [], teams = [], ...rest } = record;
  return { ...rest, users: idsOf(users), teams: idsOf(teams) };
}

type Made = {
  readonly user_id?: string;
  readonly users?: readonly Assigned[];
  readonly teams?: readonly AssignedTeam[];
};

/** So many of something, with its word: `1 task`, `3 tasks`. */
export const counted = (count: number, word: string) =>
  `${count} ${count === 1 ? word : `${word}s`.replace(/([^aeiou])ys$/, '$1ies')}`;

/** Records of a noun that go with another one; `more` says what goes with them in turn. */
type Going = { readonly word: string; readonly count: number; readonly more: string };

/** How many of a noun go with a record, from the list of those. */
export async function going(word: string, listed: Promise<{ readonly paging: Paging }>, more = ''): Promise<Going> {
  return { word, count: (await listed).paging.total_records, more };
}

/** What goes with a record, in words; undefined where nothing does. */
export async function goneWith(counting: readonly Promise<Going>[]): Promise<Consequence | undefined> {
  const [first, ...others] = (await Promise.all(counting)).filter(({ count }) => count > 0);
  if (first === undefined) return undefined;
  const isOne = first.count === 1 && first.more === '' && others.length === 0;
  const all = others.length === 0 ? theirs(first.count, first.word) : `Its ${counted(first.count, first.word)}`;
  const rest = others.map(({ count, word }) => `, ${counted(count, word)}`).join('');
  return {
    yes: `Delete with ${counted(first.count, first.word)}${others.length > 0 ? ' and more' : ''}`,
    text: `${all}${first.more}${rest} ${isOne ? 'goes' : 'go'} with it.`,
  };
}

/** Those of a record: `Its task`, `Its 3 tasks`. */
export const theirs = (count: number, word: string) => (count === 1 ? `Its ${word}` : `Its ${counted(count, word)}`);
