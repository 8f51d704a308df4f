import type { CreationInput, Fields } from '../http/fields/field.ts';
import { shortText } from '../http/fields/scalar-fields.ts';
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
type ReferenceField = {
  readonly field: string;
  readonly referencedType: 'clients' | 'projects' | 'tasks';
  /** The field that contains the name of the referenced record, if there is one. */
  readonly nameField?: string;
  /** If this reference cannot be resolved, the record is left out. */
  readonly isRequired?: true;
};

export type ResourceType = {
  readonly name: ResourceTypeName;
  /** `/v2/{name}` returns a single record instead of a list. */
  readonly isSingle?: true;
  /** Name of the id field at the source. */
  readonly idField: string;
  /** The table that its records are written to; undefined if they are only read. */
  readonly table?: ExportedTable;
  /** The fields, with the validation rules of this service. */
  readonly fields: Fields;
  readonly references: readonly ReferenceField[];
  /** The `resource_type` of its assignments; undefined if users cannot be assigned. */
  readonly assignmentType?: 'project' | 'task' | 'subtask';
};

/** Fields that refer to other records; they are resolved separately. */
const REFERENCE_FIELDS = ['user_id', 'client_id', 'project_id', 'task_id', 'users', 'teams'];

const omitReferences = (fields: Fields): Fields =>
  Object.fromEntries(Object.entries(fields).filter(([name]) => !REFERENCE_FIELDS.includes(name)));

const companyTextFields = [
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

const createReference = (singularName: string, isRequired?: true) => ({
  field: `${singularName}_id`,
  referencedType: `${singularName}s` as ReferenceField['referencedType'],
  nameField: `${singularName}_name`,
  ...(isRequired && { isRequired }),
});

export const resourceTypes: readonly ResourceType[] = [
  {
    name: 'company',
    isSingle: true,
    idField: 'company_id',
    table: 'accounts',
    fields: Object.fromEntries(companyTextFields.map((name) => [name, shortText(name)])),
    references: [],
  },
  { name: 'user', isSingle: true, idField: 'user_id', fields: {}, references: [] },
  { name: 'users', idField: 'user_id', table: 'users', fields: omitReferences(userFields), references: [] },
  { name: 'clients', idField: 'client_id', table: 'clients', fields: omitReferences(clientFields), references: [] },
  {
    name: 'projects',
    idField: 'project_id',
    table: 'projects',
    fields: omitReferences(projectFields),
    references: [createReference('client')],
    assignmentType: 'project',
  },
  {
    name: 'tasks',
    idField: 'task_id',
    table: 'tasks',
    fields: omitReferences(taskFields),
    references: [createReference('project', true)],
    assignmentType: 'task',
  },
  {
    name: 'subtasks',
    idField: 'subtask_id',
    table: 'subtasks',
    fields: omitReferences(subtaskFields),
    references: [createReference('task', true)],
    assignmentType: 'subtask',
  },
  {
    name: 'events',
    idField: 'event_id',
    table: 'events',
    fields: omitReferences(eventFields),
    references: [createReference('project')],
  },
];

/** Resource types that have a list. Their counts can be compared after the import. */
export const listedTypes = resourceTypes.filter(({ isSingle }) => isSingle === undefined);

/** Resource types that are written to a table. */
export const storedTypes = resourceTypes.filter(
  (resourceType): resourceType is ResourceType & { table: ExportedTable } => resourceType.table !== undefined,
);

export function resourceTypeOf(name: ResourceTypeName): ResourceType {
  const resourceType = resourceTypes.find((candidate) => candidate.name === name);
  if (resourceType === undefined) throw new Error(`${name} is no resource type`);
  return resourceType;
}

/** The validated fields of a record of any type, as if it were created by a POST. */
export type RecordCreationInput = CreationInput<Fields>;
