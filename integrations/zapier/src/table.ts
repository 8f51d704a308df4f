import service from './service.json';

/** How a value is asked for. */
export type Form = 'text' | 'date' | 'day' | 'number' | 'flag' | 'word' | 'ids';

export type Field = { name: string; says: string; form: Form; required?: boolean; words?: string[] };

/** A resource type of the service: where its records are, and what is asked for to create, change and find them. */
export type ResourceType = {
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

export const resourceTypes = service.resourceTypes as ResourceType[];

/** What a hook can be told of, with the resource type whose record it rings for. */
export const hookKinds: { name: string; resourceType: ResourceType }[] = service.kinds.flatMap(
  ({ name, resourceType, hooks }) => {
    const found = resourceTypes.find((one) => one.name === resourceType);
    return hooks && found !== undefined ? [{ name, resourceType: found }] : [];
  },
);

/** `completed_task` → `Completed Task`. */
export function titleOf(name: string): string {
  const title = name.replace(/(^|_)(\w)/g, (_, gap: string, first: string) => (gap && ' ') + first.toUpperCase());
  return title.replace(/\bId\b/, 'ID');
}

/** A record as Zapier wants it: with `id`. */
export type Shown = Record<string, unknown> & { id: string };

export function shown({ key }: ResourceType, record: Record<string, unknown>): Shown {
  return { id: String(record[key]), ...record };
}
