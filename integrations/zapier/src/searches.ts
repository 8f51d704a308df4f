import type { Search } from 'zapier-platform-core';
import { expected, rootOf } from './connection';
import { given, inputOf } from './inputs';
import { recordsAt } from './records';
import { type Noun, nouns, shown, titleOf } from './table';

/** Zapier takes the first; the others show whether the question was clear. */
const MOST_FOUND = 20;

export const searches = Object.fromEntries(nouns.map(searchOf).map((search) => [search.key, search]));

/** One by its id, or all that the filters of the list leave. */
function searchOf(noun: Noun): Search {
  const title = titleOf(noun.name);
  const id = {
    key: noun.key,
    label: `${title} ID`,
    type: 'string',
    helpText: 'Of one that is known already.',
  } as const;
  return {
    key: `find_${noun.name}`,
    noun: title,
    display: { label: `Find ${title}`, description: `Finds one ${noun.name} by its ID or by what is known of it.` },
    operation: {
      inputFields: [id, ...noun.filters.map(inputOf)],
      perform: async (z, bundle) => {
        const url = `${rootOf(z, bundle)}/${noun.plural}`;
        const inputData: Record<string, unknown> = bundle.inputData;
        const known = inputData[noun.key];
        if (known !== undefined && known !== '') {
          const answer = await z.request({ url: `${url}/${encodeURIComponent(String(known))}`, ...expected(404) });
          return answer.status === 404 ? [] : [shown(noun, answer.data.data)];
        }
        const params = { ...(given(noun.filters, inputData) as Record<string, string>), limit: MOST_FOUND };
        return (await recordsAt(z, url, params)).map((record) => shown(noun, record));
      },
      sample: shown(noun, noun.sample),
    },
  };
}
