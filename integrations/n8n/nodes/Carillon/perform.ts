import type { IDataObject, IExecuteFunctions } from 'n8n-workflow';
import { answered, ask } from '../parts/call';
import type { Field } from '../parts/table';
import type { Operation, Resource } from './operations';

const MAX_RECORDS = 1_000;

/** Runs an operation for one item; returns the records, or `{ deleted: true }`. */
export async function perform(
  context: IExecuteFunctions,
  resource: Resource,
  operation: Operation,
  item: number,
): Promise<IDataObject[]> {
  const { method, at, takes } = operation;
  if (at === 'all' && method === 'GET') return recordsOf(context, resource, item);
  const body = takes === undefined ? operation.body : given(context, resource, takes, item);
  const path = pathOf(context, resource, operation, item);
  const { data } = await ask(context, { method, path, ...(body === undefined ? {} : { body: body as IDataObject }) });
  return method === 'DELETE' ? [{ deleted: true }] : [data as IDataObject];
}

function pathOf(
  context: IExecuteFunctions,
  { plural, key, parent }: Resource,
  { at }: Operation,
  item: number,
): string {
  const id = (name: string) => encodeURIComponent(String(context.getNodeParameter(name, item)).trim());
  const below = { all: () => '', one: () => `/${id(key)}`, parent: () => `/${id(parent ?? key)}` };
  return at === 'restore' ? `/${plural}/${id(key)}/restore` : `/${plural}${below[at]()}`;
}

/** Returns the values of the input fields that the user has filled in, in the service's format. */
function given(
  context: IExecuteFunctions,
  resource: Resource,
  takes: 'creation' | 'change' | 'filters',
  item: number,
): IDataObject {
  const optional = context.getNodeParameter(takes, item, {}) as IDataObject;
  const input: IDataObject = {};
  for (const field of resource[takes]) {
    const value = field.required ? context.getNodeParameter(field.name, item) : optional[field.name];
    if (value !== undefined) input[field.name] = formatted(field, value);
  }
  return input;
}

/**
 * Converts an input value to the service's format. n8n's ISO 8601 dates are in the editor's local time, so the time
 * zone is not converted (C9).
 */
function formatted({ form }: Field, value: unknown): IDataObject[string] {
  if (form === 'ids') {
    const ids = Array.isArray(value) ? value : String(value).split(',');
    return ids.map((id) => String(id).trim()).filter((id) => id !== '');
  }
  if (form !== 'date' && form !== 'day') return value as IDataObject[string];
  const [, day, time = '00:00:00'] = /^(\d{4}-\d{2}-\d{2})(?:[T ](\d{2}:\d{2}:\d{2}))?/.exec(String(value)) ?? [];
  if (day === undefined) return String(value);
  return form === 'day' ? day.replaceAll('-', '') : `${day} ${time}`;
}

async function recordsOf(context: IExecuteFunctions, resource: Resource, item: number): Promise<IDataObject[]> {
  const isAll = context.getNodeParameter('returnAll', item) as boolean;
  const max = isAll ? Number.POSITIVE_INFINITY : (context.getNodeParameter('limit', item) as number);
  const filters = given(context, resource, 'filters', item);
  const records: IDataObject[] = [];
  let after: string | undefined;
  do {
    const limit = Math.min(MAX_RECORDS, max - records.length);
    const qs = { ...filters, limit, ...(after === undefined ? {} : { after }) };
    const { body, next } = await answered(context, { method: 'GET', path: `/${resource.plural}`, qs });
    records.push(...(body.data as IDataObject[]));
    after = next;
  } while (after !== undefined && records.length < max);
  return records;
}
