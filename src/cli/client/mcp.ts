import { Server } from '@modelcontextprotocol/server';
import { serveStdio } from '@modelcontextprotocol/server/stdio';
import type { Command } from 'commander';
import { CarillonError } from '../../../packages/sdk/src/errors.ts';
import { parseNextPageLink } from '../../../packages/sdk/src/response-body.ts';
import type { Send } from '../../../packages/sdk/src/transport.ts';
import { propertiesOf, recordPropertiesOf, requiredNamesOf } from '../../api-docs/schema-shape.ts';
import type { JsonSchema } from '../../http/fields/field.ts';
import { version } from '../../version.ts';
import { CliError } from '../output/screen.ts';
import { buildPathSegments } from '../resource-commands/command.ts';
import { isListRoute, type ResourceVerb, routesByResourceType, verbsOf } from '../resource-commands/verbs.ts';
import { withService } from './connect.ts';
import { addConnectionOptions, type ConnectionFlags } from './connection-options.ts';

type McpFlags = ConnectionFlags & { readonly readOnly?: true; readonly resources?: string };

const MCP_INSTRUCTIONS =
  'Calendar events, clients, contacts, projects, tasks, subtasks, time entries, comments, users and teams of one account, and hooks that are notified of changes. Ids are strings of digits. Dates are written yyyymmdd. A list returns at most 1000 records per page; pass its `next` as `after` to get the next page.';

/** An MCP tool and the route that it calls. */
type McpTool = {
  readonly name: string;
  readonly verb: ResourceVerb;
  readonly description: string;
  readonly inputSchema: { readonly type: 'object'; readonly properties: Record<string, JsonSchema> };
  readonly annotations: Readonly<Record<string, boolean>>;
};

/** Registers the command `carillon mcp`, which serves the routes as MCP tools over standard input and output. */
export function addMcpCommand(program: Command): void {
  const command = program
    .command('mcp')
    .description(
      'Serve the API as tools over the Model Context Protocol, on standard input and output. The tools have the permissions of the key. See docs/mcp.md.',
    )
    .option('--read-only', 'Offer only tools that read.')
    .option('--resources <names>', 'Offer only these resources, separated by commas: events,tasks.');
  addConnectionOptions(command).action(async (flags: McpFlags) => {
    const tools = selectTools(flags);
    await withService(flags, async ({ send }) => void serveStdio(() => createMcpServer(tools, send)));
  });
}

/**
 * Returns the tools that the flags select. Routes that return a secret are excluded, because the transcript of the MCP
 * client would contain the secret.
 */
export function selectTools({ readOnly, resources }: McpFlags): readonly McpTool[] {
  const selectedTypes = resources?.split(',').map((name) => name.trim().replaceAll('-', '_'));
  const unknownType = selectedTypes?.find((resourceType) => !routesByResourceType.has(resourceType));
  if (unknownType !== undefined)
    throw new CliError([`--resources: ${unknownType} is not one of ${[...routesByResourceType.keys()].join(', ')}.`]);
  return [...routesByResourceType.keys()]
    .filter((resourceType) => selectedTypes?.includes(resourceType) ?? true)
    .flatMap((resourceType) => verbsOf(resourceType).map((verb) => createTool(resourceType, verb)))
    .filter(
      ({ verb: { route, fixedBody } }) =>
        fixedBody === undefined && !returnsSecret(route.responseSchema) && !(readOnly && route.method !== 'GET'),
    );
}

const returnsSecret = (responseSchema: JsonSchema) =>
  Object.values(recordPropertiesOf(responseSchema)).some((property) => property['x-shown-once'] === true);

