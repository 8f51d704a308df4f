import type { PlainInputField } from 'zapier-platform-core';
import { type Field, resourceTypes, titleOf } from './table';

const inputTypes: Record<Field['form'], PlainInputField['type']> = {
  text: 'string',
  ids: 'string',
  word: 'string',
  date: 'datetime',
  day: 'datetime',
  number: 'number',
  flag: 'boolean',
};

const choiceLabels: Record<string, string> = {
  ...{ '0': 'No', '1': 'Yes', '2': 'On Hold' },
  ...{ D: 'Daily', W: 'Weekly', M: 'Monthly', Q: 'Quarterly', S: 'Every Six Months', Y: 'Yearly' },
};

/** Converts a field to a Zapier input field. The user chooses an id from a list of names. */
export function toInputField({ name, says, form, required = false, words: values = [] }: Field): PlainInputField {
  const referencedType = resourceTypes.find(({ key }) => key === name);
  return {
    key: name,
    label: titleOf(name),
    type: inputTypes[form],
    required,
    helpText: says,
    ...(form === 'ids' ? { list: true } : {}),
    ...(form === 'word'
      ? { choices: Object.fromEntries(values.map((one) => [one, choiceLabels[one] ?? titleOf(one)])) }
      : {}),
    ...(referencedType === undefined ? {} : { dynamic: `list_${referencedType.name}.id.${referencedType.label}` }),
  };
}

/** Returns the values of the input fields that the user has filled in, in the service's format. */
export function readInputFields(fields: readonly Field[], inputData: Record<string, unknown>): Record<string, unknown> {
  const filledFields = fields.filter(({ name }) => inputData[name] !== undefined && inputData[name] !== '');
  return Object.fromEntries(filledFields.map((field) => [field.name, toServiceFormat(field, inputData[field.name])]));
}

/**
 * Converts an input value to the service's format. Zapier's ISO 8601 dates are in the user's local time, so the time
 * zone is not converted (C9).
 */
function toServiceFormat({ form }: Field, value: unknown): unknown {
  if (form !== 'date' && form !== 'day') return value;
  const [, day, time = '00:00:00'] = /^(\d{4}-\d{2}-\d{2})(?:[T ](\d{2}:\d{2}:\d{2}))?/.exec(String(value)) ?? [];
  if (day === undefined) return value;
  return form === 'day' ? day.replaceAll('-', '') : `${day} ${time}`;
}
