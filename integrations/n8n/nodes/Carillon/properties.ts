import type { INodeProperties, INodePropertyOptions } from 'n8n-workflow';
import { type Field, titleOf } from '../parts/table';
import { type Operation, type Resource, resources } from './operations';

const propertyTypes: Record<Field['form'], Pick<INodeProperties, 'type' | 'default'>> = {
  text: { type: 'string', default: '' },
  ids: { type: 'string', default: '' },
  date: { type: 'dateTime', default: '' },
  day: { type: 'dateTime', default: '' },
  number: { type: 'number', default: 0 },
  flag: { type: 'boolean', default: false },
  word: { type: 'options', default: '' },
};

const optionLabels: Record<string, string> = {
  ...{ '0': 'No', '1': 'Yes', '2': 'On Hold' },
  ...{ D: 'Daily', W: 'Weekly', M: 'Monthly', Q: 'Quarterly', S: 'Every Six Months', Y: 'Yearly' },
};

/** Titles of the operations whose title is not derived from their name. */
const SPECIAL_OPERATION_TITLES: Record<string, string> = { getAll: 'Get Many' };

/** Input fields that n8n's editor shows, derived from the service's table of operations. */
export const properties: INodeProperties[] = [
  {
    displayName: 'Resource',
    name: 'resource',
    type: 'options',
    noDataExpression: true,
    default: 'event',
    options: Object.keys(resources).map((name) => ({ name: titleOf(name), value: name })),
  },
  ...Object.values(resources).flatMap(propertiesOf),
];

function propertiesOf(resource: Resource): INodeProperties[] {
  const { operations, key, parent } = resource;
  const showFor = (operation: string[]) => ({ show: { resource: [resource.name], operation } });
  const showIf = (matches: (operation: Operation) => boolean) =>
    showFor(Object.entries(operations).flatMap(([name, operation]) => (matches(operation) ? [name] : [])));
  const requiredFields = resource.creation.filter((field) => field.required);
  const optionalFields = resource.creation.filter((field) => !field.required);
  return [
    {
      displayName: 'Operation',
      name: 'operation',
      type: 'options',
      noDataExpression: true,
      displayOptions: { show: { resource: [resource.name] } },
      default: 'get',
      options: Object.keys(operations).map((name) => operationOption(name, resource)),
    },
    textProperty(
      key,
      `${titleOf(resource.name)} ID`,
      showIf(({ pathKind }) => pathKind === 'one' || pathKind === 'restore'),
    ),
    ...(parent === undefined
      ? []
      : [
          textProperty(
            parent,
            displayNameOf(parent),
            showIf(({ pathKind }) => pathKind === 'parent'),
          ),
        ]),
    ...requiredFields.map((field) => ({ ...propertyOf(field), required: true, displayOptions: showFor(['create']) })),
    ...collectionProperty(
      'Additional Fields',
      'creation',
      optionalFields,
      showIf(({ fieldSet }) => fieldSet === 'creation'),
    ),
    ...collectionProperty(
      'Update Fields',
      'change',
      resource.change,
      showIf(({ fieldSet }) => fieldSet === 'change'),
    ),
    {
      displayName: 'Return All',
      name: 'returnAll',
      type: 'boolean',
      default: false,
      description: 'Whether to return all results or only up to a given limit',
      displayOptions: showFor(['getAll']),
    },
    {
      displayName: 'Limit',
      name: 'limit',
      type: 'number',
      typeOptions: { minValue: 1 },
      default: 50,
      description: 'Max number of results to return',
      displayOptions: { show: { resource: [resource.name], operation: ['getAll'], returnAll: [false] } },
    },
    ...collectionProperty(
      'Filters',
      'filters',
      resource.filters,
      showIf(({ fieldSet }) => fieldSet === 'filters'),
    ),
  ];
}

function operationOption(name: string, resource: Resource): INodePropertyOptions {
  const title = SPECIAL_OPERATION_TITLES[name] ?? titleOf(name);
  const nounPhrase = name === 'getAll' ? resource.plural : `a ${resource.name}`.replace(/^a (?=[aeio])/, 'an ');
  return { name: title, value: name, action: `${title[0]}${title.slice(1).toLowerCase()} ${nounPhrase}` };
}

function textProperty(
  name: string,
  displayName: string,
  displayOptions: INodeProperties['displayOptions'],
): INodeProperties {
  return { displayName, name, type: 'string', required: true, default: '', displayOptions };
}

/** Creates the property that groups optional fields; returns an empty list if there are no fields. */
function collectionProperty(
  displayName: string,
  name: string,
  fields: Field[],
  displayOptions: INodeProperties['displayOptions'],
): INodeProperties[] {
  if (fields.length === 0) return [];
  const options = fields.map(propertyOf).sort((a, b) => a.displayName.localeCompare(b.displayName));
  return [{ displayName, name, type: 'collection', placeholder: 'Add Field', default: {}, options, displayOptions }];
}

function propertyOf({ name, says, form, words: values = [] }: Field): INodeProperties {
  const description = says.replace(/\.$/, '') + (form === 'ids' ? ': user IDs, separated by commas' : '');
  const options = values.map((value) => ({ name: optionLabels[value] ?? titleOf(value), value }));
  const optionProperties = form === 'word' ? { options, default: values[0] ?? '' } : {};
  return { displayName: displayNameOf(name), name, description, ...propertyTypes[form], ...optionProperties };
}

function displayNameOf(field: string): string {
  return titleOf(field).replace(/\bId\b/, 'ID');
}
