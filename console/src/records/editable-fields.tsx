import type { ComponentChildren } from 'preact';
import type { GetMethod, UpdateMethod } from '../../../packages/sdk/src/resource-methods.ts';
import { dayOf, formatDay, replaceDay } from '../app/calendar-dates.ts';
import { EditConflictError, fieldError, inverseChanges, updateIfUnchanged } from '../app/optimistic-update.ts';
import { runWithToast } from '../app/use-query.ts';
import { ColorDot, palette } from '../components/badge.tsx';
import { InlineEdit, type InlineEditProps } from '../components/inline-edit.tsx';
import { showToast } from '../components/toast.tsx';

/** Definition of an editable field of a record: how it is read, written and formatted. */
export type FieldDefinition<T, C> = {
  readonly label: string;
  readonly type?: InlineEditProps['type'];
  readonly options?: InlineEditProps['options'];
  readonly empty?: string;
  read(record: T): string;
  /** Returns the changes to send to the API: only the API fields that this field consists of. */
  write(value: string, before: T): C;
  /** Validates the value before it is sent; returns the error, or undefined if the value is valid. */
  fault?(value: string): string | undefined;
  /** Formats the value for display; by default the result of `read` is shown. */
  show?(record: T): ComponentChildren;
};

/** Thrown when an entered value fails client-side validation. */
class InvalidInputError extends Error {}

/** A resource whose records can be edited inline. */
export type EditableResource<T, C> = {
  readonly resource: GetMethod<T> & UpdateMethod<T, C>;
  idOf(record: T): string;
  nameOf(record: T): string;
};

type FieldOf<T> = keyof T & string;

const fieldText = <T,>(record: T, field: FieldOf<T>) => String(record[field]);

/** Defines a text field. */
export function textField<T, C>(
  field: FieldOf<T>,
  label: string,
  more: Partial<FieldDefinition<T, C>> = {},
): FieldDefinition<T, C> {
  return {
    label,
    read: (record) => fieldText(record, field),
    write: (value) => ({ [field]: value }) as C,
    ...more,
  };
}

/** Defines the field of a start or due date. */
export function dateField<T, C>(
  field: FieldOf<T>,
  label: string,
  more: Partial<FieldDefinition<T, C>> = {},
): FieldDefinition<T, C> {
  return {
    label,
    type: 'date',
    empty: 'No date',
    read: (record) => dayOf(fieldText(record, field)),
    write: (value, before) => ({ [field]: replaceDay(fieldText(before, field), value) }) as C,
    show: (record) => formatDay(fieldText(record, field)) || undefined,
    ...more,
  };
}

/** Defines a field with a fixed set of values. */
export function choiceField<T, C>(
  field: FieldOf<T>,
  label: string,
  options: readonly { readonly value: string; readonly text: string }[],
  more: Partial<FieldDefinition<T, C>> = {},
): FieldDefinition<T, C> {
  return textField(field, label, {
    options,
    show: (record) => options.find(({ value }) => value === fieldText(record, field))?.text,
    ...more,
  });
}

/** Defines the color field of a record: a color of the palette, or a custom color that an API client has set. */
export function colorField<T extends { readonly color: string }, C>(record: T): FieldDefinition<T, C> {
  const customOption = { value: record.color, text: record.color };
  const isCustom = !palette.some(({ value }) => value === record.color);
  const options = isCustom ? [...palette, customOption] : palette;
  return choiceField<T, C>('color', 'Colour', options, {
    show: ({ color }) => (
      <>
        <ColorDot color={color} />
        {options.find(({ value }) => value === color)?.text}
      </>
    ),
  });
}

type InlineFieldProps<T, C> = {
  readonly kept: EditableResource<T, C>;
  readonly record: T;
  readonly field: FieldDefinition<T, C>;
  readonly href?: string;
  /** Receives the updated record. */
  readonly onChange: (record: T) => void;
  readonly children?: ComponentChildren;
};

/**
 * Inline editor of one field, with Undo. It sends only that field. If another user has changed the field in the
 * meantime, the editor shows both values instead of overwriting the other value; Enter then overwrites it.
 */
export function InlineField<T extends object, C extends object>(props: InlineFieldProps<T, C>) {
  const { kept, record, field, href, onChange, children } = props;
  const label = `${field.label} of ${kept.nameOf(record)}`;
  const save = async (value: string) => {
    const invalid = field.fault?.(value);
    if (invalid !== undefined) throw new InvalidInputError(invalid);
    const id = kept.idOf(record);
    const changes = field.write(value, record);
    try {
      const after = await updateIfUnchanged(kept.resource, id, changes, record);
      onChange(after);
      const undo = () =>
        runWithToast(async () =>
          onChange(await updateIfUnchanged(kept.resource, id, inverseChanges(changes, record), after)),
        );
      showToast(`${field.label} changed.`, { undo });
    } catch (error) {
      if (error instanceof EditConflictError) onChange(error.record as T);
      throw error;
    }
  };
  const explain = (error: unknown) => {
    if (error instanceof InvalidInputError) return error.message;
    if (!(error instanceof EditConflictError)) return fieldError(error, field.label);
    const currentValue = field.read(error.record as T);
    return `Somebody else has set this to “${currentValue === '' ? 'nothing' : currentValue}” meanwhile. Enter keeps yours, Escape theirs.`;
  };
  return (
    <InlineEdit
      label={label}
      value={field.read(record)}
      {...(field.type !== undefined && { type: field.type })}
      {...(field.options !== undefined && { options: field.options })}
      {...(field.empty !== undefined && { empty: field.empty })}
      {...(href !== undefined && { href })}
      onSave={save}
      explain={explain}
    >
      {children ?? field.show?.(record)}
    </InlineEdit>
  );
}

type FieldListProps<T, C> = Pick<InlineFieldProps<T, C>, 'kept' | 'record' | 'onChange'> & {
  readonly fields: readonly FieldDefinition<T, C>[];
  readonly children?: ComponentChildren;
};

/** Definition list of the fields of a record, each editable inline. */
export function FieldList<T extends object, C extends object>({ fields, children, ...rest }: FieldListProps<T, C>) {
  return (
    <dl class="plan-facts">
      {fields.map((field) => (
        <div key={field.label}>
          <dt>{field.label}</dt>
          <dd>
            <InlineField field={field} {...rest} />
          </dd>
        </div>
      ))}
      {children}
    </dl>
  );
}
