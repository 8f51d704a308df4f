import type { Search } from 'zapier-platform-core';
import { expected, rootOf } from './connection';
import { given, inputOf } from './inputs';
import { recordsAt } from './records';
import { type ResourceType, resourceTypes, shown, titleOf } from './table';

/**
 * Maximum results of a search. Zapier uses only the first result; further results show that the search is ambiguous.
 */
const MAX_RESULTS = 20;

export const searches = Object.fromEntries(resourceTypes.map(searchOf).map((search) => [search.key, search]));

/** Creates a Zapier search for records, by id or by the filters of the list. */
function searchOf(resourceType: ResourceType): Search {
  const title = titleOf(resourceType.name);
  const id = {
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
      inputFields: [id, ...resourceType.filters.map(inputOf)],
      perform: async (z, bundle) => {
        const url = `${rootOf(z, bundle)}/${resourceType.plural}`;
        const inputData: Record<string, unknown> = bundle.inputData;
        const known = inputData[resourceType.key];
        if (known !== undefined && known !== '') {
          const answer = await z.request({ url: `${url}/${encodeURIComponent(String(known))}`, ...expected(404) });
          return answer.status === 404 ? [] : [shown(resourceType, answer.data.data)];
        }
        const params = { ...(given(resourceType.filters, inputData) as Record<string, string>), limit: MAX_RESULTS };
        return (await recordsAt(z, url, params)).map((record) => shown(resourceType, record));
      },
      sample: shown(resourceType, resourceType.sample),
    },
  };
}
