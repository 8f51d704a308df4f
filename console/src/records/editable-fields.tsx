import type { ComponentChildren } from 'preact';
import type { GetMethod, UpdateMethod } from '../../../packages/sdk/src/resource-methods.ts';
import { dayOrEmpty, formatDayAndTime, replaceDay } from '../app/calendar-dates.ts';
import {
  buildUndoChanges,
  describeFieldError,
  EditConflictError,
  updateIfUnchanged,
} from '../app/optimistic-update.ts';
import { runWithToast } from '../app/use-query.ts';
import { ColorDot, colorOptions } from '../components/badge.tsx';
import { InlineEdit, type InlineEditProps } from '../components/inline-edit.tsx';
import { showToast } from '../components/toast.tsx';

/** Definition of an editable field: how its value is read from a record, edited, validated and displayed. */
export type FieldDefinition<T, Changes> = {
  readonly label: string;
  readonly type?: InlineEditProps['type'];
  readonly options?: InlineEditProps['options'];
  readonly emptyText?: string;
  readValue(record: T): string;
  /** Returns the changes to send to the API. They contain only the API fields that this field edits. */
  toChanges(value: string, previousRecord: T): Changes;
  /** Validates the value before it is sent; returns the error, or undefined if the value is valid. */
  validate?(value: string): string | undefined;
  /** Formats the value for display; by default the result of `readValue` is shown. */
  renderValue?(record: T): ComponentChildren;
};

/** Thrown when an entered value fails client-side validation. */
class InvalidInputError extends Error {}

/** A resource whose records can be edited inline. */
export type EditableResource<T, Changes> = {
  readonly resource: GetMethod<T> & UpdateMethod<T, Changes>;
  idOf(record: T): string;
  nameOf(record: T): string;
};

type FieldNameOf<T> = keyof T & string;

const readFieldText = <T,>(record: T, fieldName: FieldNameOf<T>) => String(record[fieldName]);

/** Defines a text field. */
export function defineTextField<T, Changes>(
  fieldName: FieldNameOf<T>,
  label: string,
  overrides: Partial<FieldDefinition<T, Changes>> = {},
): FieldDefinition<T, Changes> {
  return {
    label,
    readValue: (record) => readFieldText(record, fieldName),
    toChanges: (value) => ({ [fieldName]: value }) as Changes,
    ...overrides,
  };
}

/** Defines the field of a start or due date. */
export function defineDateField<T, Changes>(
  fieldName: FieldNameOf<T>,
  label: string,
  overrides: Partial<FieldDefinition<T, Changes>> = {},
): FieldDefinition<T, Changes> {
  return {
    label,
    type: 'date',
    emptyText: 'No date',
    readValue: (record) => dayOrEmpty(readFieldText(record, fieldName)),
    toChanges: (value, previousRecord) =>
      ({ [fieldName]: replaceDay(readFieldText(previousRecord, fieldName), value) }) as Changes,
    renderValue: (record) => formatDayAndTime(readFieldText(record, fieldName)) || undefined,
    ...overrides,
  };
}

/** Defines a field with a fixed set of values. */
export function defineChoiceField<T, Changes>(
  fieldName: FieldNameOf<T>,
  label: string,
  options: readonly { readonly value: string; readonly text: string }[],
  overrides: Partial<FieldDefinition<T, Changes>> = {},
): FieldDefinition<T, Changes> {
  return defineTextField(fieldName, label, {
    options,
    renderValue: (record) => options.find(({ value }) => value === readFieldText(record, fieldName))?.text,
    ...overrides,
  });
}

/** Defines the color field of a record: a color of the palette, or a custom color that an API client has set. */
export function defineColorField<T extends { readonly color: string }, Changes>(
  record: T,
): FieldDefinition<T, Changes> {
  const customOption = { value: record.color, text: record.color };
  const isCustomColor = !colorOptions.some(({ value }) => value === record.color);
  const options = isCustomColor ? [...colorOptions, customOption] : colorOptions;
  return defineChoiceField<T, Changes>('color', 'Colour', options, {
    renderValue: ({ color }) => (
      <>
        <ColorDot color={color} />
        {options.find(({ value }) => value === color)?.text}
      </>
    ),
  });
}

type InlineFieldProps<T, Changes> = {
  readonly editableResource: EditableResource<T, Changes>;
  readonly record: T;
  readonly field: FieldDefinition<T, Changes>;
  readonly href?: string;
  /** Receives the updated record. */
  readonly onChange: (record: T) => void;
  readonly children?: ComponentChildren;
};

/**
 * Inline editor of one field, with Undo. It sends only that field. If another user has changed the field in the
 * meantime, nothing is saved and the editor shows both values. Enter then overwrites the value of the other user.
 */
export function InlineField<T extends object, Changes extends object>(props: InlineFieldProps<T, Changes>) {
  const { editableResource, record, field, href, onChange, children } = props;
  const label = `${field.label} of ${editableResource.nameOf(record)}`;
  const saveField = async (value: string) => {
    const validationError = field.validate?.(value);
    if (validationError !== undefined) throw new InvalidInputError(validationError);
    const id = editableResource.idOf(record);
    const changes = field.toChanges(value, record);
    try {
      const updatedRecord = await updateIfUnchanged(editableResource.resource, id, changes, record);
      onChange(updatedRecord);
      const undo = () =>
        runWithToast(async () =>
          onChange(
            await updateIfUnchanged(editableResource.resource, id, buildUndoChanges(changes, record), updatedRecord),
          ),
        );
      showToast(`${field.label} changed.`, { undo });
    } catch (error) {
      if (error instanceof EditConflictError) onChange(error.currentRecord as T);
      throw error;
    }
  };
  const formatError = (error: unknown) => {
    if (error instanceof InvalidInputError) return error.message;
    if (!(error instanceof EditConflictError)) return describeFieldError(error, field.label);
    const conflictingValue = field.readValue(error.currentRecord as T);
    return `Somebody else has set this to “${conflictingValue === '' ? 'nothing' : conflictingValue}” meanwhile. Enter keeps yours, Escape theirs.`;
  };
  return (
    <InlineEdit
      label={label}
      value={field.readValue(record)}
      {...(field.type !== undefined && { type: field.type })}
      {...(field.options !== undefined && { options: field.options })}
      {...(field.emptyText !== undefined && { emptyText: field.emptyText })}
      {...(href !== undefined && { href })}
      onSave={saveField}
      formatError={formatError}
    >
      {children ?? field.renderValue?.(record)}
    </InlineEdit>
  );
}

type FieldListProps<T, Changes> = Pick<InlineFieldProps<T, Changes>, 'editableResource' | 'record' | 'onChange'> & {
  readonly fields: readonly FieldDefinition<T, Changes>[];
  readonly children?: ComponentChildren;
};

/** Definition list of the fields of a record, each editable inline. */
export function FieldList<T extends object, Changes extends object>({
  fields,
  children,
  ...rest
}: FieldListProps<T, Changes>) {
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
