import type { IDataObject } from 'n8n-workflow';
import { baseUrlOf, callService, type NodeContext, toApiError } from './call';
import { resourceTypes } from './table';

/** Address of a record: the plural of its resource type, and its id. */
export type RecordAddress = { plural: string; id: string };

const knownPlurals = new Set([...resourceTypes.map(({ plural }) => plural), 'hooks', 'users']);

/**
 * Parses a `resource_url`; undefined if it is not the address of a record of this service. Anyone can POST to a target,
 * so the key must not be sent to any other host (section 5 of the specification).
 */
export async function parseRecordUrl(context: NodeContext, resourceUrl: unknown): Promise<RecordAddress | undefined> {
  const root = `${await baseUrlOf(context)}/v2/`;
  if (typeof resourceUrl !== 'string' || !resourceUrl.startsWith(root)) return undefined;
  const [, plural = '', id = ''] = /^(\w+)\/(\d+)$/.exec(resourceUrl.slice(root.length)) ?? [];
  return knownPlurals.has(plural) ? { plural, id } : undefined;
}

/** Fetches the current record; undefined if it was deleted. */
export async function fetchRecord(
  context: NodeContext,
  { plural, id }: RecordAddress,
): Promise<IDataObject | undefined> {
  const answer = await callService(context, { method: 'GET', path: `/${plural}/${id}` });
  if (answer.status === 404) return undefined;
  if (answer.status !== 200) throw toApiError(context, answer);
  return answer.body.data as IDataObject;
}
