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
};

/**
 * An event kind (kind of occurrence), with the resource type of its records. `hooks`: whether the first version of
 * *Carillon Trigger* offers it.
 */
export type Kind = { name: string; resourceType: string; plural: string; hooks: boolean };

/** All event kinds. */
export const kinds: Kind[] = service.kinds;

export const resourceTypes = service.resourceTypes as ResourceType[];

/** Converts `completed_task` to `Completed Task`. n8n requires Title Case in option lists. */
export function titleOf(name: string): string {
  return name.replace(/(^|_)(\w)/g, (_, gap: string, first: string) => (gap === '' ? '' : ' ') + first.toUpperCase());
}
