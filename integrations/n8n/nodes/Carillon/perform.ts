import type { IDataObject, IExecuteFunctions } from 'n8n-workflow';
import { callForBody, callOrThrow } from '../parts/call';
import type { Field } from '../parts/table';
import type { Operation, Resource } from './operations';

const MAX_PAGE_SIZE = 1_000;

/** Runs an operation for one item; returns the records, or `{ deleted: true }`. */
export async function perform(
  context: IExecuteFunctions,
  resource: Resource,
  operation: Operation,
  itemIndex: number,
): Promise<IDataObject[]> {
  const { method, pathKind, fieldSet } = operation;
  if (pathKind === 'all' && method === 'GET') return listRecords(context, resource, itemIndex);
  const body = fieldSet === undefined ? operation.body : readInputFields(context, resource, fieldSet, itemIndex);
  const path = pathOf(context, resource, operation, itemIndex);
  const { data } = await callForBody(context, {
    method,
    path,
    ...(body === undefined ? {} : { body: body as IDataObject }),
  });
  return method === 'DELETE' ? [{ deleted: true }] : [data as IDataObject];
}

function pathOf(
  context: IExecuteFunctions,
  { plural, key, parent }: Resource,
  { pathKind }: Operation,
  itemIndex: number,
): string {
  const readIdParameter = (name: string) =>
    encodeURIComponent(String(context.getNodeParameter(name, itemIndex)).trim());
  const pathBelowResource = {
    all: () => '',
    one: () => `/${readIdParameter(key)}`,
    parent: () => `/${readIdParameter(parent ?? key)}`,
  };
  return pathKind === 'restore'
    ? `/${plural}/${readIdParameter(key)}/restore`
    : `/${plural}${pathBelowResource[pathKind]()}`;
}

/** Returns the values of the input fields that the user has filled in, in the service's format. */
function readInputFields(
  context: IExecuteFunctions,
  resource: Resource,
  fieldSet: 'creation' | 'change' | 'filters',
  itemIndex: number,
): IDataObject {
  const optionalValues = context.getNodeParameter(fieldSet, itemIndex, {}) as IDataObject;
  const input: IDataObject = {};
  for (const field of resource[fieldSet]) {
    const value = field.required ? context.getNodeParameter(field.name, itemIndex) : optionalValues[field.name];
    if (value !== undefined) input[field.name] = toServiceFormat(field, value);
  }
  return input;
}

/**
 * Converts an input value to the service's format. n8n's ISO 8601 dates are in the editor's local time, so the time
 * zone is not converted (C9).
 */
function toServiceFormat({ form }: Field, value: unknown): IDataObject[string] {
  if (form === 'ids') {
    const ids = Array.isArray(value) ? value : String(value).split(',');
    return ids.map((id) => String(id).trim()).filter((id) => id !== '');
  }
  if (form !== 'date' && form !== 'day') return value as IDataObject[string];
  const [, day, time = '00:00:00'] = /^(\d{4}-\d{2}-\d{2})(?:[T ](\d{2}:\d{2}:\d{2}))?/.exec(String(value)) ?? [];
  if (day === undefined) return String(value);
  return form === 'day' ? day.replaceAll('-', '') : `${day} ${time}`;
}

async function listRecords(context: IExecuteFunctions, resource: Resource, itemIndex: number): Promise<IDataObject[]> {
  const returnsAll = context.getNodeParameter('returnAll', itemIndex) as boolean;
  const maxRecords = returnsAll ? Number.POSITIVE_INFINITY : (context.getNodeParameter('limit', itemIndex) as number);
  const filters = readInputFields(context, resource, 'filters', itemIndex);
  const records: IDataObject[] = [];
  let after: string | undefined;
  do {
    const limit = Math.min(MAX_PAGE_SIZE, maxRecords - records.length);
    const qs = { ...filters, limit, ...(after === undefined ? {} : { after }) };
    const { body, next } = await callOrThrow(context, { method: 'GET', path: `/${resource.plural}`, qs });
    records.push(...(body.data as IDataObject[]));
    after = next;
  } while (after !== undefined && records.length < maxRecords);
  return records;
}
