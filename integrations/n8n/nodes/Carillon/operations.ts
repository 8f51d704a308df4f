import { type ResourceType, resourceTypes } from '../parts/table';

/**
 * An operation of the node, sent as one API call. `pathKind` selects the path below the resource, and `fieldSet` the
 * input fields that the editor shows.
 */
export type Operation = {
  method: 'GET' | 'POST' | 'PUT' | 'DELETE';
  at: 'all' | 'one' | 'parent' | 'restore';
  body?: Record<string, unknown>;
  takes?: 'creation' | 'change' | 'filters';
};

const common: Record<string, Operation> = {
  delete: { method: 'DELETE', at: 'one' },
  get: { method: 'GET', at: 'one' },
  getAll: { method: 'GET', at: 'all', takes: 'filters' },
  update: { method: 'PUT', at: 'one', takes: 'change' },
};

const completing: Record<string, Operation> = {
  complete: { method: 'PUT', at: 'one', body: { completed: 1 } },
  resume: { method: 'PUT', at: 'one', body: { resume: 1 } },
};

/** A resource that the node offers, with its operations by name. */
export type Resource = Omit<ResourceType, 'label'> & { operations: Record<string, Operation> };

const hook: Resource = {
  name: 'hook',
  plural: 'hooks',
  key: 'id',
  creation: [],
  change: [],
  filters: [{ name: 'state', says: 'Live, failing or ended.', form: 'word', words: ['live', 'failing', 'ended'] }],
  operations: {
    get: { method: 'GET', at: 'one' },
    getAll: { method: 'GET', at: 'all', takes: 'filters' },
    restore: { method: 'POST', at: 'restore' },
  },
};

export const resources: Record<string, Resource> = Object.fromEntries(
  [...resourceTypes.map(withOperations), hook].map((resource) => [resource.name, resource]),
);

function withOperations(resourceType: ResourceType): Resource {
  const create: Operation = {
    method: 'POST',
    at: resourceType.parent === undefined ? 'all' : 'parent',
    takes: 'creation',
  };
  const isCompleted = resourceType.change.some(({ name }) => name === 'completed');
  return { ...resourceType, operations: { ...(isCompleted ? completing : {}), create, ...common } };
}
