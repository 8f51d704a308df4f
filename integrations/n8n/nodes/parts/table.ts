import service from './service.json';

/** Type of an input field in the editor. */
export type InputType = 'text' | 'date' | 'day' | 'number' | 'flag' | 'word' | 'ids';

export type Field = { name: string; says: string; form: InputType; required?: boolean; words?: string[] };

/** A resource type of the service, with the fields to create, change and find its records. */
export type ResourceType = {
  name: string;
  plural: string;
  /** Name of the field that contains the record's id. */
  key: string;
  label: string;
  /** Name of the field that contains the id of the parent record. */
  parent?: string;
  creation: Field[];
  change: Field[];
  filters: Field[];
};

export type Kind = { name: string; resourceType: string; hooks: boolean };

/** All kinds of occurrences. `hooks` is true for the kinds that a hook can subscribe to. */
export const kinds: Kind[] = service.kinds;

export const resourceTypes = service.resourceTypes as ResourceType[];

/** Converts `completed_task` to `Completed Task`. n8n requires Title Case in option lists. */
export function titleOf(name: string): string {
  return name.replace(/(^|_)(\w)/g, (_, gap: string, first: string) => (gap === '' ? '' : ' ') + first.toUpperCase());
}
