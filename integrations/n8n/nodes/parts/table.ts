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
};

export type Kind = { name: string; resourceType: string; hooks: boolean };

/** Everything that can happen; `hooks`: what a hook can be told of. */
export const kinds: Kind[] = service.kinds;

export const resourceTypes = service.resourceTypes as ResourceType[];

/** `completed_task` → `Completed task`; n8n asks for Title Case in lists of options. */
export function titleOf(name: string): string {
  return name.replace(/(^|_)(\w)/g, (_, gap: string, first: string) => (gap === '' ? '' : ' ') + first.toUpperCase());
}
