import service from './service.json';

/** How a value is asked for. */
export type Form = 'text' | 'date' | 'day' | 'number' | 'flag' | 'word' | 'ids';

export type Field = { name: string; says: string; form: Form; required?: boolean; words?: string[] };

/** A noun of the service: where its records are, and what is asked for to create, change and find them. */
export type Noun = {
  name: string;
  plural: string;
  /** The field that holds its id. */
  key: string;
  label: string;
  /** The field that holds the id of what it is created below. */
  parent?: string;
  creation: Field[];
  change: Field[];
  filters: Field[];
  sample: Record<string, unknown>;
};

export const nouns = service.nouns as Noun[];

/** What a hook can be told of, with the noun whose record it rings for. */
export const hookKinds: { name: string; noun: Noun }[] = service.kinds.flatMap(({ name, noun, hooks }) => {
  const found = nouns.find((one) => one.name === noun);
  return hooks && found !== undefined ? [{ name, noun: found }] : [];
});

/** `completed_task` → `Completed Task`. */
export function titleOf(name: string): string {
  const title = name.replace(/(^|_)(\w)/g, (_, gap: string, first: string) => (gap && ' ') + first.toUpperCase());
  return title.replace(/\bId\b/, 'ID');
}

/** A record as Zapier wants it: with `id`. */
export type Shown = Record<string, unknown> & { id: string };

export function shown({ key }: Noun, record: Record<string, unknown>): Shown {
  return { id: String(record[key]), ...record };
}
