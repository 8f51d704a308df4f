import type { ResourceName } from './resource-tables.ts';

/** Records of one noun name one of another. */
export type Relation = {
  readonly of: ResourceName;
  /** The field that names it, and the column that holds its id. */
  readonly field: string;
  readonly to: ResourceName;
  /** What becomes of a record when the one that it names is deleted: it goes, too; or it stays, and names none (C34). */
  readonly becomes: 'deleted' | 'cleared';
  /** It belongs to that one from its creation on, whose path names it. */
  readonly parent?: true;
  /** What is the same of both, in columns of this name: such a record is found where the one that it names is. */
  readonly shares?: readonly string[];
};

/** Which records name which others, in the order in which a deletion follows them; what shares more comes first. */
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

/** What a record of this noun belongs to; undefined where it stands by itself. */
export function parentOf(resourceType: ResourceName): ResourceName | undefined {
  return relationsOf(resourceType).find(({ parent }) => parent)?.to;
}
