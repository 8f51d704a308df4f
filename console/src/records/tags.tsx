import { place, setQuery } from '../app/router.ts';

/** Tags of a record; a click filters the list by the tag. */
export function Tags({ tags }: { readonly tags: string }) {
  if (tags === '') return null;
  return tags.split(',').map((tag) => (
    <button
      key={tag}
      type="button"
      class="chip"
      title={`Only those tagged ${tag}`}
      onClick={() => setQuery({ tag, page: '' })}
    >
      {tag}
    </button>
  ));
}

/** The active tag filter, with a button to clear it. */
export function TagFilter() {
  const tag = place.value.query.get('tag') ?? '';
  if (tag === '') return null;
  return (
    <button
      type="button"
      class="chip"
      aria-pressed="true"
      title="Show all tags again"
      onClick={() => setQuery({ tag: '', page: '' })}
    >
      {tag} ×
    </button>
  );
}
