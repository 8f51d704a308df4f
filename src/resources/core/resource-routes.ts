import { resourceTypes } from '../../delivery/outbox/event-kinds.ts';
import {
  defineCreateRoute,
  defineDeleteRoute,
  defineGetRoute,
  defineListRoute,
  defineUpdateRoute,
} from '../../http/routes/define-routes.ts';
import type { Route } from '../../http/routes/route.ts';
import type { Permission } from '../../permissions.ts';
import type { ResourceOperations, ResourceShape } from './define-resource.ts';
import { parentTypeOf } from './references.ts';

/** Descriptions of the routes of a resource. Without `change`, there is no route to change a record. */
type RouteDescriptions = {
  readonly list: string;
  readonly create: string;
  readonly get: string;
  readonly change?: string;
  readonly remove: string;
};

/** Creates the routes of a resource: list, create, get, change and remove. */
export function createResourceRoutes<Shape extends ResourceShape>(
  operations: ResourceOperations<Shape>,
  descriptions: RouteDescriptions,
): readonly Route[] {
  const { resourceType, fields, changeFields, parameters, kinds } = operations;
  const { collection, key, permission } = resourceTypes[resourceType];
  const parentType = parentTypeOf(resourceType);
  const parentKey = parentType && resourceTypes[parentType].key;
  const readPathId = (ids: unknown, name: string) => (ids as Readonly<Record<string, number>>)[name] ?? 0;
  const pathAndDescription = (path: string, description: string) => ({ path, description });
  const readOptions = { permission, fields };
  const writeOptions = { permission: permission.replace(':read', ':write') as Permission, fields };
  const recordPath = `${collection}/{${key}}`;
  return [
    defineListRoute({
      ...pathAndDescription(collection, descriptions.list),
      ...readOptions,
      fields: operations.listedFields,
      parameters,
      handle: (view, _caller, parameterValues, paging) => operations.list(view, parameterValues, paging),
    }),
    defineCreateRoute({
      ...pathAndDescription(parentKey === undefined ? collection : `${collection}/{${parentKey}}`, descriptions.create),
      ...writeOptions,
      recordedKinds: kinds.create,
      location: { collectionPath: collection, idField: key },
      handle: (write, caller, input, ids) =>
        operations.create(write, caller, input, parentKey === undefined ? undefined : readPathId(ids, parentKey)),
    }),
    defineGetRoute({
      ...pathAndDescription(recordPath, descriptions.get),
      ...readOptions,
      handle: (view, _caller, ids) => operations.get(view, readPathId(ids, key)),
    }),
    ...(descriptions.change === undefined
      ? []
      : [
          defineUpdateRoute({
            ...pathAndDescription(recordPath, descriptions.change),
            ...writeOptions,
            inputFields: changeFields,
            recordedKinds: kinds.change,
            handle: (write, caller, input, ids) => operations.change(write, caller, readPathId(ids, key), input),
          }),
        ]),
    defineDeleteRoute({
      ...pathAndDescription(recordPath, descriptions.remove),
      permission: writeOptions.permission,
      recordedKinds: kinds.remove,
      handle: (write, caller, ids) => operations.remove(write, caller, readPathId(ids, key)),
    }),
  ];
}

/** Copies the routes of one HTTP method to another collection path, which existing clients use. */
export function createAliasRoutes(routes: readonly Route[], method: Route['method'], path: string): readonly Route[] {
  return routes
    .filter((route) => route.method === method)
    .map((route) => ({
      ...route,
      path: route.path.replace(/^\/[^/]+/, path),
      description: `${route.description} Alias of \`${method} /v2${route.path}\`.`,
      aliasOf: route.path,
    }));
}
