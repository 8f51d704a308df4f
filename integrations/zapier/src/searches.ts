import type { Search } from 'zapier-platform-core';
import { apiRootOf, expectStatuses } from './connection';
import { readInputFields, toInputField } from './inputs';
import { fetchRecords } from './records';
import { type ResourceType, resourceTypes, titleOf, toZapierRecord } from './table';

/**
 * Maximum results of a search. Zapier uses only the first result; further results show that the search is ambiguous.
 */
const MAX_RESULTS = 20;

export const searches = Object.fromEntries(resourceTypes.map(toZapierSearch).map((search) => [search.key, search]));

/** Creates a Zapier search for records, by id or by the filters of the list. */
function toZapierSearch(resourceType: ResourceType): Search {
  const title = titleOf(resourceType.name);
  const idInputField = {
    key: resourceType.key,
    label: `${title} ID`,
    type: 'string',
    helpText: 'The ID, if it is known.',
  } as const;
  return {
    key: `find_${resourceType.name}`,
    noun: title,
    display: {
      label: `Find ${title}`,
      description: `Finds one ${resourceType.name} by its ID or by what is known of it.`,
    },
    operation: {
      inputFields: [idInputField, ...resourceType.filters.map(toInputField)],
      perform: async (z, bundle) => {
        const url = `${apiRootOf(z, bundle)}/${resourceType.plural}`;
        const inputData: Record<string, unknown> = bundle.inputData;
        const enteredId = inputData[resourceType.key];
        if (enteredId !== undefined && enteredId !== '') {
          const answer = await z.request({
            url: `${url}/${encodeURIComponent(String(enteredId))}`,
            ...expectStatuses(404),
          });
          return answer.status === 404 ? [] : [toZapierRecord(resourceType, answer.data.data)];
        }
        const params = {
          ...(readInputFields(resourceType.filters, inputData) as Record<string, string>),
          limit: MAX_RESULTS,
        };
        return (await fetchRecords(z, url, params)).map((record) => toZapierRecord(resourceType, record));
      },
      sample: toZapierRecord(resourceType, resourceType.sample),
    },
  };
}