function createTool(resourceType: string, verb: ResourceVerb): McpTool {
  const { route, idNames, commandName } = verb;
  const pathProperties = idNames.map((name) => [
    name,
    { type: 'string', pattern: '^\\d+$', description: `A ${name}.` },
  ]);
  const queryProperties = Object.entries(route.parameters).map(([name, { schema, description }]) => [
    name,
    { ...schema, description },
  ]);
  const properties = Object.fromEntries([
    ...pathProperties,
    ...queryProperties,
    ...Object.entries(propertiesOf(route.bodySchema)),
  ]);
  return {
    name: `${resourceType}_${commandName.replaceAll('-', '_')}`,
    verb,
    description: route.description,
    inputSchema: {
      type: 'object',
      properties,
      ...createRequiredKeyword([...idNames, ...requiredNamesOf(route.bodySchema)]),
    },
    annotations: {
      readOnlyHint: route.method === 'GET',
      destructiveHint: route.method === 'DELETE',
      idempotentHint: route.method !== 'POST',
      openWorldHint: false,
    },
  };
}

const createRequiredKeyword = (requiredNames: readonly string[]) =>
  requiredNames.length === 0 ? {} : { required: requiredNames };

function createMcpServer(tools: readonly McpTool[], send: Send): Server {
  const server = new Server(
    { name: 'carillon', version },
    { capabilities: { tools: {} }, instructions: MCP_INSTRUCTIONS },
  );
  server.setRequestHandler('tools/list', () => ({ tools: tools.map(({ verb: _, ...tool }) => tool) as never }));
  server.setRequestHandler('tools/call', async ({ params: { name, arguments: toolArguments = {} } }) => {
    const tool = tools.find((candidate) => candidate.name === name);
    const toolResult =
      tool === undefined
        ? `There is no tool ${name}.`
        : await callTool(tool, toolArguments, send).catch(formatToolError);
    return typeof toolResult === 'string'
      ? { content: [{ type: 'text', text: toolResult }], isError: true }
      : { content: [{ type: 'text', text: JSON.stringify(toolResult.body) }] };
  });
  return server;
}

/** Timeout of a call, longer than the 30 seconds for which the feed may wait for occurrences. */
const CALL_TIMEOUT_MS = 65_000;

async function callTool(
  { verb }: McpTool,
  toolArguments: Readonly<Record<string, unknown>>,
  send: Send,
): Promise<{ body: unknown }> {
  const { route, idNames } = verb;
  const path = buildPathSegments(
    verb,
    idNames.map((name) => toArgumentText(name, toolArguments[name])),
  );
  const otherArguments = Object.entries(toolArguments).filter(([name]) => !idNames.includes(name));
  const unknownArgument = otherArguments.find(([name]) => !(name in route.parameters));
  // Reject unknown query parameters: the service ignores them, so a misspelled filter would have no effect. Unknown
  // fields of a body are rejected by the service.
  if (route.bodySchema === undefined && unknownArgument !== undefined)
    throw new CliError([`${unknownArgument[0]} is not an argument; valid: ${formatArgumentNames(verb)}.`]);
  const query = Object.fromEntries(
    otherArguments
      .filter(([name]) => name in route.parameters)
      .map(([name, value]) => [name, toArgumentText(name, value)]),
  );
  const body = route.bodySchema === undefined ? undefined : Object.fromEntries(otherArguments);
  const response = await send({ method: route.method, path, query, body, timeoutMs: CALL_TIMEOUT_MS });
  const nextPage = isListRoute(route) ? parseNextPageLink(response) : undefined;
  return { body: nextPage === undefined ? response.body : { ...Object(response.body), next: nextPage.after } };
}

const formatArgumentNames = ({ idNames, route }: ResourceVerb) =>
  [...idNames, ...Object.keys(route.parameters)].join(', ') || 'none';

function toArgumentText(name: string, value: unknown): string {
  if (typeof value === 'string' || typeof value === 'number' || typeof value === 'boolean') return String(value);
  throw new CliError([`${name} ${value === undefined ? 'is missing' : 'must be a text, a number, true or false'}.`]);
}

/** Returns the error text for the MCP client, with the invalid fields. */
function formatToolError(error: unknown): string {
  if (error instanceof CliError) return error.lines.join('\n');
  if (!(error instanceof CarillonError)) throw error;
  const fieldErrorTexts = error.errors.map(({ field, message }) => `${field} ${message}`);
  return `${error.status} ${error.code}: ${fieldErrorTexts.join('; ') || error.message}`;
}
