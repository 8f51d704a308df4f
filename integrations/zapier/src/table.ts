import service from './service.json';

/** Type of an input field in the editor. */
export type InputType = 'text' | 'date' | 'day' | 'number' | 'flag' | 'word' | 'ids';

/**
 * An input field, with the property names of `service.json`: its description (`says`), its type (`form`), and the values
 * to choose from if the type is `word` (`words`).
 */
export type Field = { name: string; says: string; form: InputType; required?: boolean; words?: string[] };

/** A resource type of the service, with the fields to create, change and find its records. */
export type ResourceType = {
  name: string;
  /** Plural of the name, as in URLs. */
  plural: string;
  /** Name of the field that contains the record's id. */
  key: string;
  /** Name of the field that contains the record's name. */
  label: string;
  /** Name of the field that contains the id of the parent record. */
  parent?: string;
  /** Fields for creating a record. */
  creation: Field[];
  /** Fields that can be changed. */
  change: Field[];
  /** Filters of the list of records. */
  filters: Field[];
  /** A sample record for the editor. */
  sample: Record<string, unknown>;
};

export const resourceTypes = service.resourceTypes as ResourceType[];

/** An event kind, such as `changed_task`: its verb, here `changed`, and the resource type of its records. */
export type Kind = { name: string; verb: string; resourceType: ResourceType };

/** The event kinds of the resource types above. */
export const kinds: Kind[] = resourceTypes.flatMap((resourceType) =>
  service.kinds
    .filter((kind) => kind.resourceType === resourceType.name)
    .map(({ name }) => ({ name, verb: name.slice(0, name.indexOf('_')), resourceType })),
);

/** Converts `completed_task` to `Completed Task`. */
export function titleOf(name: string): string {
  const title = name.replace(/(^|_)(\w)/g, (_, gap: string, first: string) => (gap && ' ') + first.toUpperCase());
  return title.replace(/\bId\b/, 'ID');
}

/** A record with the `id` that Zapier requires. */
export type ZapierRecord = Record<string, unknown> & { id: string };

export function toZapierRecord({ key }: ResourceType, record: Record<string, unknown>): ZapierRecord {
  return { id: String(record[key]), ...record };
}
