import type { Created, Fields } from '../http/fields/field.ts';
import { shortText } from '../http/fields/field-types.ts';
import { clientFields } from '../resources/clients/clients.ts';
import { eventFields } from '../resources/events/events.ts';
import { projectFields } from '../resources/projects/projects.ts';
import { subtaskFields } from '../resources/subtasks/subtasks.ts';
import { taskFields } from '../resources/tasks/tasks.ts';
import { userFields } from '../resources/users/users.ts';
import type { MovedTable } from '../transfer/exported-tables.ts';

/** What is read from another service, in an order in which every record comes after those that it refers to. */
export type ResourceTypeName = 'company' | 'user' | 'users' | 'clients' | 'projects' | 'tasks' | 'subtasks' | 'events';

/** A record that another one names. */
export type Reference = {
  readonly field: string;
  readonly to: 'clients' | 'projects' | 'tasks';
  /** The field that shows its name, where there is one. */
  readonly shownAs?: string;
  /** Without it, the record cannot be: it is left out. */
  readonly required?: true;
};

export type ResourceType = {
  readonly name: ResourceTypeName;
  /** One record at `/v2/{name}`, and no list. */
  readonly single?: true;
  /** The field that has its id, there. */
  readonly id: string;
  /** Where its records go; undefined for what is only looked at. */
  readonly table?: MovedTable;
  /** The rules that its own fields are written by: those of this service. */
  readonly fields: Fields;
  readonly references: readonly Reference[];
  /** The noun in `assignments`, where users are assigned to it. */
  readonly assignable?: 'project' | 'task' | 'subtask';
};

/** What is written by hand, not through the rules of the fields. */
const TIED = ['user_id', 'client_id', 'project_id', 'task_id', 'users', 'teams'];

const own = (fields: Fields): Fields =>
  Object.fromEntries(Object.entries(fields).filter(([name]) => !TIED.includes(name)));

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

const named = (resourceType: string, required?: true) => ({
  field: `${resourceType}_id`,
  to: `${resourceType}s` as Reference['to'],
  shownAs: `${resourceType}_name`,
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
  { name: 'users', id: 'user_id', table: 'users', fields: own(userFields), references: [] },
  { name: 'clients', id: 'client_id', table: 'clients', fields: own(clientFields), references: [] },
  {
    name: 'projects',
    id: 'project_id',
    table: 'projects',
    fields: own(projectFields),
    references: [named('client')],
    assignable: 'project',
  },
  {
    name: 'tasks',
    id: 'task_id',
    table: 'tasks',
    fields: own(taskFields),
    references: [named('project', true)],
    assignable: 'task',
  },
  {
    name: 'subtasks',
    id: 'subtask_id',
    table: 'subtasks',
    fields: own(subtaskFields),
    references: [named('task', true)],
    assignable: 'subtask',
  },
  { name: 'events', id: 'event_id', table: 'events', fields: own(eventFields), references: [named('project')] },
];

/** Those with a list, whose number can be compared. */
export const listed = resourceTypes.filter(({ single }) => single === undefined);

/** Those whose records are rows here. */
export const kept = resourceTypes.filter(
  (resourceType): resourceType is ResourceType & { table: MovedTable } => resourceType.table !== undefined,
);

export function resourceTypeOf(name: ResourceTypeName): ResourceType {
  const resourceType = resourceTypes.find((one) => one.name === name);
  if (resourceType === undefined) throw new Error(`${name} is no noun`);
  return resourceType;
}

export type Input = Created<Fields>;
