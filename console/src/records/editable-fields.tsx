import type { ComponentChildren } from 'preact';
import type { Gets, Updates } from '../../../packages/sdk/src/resource.ts';
import { dayOf, showDay, withDay } from '../app/calendar-dates.ts';
import { change, faultIn, Overtaken, restore } from '../app/optimistic-update.ts';
import { attempt } from '../app/use-query.ts';
import { Dot, palette } from '../components/colour.tsx';
import { Inline, type InlineProps } from '../components/inline-edit.tsx';
import { tell } from '../components/toast.tsx';

/** Something that is known of a record and can be changed: how it is read, written and shown. */
export type Fact<T, C> = {
  readonly label: string;
  readonly type?: InlineProps['type'];
  readonly options?: InlineProps['options'];
  readonly empty?: string;
  read(record: T): string;
  /** What is sent for it: only fields that it is made of. */
  write(value: string, before: T): C;
  /** What is wrong with what was written, where that is clear before it is sent. */
  fault?(value: string): string | undefined;
  /** How it is shown, where that is more than its text. */
  show?(record: T): ComponentChildren;
};

/** What was written can be nothing of the kind. */
class Unreadable extends Error {}

/** A noun whose records are changed on a screen. */
export type Kept<T, C> = {
  readonly noun: Gets<T> & Updates<T, C>;
  idOf(record: T): string;
  nameOf(record: T): string;
};

type FieldOf<T> = keyof T & string;

const textOf = <T,>(record: T, field: FieldOf<T>) => String(record[field]);

/** A text of a record. */
export function text<T, C>(field: FieldOf<T>, label: string, more: Partial<Fact<T, C>> = {}): Fact<T, C> {
  return {
    label,
    read: (record) => textOf(record, field),
    write: (value) => ({ [field]: value }) as C,
    ...more,
  };
}

/** A start or due date of a record. */
export function day<T, C>(field: FieldOf<T>, label: string, more: Partial<Fact<T, C>> = {}): Fact<T, C> {
  return {
    label,
    type: 'date',
    empty: 'No date',
    read: (record) => dayOf(textOf(record, field)),
    write: (value, before) => ({ [field]: withDay(textOf(before, field), value) }) as C,
    show: (record) => showDay(textOf(record, field)) || undefined,
    ...more,
  };
}

/** One of a few words. */
export function choice<T, C>(
  field: FieldOf<T>,
  label: string,
  options: readonly { readonly value: string; readonly text: string }[],
  more: Partial<Fact<T, C>> = {},
): Fact<T, C> {
  return text(field, label, {
    options,
    show: (record) => options.find(({ value }) => value === textOf(record, field))?.text,
    ...more,
  });
}

/** The colour of a record: one of the palette, or one of its own that a program gave it. */
export function colour<T extends { readonly color: string }, C>(record: T): Fact<T, C> {
  const own = { value: record.color, text: record.color };
  const isOwn = !palette.some(({ value }) => value === record.color);
  const options = isOwn ? [...palette, own] : palette;
  return choice<T, C>('color', 'Colour', options, {
    show: ({ color }) => (
      <>
        <Dot color={color} />
        {options.find(({ value }) => value === color)?.text}
      </>
    ),
  });
}

type FactFieldProps<T, C> = {
  readonly kept: Kept<T, C>;
  readonly record: T;
  readonly fact: Fact<T, C>;
  readonly href?: string;
  /** Shows the record as it is now. */
  readonly onChange: (record: T) => void;
  readonly children?: ComponentChildren;
};

/** A fact of a record, changed where it stands. Only that is sent; what another has changed meanwhile is not overwritten. */
export function FactField<T extends object, C extends object>(props: FactFieldProps<T, C>) {
  const { kept, record, fact, href, onChange, children } = props;
  const label = `${fact.label} of ${kept.nameOf(record)}`;
  const save = async (value: string) => {
    const unreadable = fact.fault?.(value);
    if (unreadable !== undefined) throw new Unreadable(unreadable);
    const id = kept.idOf(record);
    const changes = fact.write(value, record);
    try {
      const after = await change(kept.noun, id, changes, record);
      onChange(after);
      const undo = () => attempt(async () => onChange(await change(kept.noun, id, restore(changes, record), after)));
      tell(`${fact.label} changed.`, { undo });
    } catch (error) {
      if (error instanceof Overtaken) onChange(error.record as T);
      throw error;
    }
  };
  const explain = (error: unknown) => {
    if (error instanceof Unreadable) return error.message;
    if (!(error instanceof Overtaken)) return faultIn(error, fact.label);
    const now = fact.read(error.record as T);
    return `Somebody else has set this to “${now === '' ? 'nothing' : now}” meanwhile. Enter keeps yours, Escape theirs.`;
  };
  return (
    <Inline
      label={label}
      value={fact.read(record)}
      {...(fact.type !== undefined && { type: fact.type })}
      {...(fact.options !== undefined && { options: fact.options })}
      {...(fact.empty !== undefined && { empty: fact.empty })}
      {...(href !== undefined && { href })}
      onSave={save}
      explain={explain}
    >
      {children ?? fact.show?.(record)}
    </Inline>
  );
}

type FactsProps<T, C> = Pick<FactFieldProps<T, C>, 'kept' | 'record' | 'onChange'> & {
  readonly facts: readonly Fact<T, C>[];
  readonly children?: ComponentChildren;
};

/** Everything that is known of a record, each beside its name. */
export function Facts<T extends object, C extends object>({ facts, children, ...rest }: FactsProps<T, C>) {
  return (
    <dl class="plan-facts">
      {facts.map((fact) => (
        <div key={fact.label}>
          <dt>{fact.label}</dt>
          <dd>
            <FactField fact={fact} {...rest} />
          </dd>
        </div>
      ))}
      {children}
    </dl>
  );
}
