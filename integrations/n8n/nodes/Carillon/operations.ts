import { type ResourceType, resourceTypes } from '../parts/table';

/**
 * An operation of the node, sent as one API call. `pathKind` selects the path below the resource, and `fieldSet` the
 * input fields that the editor shows.
 */
export type Operation = {
  method: 'GET' | 'POST' | 'PUT' | 'DELETE';
  pathKind: 'all' | 'one' | 'parent' | 'restore';
  body?: Record<string, unknown>;
  fieldSet?: 'creation' | 'change' | 'filters';
};

const commonOperations: Record<string, Operation> = {
  delete: { method: 'DELETE', pathKind: 'one' },
  get: { method: 'GET', pathKind: 'one' },
  getAll: { method: 'GET', pathKind: 'all', fieldSet: 'filters' },
  update: { method: 'PUT', pathKind: 'one', fieldSet: 'change' },
};

const completionOperations: Record<string, Operation> = {
  complete: { method: 'PUT', pathKind: 'one', body: { completed: 1 } },
  resume: { method: 'PUT', pathKind: 'one', body: { resume: 1 } },
};

/** A resource that the node offers, with its operations by name. */
export type Resource = Omit<ResourceType, 'label'> & { operations: Record<string, Operation> };

const hookResource: Resource = {
  name: 'hook',
  plural: 'hooks',
  key: 'id',
  creation: [],
  change: [],
  filters: [{ name: 'state', says: 'Live, failing or ended.', form: 'word', words: ['live', 'failing', 'ended'] }],
  operations: {
    get: { method: 'GET', pathKind: 'one' },
    getAll: { method: 'GET', pathKind: 'all', fieldSet: 'filters' },
    restore: { method: 'POST', pathKind: 'restore' },
  },
};

export const resources: Record<string, Resource> = Object.fromEntries(
  [...resourceTypes.map(withOperations), hookResource].map((resource) => [resource.name, resource]),
);

function withOperations(resourceType: ResourceType): Resource {
  const create: Operation = {
    method: 'POST',
    pathKind: resourceType.parent === undefined ? 'all' : 'parent',
    fieldSet: 'creation',
  };
  const canBeCompleted = resourceType.change.some(({ name }) => name === 'completed');
  return {
    ...resourceType,
    operations: { ...(canBeCompleted ? completionOperations : {}), create, ...commonOperations },
  };
}
