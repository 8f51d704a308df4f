import { operationsOf } from '../../kit/api/openapi.ts';
import type { Json } from '../../kit/service/service.ts';

export type Parameter = { readonly name: string; readonly schema: Json };

/** One operation, as the OpenAPI document describes it. */
export type Operation = {
  /** Method and path, such as `GET /v2/clients/{client_id}`. */
  readonly name: string;
  readonly method: string;
  readonly path: string;
  /** Names of the ids in the path, in order, such as `client_id`. */
  readonly ids: readonly string[];
  readonly query: readonly Parameter[];
  readonly headers: readonly Parameter[];
  /** Schema of the request body; undefined if the operation takes none. */
  readonly body: Json | undefined;
  readonly responses: Json;
};

/** Returns every operation of the document. */
export function operationsIn(document: Json): Operation[] {
  return operationsOf(document).map(({ method, path, node }) => {
    const parameters: readonly Json[] = node.parameters ?? [];
    const parametersIn = (place: string) => parameters.filter((one) => one.in === place);
    return {
      name: `${method} ${path}`,
      method,
      path,
      // Paths of the same shape share the parameter name `id`; its description names the resource.
      ids: parametersIn('path').map(({ name, description }) => /^A (\w+_id)\.$/.exec(description)?.[1] ?? name),
      query: parametersIn('query'),
      headers: parametersIn('header'),
      body: node.requestBody?.content['application/json'].schema,
      responses: node.responses,
    };
  });
}
