import type { CreationInput, Fields } from '../http/fields/field.ts';
import { shortText } from '../http/fields/field-types.ts';
import { clientFields } from '../resources/clients/clients.ts';
import { eventFields } from '../resources/events/events.ts';
import { projectFields } from '../resources/projects/projects.ts';
import { subtaskFields } from '../resources/subtasks/subtasks.ts';
import { taskFields } from '../resources/tasks/tasks.ts';
import { userFields } from '../resources/users/users.ts';
import type { ExportedTable } from '../transfer/exported-tables.ts';

/**
 * The resource types that are imported, in the order of the import: records come after the records that they refer to.
 */
export type ResourceTypeName = 'company' | 'user' | 'users' | 'clients' | 'projects' | 'tasks' | 'subtasks' | 'events';

/** A field that refers to a record of another type. */
export type ReferenceField = {
  readonly field: string;
  readonly to: 'clients' | 'projects' | 'tasks';
  /** The field that contains the name of the referenced record, if there is one. */
  readonly nameField?: string;
  /** If this reference cannot be resolved, the record is left out. */
  readonly required?: true;
};

export type ResourceType = {
  readonly name: ResourceTypeName;
  /** `/v2/{name}` returns a single record instead of a list. */
  readonly single?: true;
  /** Name of the id field at the source. */
  readonly id: string;
  /** The table that its records are written to; undefined if they are only read. */
  readonly table?: ExportedTable;
  /** The fields, with the validation rules of this service. */
  readonly fields: Fields;
  readonly references: readonly ReferenceField[];
  /** The `resource_type` of its assignments; undefined if users cannot be assigned. */
  readonly assignable?: 'project' | 'task' | 'subtask';
};

/** Fields that refer to other records; they are resolved separately. */
const REFERENCE_FIELDS = ['user_id', 'client_id', 'project_id', 'task_id', 'users', 'teams'];

const withoutReferences = (fields: Fields): Fields =>
  Object.fromEntries(Object.entries(fields).filter(([name]) => !REFERENCE_FIELDS.includes(name)));

const companyTexts = [
  'company_name',
  'address1',
  'address2',
  'city',
  'state',
  'postcode',
  'country',
  'currency',
  'phone',
];

const referenceTo = (resourceType: string, required?: true) => ({
  field: `${resourceType}_id`,
  to: `${resourceType}s` as ReferenceField['to'],
  nameField: `${resourceType}_name`,
  ...(required && { required }),
});

export const resourceTypes: readonly ResourceType[] = [
  {
    name: 'company',
    single: true,
    id: 'company_id',
    table: 'accounts',
    fields: Object.fromEntries(companyTexts.map((name) => [name, shortText(name)])),
    references: [],
  },
  { name: 'user', single: true, id: 'user_id', fields: {}, references: [] },
  { name: 'users', id: 'user_id', table: 'users', fields: withoutReferences(userFields), references: [] },
  { name: 'clients', id: 'client_id', table: 'clients', fields: withoutReferences(clientFields), references: [] },
  {
    name: 'projects',
    id: 'project_id',
    table: 'projects',
    fields: withoutReferences(projectFields),
    references: [referenceTo('client')],
    assignable: 'project',
  },
  {
    name: 'tasks',
    id: 'task_id',
    table: 'tasks',
    fields: withoutReferences(taskFields),
    references: [referenceTo('project', true)],
    assignable: 'task',
  },
  {
    name: 'subtasks',
    id: 'subtask_id',
    table: 'subtasks',
    fields: withoutReferences(subtaskFields),
    references: [referenceTo('task', true)],
    assignable: 'subtask',
  },
  {
    name: 'events',
    id: 'event_id',
    table: 'events',
    fields: withoutReferences(eventFields),
    references: [referenceTo('project')],
  },
];

/** Resource types that have a list. Their counts can be compared after the import. */
export const listedTypes = resourceTypes.filter(({ single }) => single === undefined);

/** Resource types that are written to a table. */
export const storedTypes = resourceTypes.filter(
  (resourceType): resourceType is ResourceType & { table: ExportedTable } => resourceType.table !== undefined,
);

export function resourceTypeOf(name: ResourceTypeName): ResourceType {
  const resourceType = resourceTypes.find((candidate) => candidate.name === name);
  if (resourceType === undefined) throw new Error(`${name} is no resource type`);
  return resourceType;
}

export type CreateInput = CreationInput<Fields>;
