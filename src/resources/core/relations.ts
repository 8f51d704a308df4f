import type { ResourceName } from './resource-tables.ts';

/** A reference: records of type `of` hold the id of a record of type `to`. */
export type Relation = {
  readonly of: ResourceName;
  /** The field and column that hold the id. */
  readonly field: string;
  readonly to: ResourceName;
  /** On deletion of the referenced record: delete the referring record, or set its reference to 0 (C34). */
  readonly becomes: 'deleted' | 'cleared';
  /** The reference is required: creation takes the id from the path. */
  readonly parent?: true;
  /** Columns that the referring record copies from the referenced one, such as its project. */
  readonly shares?: readonly string[];
};

/** All references, in the order in which a deletion follows them. A relation that shares more columns comes first. */
const relations: readonly Relation[] = [
  {
    of: 'comment',
    field: 'parent_id',
    to: 'comment',
    becomes: 'deleted',
    shares: ['project_id', 'task_id', 'subtask_id'],
  },
  { of: 'comment', field: 'subtask_id', to: 'subtask', becomes: 'deleted', shares: ['task_id'] },
  { of: 'comment', field: 'task_id', to: 'task', becomes: 'deleted', shares: ['project_id'] },
  { of: 'time_entry', field: 'task_id', to: 'task', becomes: 'deleted', parent: true },
  { of: 'time_entry', field: 'subtask_id', to: 'subtask', becomes: 'cleared', shares: ['task_id'] },
  { of: 'subtask', field: 'task_id', to: 'task', becomes: 'deleted', parent: true },
  { of: 'task', field: 'project_id', to: 'project', becomes: 'deleted', parent: true },
  { of: 'comment', field: 'project_id', to: 'project', becomes: 'deleted', parent: true },
  { of: 'event', field: 'project_id', to: 'project', becomes: 'cleared' },
  { of: 'contact', field: 'client_id', to: 'client', becomes: 'cleared' },
  { of: 'project', field: 'client_id', to: 'client', becomes: 'cleared' },
];

export const relationsOf = (resourceType: ResourceName): readonly Relation[] =>
  relations.filter(({ of }) => of === resourceType);

export const relationsTo = (resourceType: ResourceName): readonly Relation[] =>
  relations.filter(({ to }) => to === resourceType);

/** Type of the parent record; undefined for a resource without one. */
export function parentOf(resourceType: ResourceName): ResourceName | undefined {
  return relationsOf(resourceType).find(({ parent }) => parent)?.to;
}
