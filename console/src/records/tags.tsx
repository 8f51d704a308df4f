import { place, setQuery } from '../app/router.ts';

/** The tags of a record; each narrows the list to those that have it. */
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

/** The tag that a list is narrowed to, and the way out of that. */
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
