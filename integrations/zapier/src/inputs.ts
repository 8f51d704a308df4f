import type { PlainInputField } from 'zapier-platform-core';
import { type Field, resourceTypes, titleOf } from './table';

const types: Record<Field['form'], PlainInputField['type']> = {
  text: 'string',
  ids: 'string',
  word: 'string',
  date: 'datetime',
  day: 'datetime',
  number: 'number',
  flag: 'boolean',
};

const words: Record<string, string> = {
  ...{ '0': 'No', '1': 'Yes', '2': 'On Hold' },
  ...{ D: 'Daily', W: 'Weekly', M: 'Monthly', Q: 'Quarterly', S: 'Every Six Months', Y: 'Yearly' },
};

/** Converts a field to a Zapier input field. The user chooses an id from a list of names. */
export function inputOf({ name, says, form, required = false, words: values = [] }: Field): PlainInputField {
  const other = resourceTypes.find(({ key }) => key === name);
  return {
    key: name,
    label: titleOf(name),
    type: types[form],
    required,
    helpText: says,
    ...(form === 'ids' ? { list: true } : {}),
    ...(form === 'word' ? { choices: Object.fromEntries(values.map((one) => [one, words[one] ?? titleOf(one)])) } : {}),
    ...(other === undefined ? {} : { dynamic: `list_${other.name}.id.${other.label}` }),
  };
}

/** Returns the values of the input fields that the user has filled in, in the service's format. */
export function given(fields: readonly Field[], inputData: Record<string, unknown>): Record<string, unknown> {
  const filled = fields.filter(({ name }) => inputData[name] !== undefined && inputData[name] !== '');
  return Object.fromEntries(filled.map((field) => [field.name, formatted(field, inputData[field.name])]));
}

/**
 * Converts an input value to the service's format. Zapier's ISO 8601 dates are in the user's local time, so the time
 * zone is not converted (C9).
 */
function formatted({ form }: Field, value: unknown): unknown {
  if (form !== 'date' && form !== 'day') return value;
  const [, day, time = '00:00:00'] = /^(\d{4}-\d{2}-\d{2})(?:[T ](\d{2}:\d{2}:\d{2}))?/.exec(String(value)) ?? [];
  if (day === undefined) return value;
  return form === 'day' ? day.replaceAll('-', '') : `${day} ${time}`;
}
