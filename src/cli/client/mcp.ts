import { Server } from '@modelcontextprotocol/server';
import { serveStdio } from '@modelcontextprotocol/server/stdio';
import type { Command } from 'commander';
import { CarillonError } from '../../../packages/sdk/src/errors.ts';
import { nextPageLink } from '../../../packages/sdk/src/response-body.ts';
import type { Send } from '../../../packages/sdk/src/transport.ts';
import { propertiesOf, recordOf, requiredOf } from '../../api-docs/schema-shape.ts';
import type { JsonSchema } from '../../http/fields/field.ts';
import { version } from '../../version.ts';
import { CliError } from '../output/screen.ts';
import { pathSegments } from '../resource-commands/command.ts';
import { isList, rowsByResourceType, type Verb, verbsOf } from '../resource-commands/verbs.ts';
import { addConnectionOptions, type ConnectionFlags, withService } from './connect.ts';

type Flags = ConnectionFlags & { readonly readOnly?: true; readonly resourceTypes?: string };

const INSTRUCTIONS =
  'Calendar events, clients, contacts, projects, tasks, subtasks, time entries, comments, users and teams of one account, and hooks that are notified of changes. Ids are strings of digits. Dates are written yyyymmdd. A list returns at most 1000 records per page; pass its `next` as `after` to get the next page.';

/** An MCP tool and the route that it calls. */
export type Tool = {
  readonly name: string;
  readonly verb: Verb;
  readonly description: string;
  readonly inputSchema: { readonly type: 'object'; readonly properties: Record<string, JsonSchema> };
  readonly annotations: Readonly<Record<string, boolean>>;
};

/** Registers the command `carillon mcp`, which serves the routes as MCP tools over standard input and output. */
export function addMcp(program: Command): void {
  const command = program
    .command('mcp')
    .description(
      'Serve the API as tools over the Model Context Protocol, on standard input and output. The tools have the permissions of the key. See docs/mcp.md.',
    )
    .option('--read-only', 'Offer only tools that read.')
    .option('--resources <names>', 'Offer only these resources, separated by commas: events,tasks.');
  addConnectionOptions(command).action(
    async ({ resources: resourceTypes, ...flags }: Flags & { resources?: string }) => {
      const tools = toolsFor({ ...flags, ...(resourceTypes !== undefined && { resourceTypes }) });
      await withService(flags, async ({ send }) => void serveStdio(() => serverOf(tools, send)));
    },
  );
}

/**
 * Returns the tools that the flags select. Routes that return a secret are excluded, because the transcript of the MCP
 * client would contain the secret.
 */
export function toolsFor({ readOnly, resourceTypes }: Flags): readonly Tool[] {
  const wanted = resourceTypes?.split(',').map((name) => name.trim().replaceAll('-', '_'));
  const unknown = wanted?.find((resourceType) => !rowsByResourceType.has(resourceType));
  if (unknown !== undefined)
    throw new CliError([`--resources: ${unknown} is not one of ${[...rowsByResourceType.keys()].join(', ')}.`]);
  return [...rowsByResourceType.keys()]
    .filter((resourceType) => wanted?.includes(resourceType) ?? true)
    .flatMap((resourceType) => verbsOf(resourceType).map((verb) => toolOf(resourceType, verb)))
    .filter(
      ({ verb: { row, sends } }) => sends === undefined && !isSecret(row.answer) && !(readOnly && row.method !== 'GET'),
    );
}

const isSecret = (response: JsonSchema) =>
  Object.values(recordOf(response)).some((field) => field['x-shown-once'] === true);

function toolOf(resourceType: string, verb: Verb): Tool {
  const { row, ids, word } = verb;
  const inPath = ids.map((name) => [name, { type: 'string', pattern: '^\\d+$', description: `A ${name}.` }]);
  const inQuery = Object.entries(row.parameters).map(([name, { schema, description }]) => [
    name,
    { ...schema, description },
  ]);
  const properties = Object.fromEntries([...inPath, ...inQuery, ...Object.entries(propertiesOf(row.body))]);
  return {
    name: `${resourceType}_${word.replaceAll('-', '_')}`,
    verb,
    description: row.description,
    inputSchema: { type: 'object', properties, ...required([...ids, ...requiredOf(row.body)]) },
    annotations: {
      readOnlyHint: row.method === 'GET',
      destructiveHint: row.method === 'DELETE',
      idempotentHint: row.method !== 'POST',
      openWorldHint: false,
    },
  };
}

const required = (names: readonly string[]) => (names.length === 0 ? {} : { required: names });

function serverOf(tools: readonly Tool[], send: Send): Server {
  const server = new Server({ name: 'carillon', version }, { capabilities: { tools: {} }, instructions: INSTRUCTIONS });
  server.setRequestHandler('tools/list', () => ({ tools: tools.map(({ verb: _, ...tool }) => tool) as never }));
  server.setRequestHandler('tools/call', async ({ params: { name, arguments: given = {} } }) => {
    const tool = tools.find((one) => one.name === name);
    const result = tool === undefined ? `There is no tool ${name}.` : await call(tool, given, send).catch(errorTextOf);
    return typeof result === 'string'
      ? { content: [{ type: 'text', text: result }], isError: true }
      : { content: [{ type: 'text', text: JSON.stringify(result.body) }] };
  });
  return server;
}

/** Timeout of a call, longer than the 30 seconds for which the feed may wait for occurrences. */
const TIMEOUT_MS = 65_000;

async function call({ verb }: Tool, given: Readonly<Record<string, unknown>>, send: Send): Promise<{ body: unknown }> {
  const { row, ids } = verb;
  const path = pathSegments(
    verb,
    ids.map((name) => textOf(name, given[name])),
  );
  const rest = Object.entries(given).filter(([name]) => !ids.includes(name));
  const unknown = rest.find(([name]) => !(name in row.parameters));
  // Reject unknown query parameters: the service ignores them, so a misspelled filter would have no effect. Unknown
  // fields of a body are rejected by the service.
  if (row.body === undefined && unknown !== undefined)
    throw new CliError([`${unknown[0]} is not an argument; valid: ${argumentsOf(verb)}.`]);
  const query = Object.fromEntries(
    rest.filter(([name]) => name in row.parameters).map(([name, value]) => [name, textOf(name, value)]),
  );
  const body = row.body === undefined ? undefined : Object.fromEntries(rest);
  const response = await send({ method: row.method, path, query, body, timeoutMs: TIMEOUT_MS });
  const nextPage = isList(row) ? nextPageLink(response) : undefined;
  return { body: nextPage === undefined ? response.body : { ...Object(response.body), next: nextPage.after } };
}

const argumentsOf = ({ ids, row }: Verb) => [...ids, ...Object.keys(row.parameters)].join(', ') || 'none';

function textOf(name: string, value: unknown): string {
  if (typeof value === 'string' || typeof value === 'number' || typeof value === 'boolean') return String(value);
  throw new CliError([`${name} ${value === undefined ? 'is missing' : 'must be a text, a number, true or false'}.`]);
}

/** Returns the error text for the MCP client. It names the invalid fields. */
function errorTextOf(error: unknown): string {
  if (error instanceof CliError) return error.lines.join('\n');
  if (!(error instanceof CarillonError)) throw error;
  const fields = error.errors.map(({ field, message }) => `${field} ${message}`);
  return `${error.status} ${error.code}: ${fields.join('; ') || error.message}`;
}
