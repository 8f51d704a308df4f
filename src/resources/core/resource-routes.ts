import { resourceTypes } from '../../delivery/outbox/event-kinds.ts';
import type { Fields } from '../../http/fields/field.ts';
import { create, get, list, type Route, remove, update } from '../../http/routes/route.ts';
import type { Permission } from '../../permissions.ts';
import type { ResourceOperations } from './define-resource.ts';
import type { Filters } from './filters.ts';
import { parentOf } from './references.ts';
import type { RequestedOrders } from './sorting.ts';

/** Descriptions of the routes of a resource. Without `change`, there is no route to change a record. */
type RouteDescriptions = {
  readonly list: string;
  readonly create: string;
  readonly get: string;
  readonly change?: string;
  readonly remove: string;
};

/** Creates the routes of a resource: list, create, get, change and remove. */
export function resourceRoutes<
  F extends Fields,
  C extends Fields,
  P extends Filters,
  O extends RequestedOrders,
  L extends Fields,
>(records: ResourceOperations<F, C, P, O, L>, descriptions: RouteDescriptions): readonly Route[] {
  const { resourceType, fields, changes, parameters, kinds } = records;
  const { collection, key, permission } = resourceTypes[resourceType];
  const parent = parentOf(resourceType);
  const parentKey = parent && resourceTypes[parent].key;
  const idIn = (ids: unknown, name: string) => (ids as Readonly<Record<string, number>>)[name] ?? 0;
  const head = (path: string, description: string) => ({ path, description });
  const reading = { permission, fields };
  const writing = { permission: permission.replace(':read', ':write') as Permission, fields };
  const single = `${collection}/{${key}}`;
  return [
    list({
      ...head(collection, descriptions.list),
      ...reading,
      fields: records.listed,
      parameters,
      call: (view, _caller, given, paging) => records.list(view, given, paging),
    }),
    create({
      ...head(parentKey === undefined ? collection : `${collection}/{${parentKey}}`, descriptions.create),
      ...writing,
      records: [`new_${resourceType}`],
      at: { collection, key },
      call: (write, caller, input, ids) =>
        records.create(write, caller, input, parentKey === undefined ? undefined : idIn(ids, parentKey)),
    }),
    get({
      ...head(single, descriptions.get),
      ...reading,
      call: (view, _caller, ids) => records.get(view, idIn(ids, key)),
    }),
    ...(descriptions.change === undefined
      ? []
      : [
          update({
            ...head(single, descriptions.change),
            ...writing,
            inputFields: changes,
            records: kinds.change,
            call: (write, caller, input, ids) => records.change(write, caller, idIn(ids, key), input),
          }),
        ]),
    remove({
      ...head(single, descriptions.remove),
      permission: writing.permission,
      records: kinds.remove,
      call: (write, caller, ids) => records.remove(write, caller, idIn(ids, key)),
    }),
  ];
}

/** Copies the routes of one HTTP method to another collection path, which existing clients use. */
export function aliasRoutes(routes: readonly Route[], method: Route['method'], path: string): readonly Route[] {
  return routes
    .filter((route) => route.method === method)
    .map((route) => ({
      ...route,
      path: route.path.replace(/^\/[^/]+/, path),
      description: `${route.description} Alias of \`${method} /v2${route.path}\`.`,
      aliasOf: route.path,
    }));
}
