import { readFileSync } from 'node:fs';
import type { Command } from 'commander';
import { fieldOf } from '../../../packages/sdk/src/response-body.ts';
import { type ApiCall, unexpectedResponse } from '../../../packages/sdk/src/transport.ts';
import { addConnectionOptions, type ConnectionFlags, type ServiceClient, withService } from '../client/connect.ts';
import { readStandardInput } from '../input/prompt.ts';
import { CliError, type Output, stdout } from '../output/screen.ts';
import { addFieldFlags, addFilterFlags, bodyFromFlags, type FlagValues, queryFromFlags } from './flags.ts';
import { addListOptions, addOutputOptions, type OutputFlags, pagesOf, printRecord, printRecords } from './print.ts';
import { isList, type ResourceVerb, verbsOf } from './verbs.ts';

type ResourceCommandFlags = ConnectionFlags & OutputFlags & FlagValues;

/** Registers the command of a resource, such as `carillon events …`, with one subcommand for each route. */
export function addResourceCommand(program: Command, name: string, screen: Output = stdout): void {
  const verbs = verbsOf(name);
  const resourceType = program.command(name).description(`${verbs[0]?.description ?? ''} See docs/command-line.md.`);
  for (const verb of verbs) addVerb(resourceType, verb, screen);
}

/** Whether the name of the subcommand may be omitted, as in `carillon user`: true for a read without an id. */
function isDefaultVerb({ commandName, ids, route }: ResourceVerb): boolean {
  return ids.length === 0 && (commandName === 'show' || route.mode === 'follow');
}

function addVerb(resourceType: Command, verb: ResourceVerb, screen: Output): void {
  const { commandName, route, ids } = verb;
  const command = resourceType.command(commandName, { isDefault: isDefaultVerb(verb) }).description(verb.description);
  for (const id of ids) command.argument(`<${id}>`, `The ${id}, as in responses.`);
  const bodySchema = verb.fixedBody === undefined ? route.body : undefined;
  if (bodySchema !== undefined) {
    command.argument('[body]', 'File with the body in JSON; - for standard input. Flags override its fields.');
    addFieldFlags(command, bodySchema);
  }
  addFilterFlags(command, route.parameters);
  addConnectionOptions(isList(route) ? addListOptions(command) : addOutputOptions(command));
  command.action(async () => {
    const given = command.args.slice(0, ids.length);
    const body =
      bodySchema === undefined
        ? verb.fixedBody
        : { ...(await readBody(command.args[ids.length])), ...bodyFromFlags(bodySchema, command.opts()) };
    await runVerb(resourceType.name(), verb, { ids: given, body, flags: command.opts(), screen });
  });
}

type VerbInvocation = {
  readonly ids: readonly string[];
  readonly body: unknown;
  readonly flags: ResourceCommandFlags;
  readonly screen: Output;
};

async function runVerb(
  resourceType: string,
  verb: ResourceVerb,
  { ids, body, flags, screen }: VerbInvocation,
): Promise<void> {
  const call = { method: verb.route.method, path: pathSegments(verb, ids), body } as const;
  await withService(flags, async ({ send }) => {
    const query = queryFromFlags(verb.route.parameters, flags);
    if (isList(verb.route)) return printRecords(screen, flags, pagesOf(send, { ...call, query }));
    const response = await sendWithNotFoundText(send, call, () => notFoundText(resourceType, verb, ids));
    // All records are in `data`, except a created hook, which is at top level (C11). A deletion returns an empty list
    // (C8).
    const data = fieldOf(response.body, 'data') ?? response.body;
    if (data === undefined) throw unexpectedResponse(response.status, `The answer is ${response.status} and empty.`);
    if (verb.route.method === 'DELETE' && !flags.json) screen.print(`deleted: ${resourceType} ${ids.join(' ')}`);
    else printRecord(screen, flags, data);
  });
}

async function sendWithNotFoundText(send: ServiceClient['send'], call: ApiCall, notFoundText: () => string) {
  try {
    return await send(call);
  } catch (error) {
    if (fieldOf(error, 'code') === 'not_found') throw new CliError([notFoundText()]);
    throw error;
  }
}

/**
 * Returns the error text for a 404. The service does not say which id is unknown, the one in the path or one in the
 * body.
 */
function notFoundText(resourceType: string, { route, ids: names }: ResourceVerb, ids: readonly string[]): string {
  const named = names.map((name, index) => `${name} ${ids[index]}`).join(', ');
  const inBody = route.method === 'GET' || route.method === 'DELETE' ? '' : ', or for an id given by a flag';
  return `${resourceType}: not found: ${named === '' ? 'an id given by a flag' : `${named}${inBody}`} (404 not_found).`;
}

/** Returns the path segments of a route below `/v2`, with its placeholders replaced by these ids. */
export function pathSegments({ route }: Pick<ResourceVerb, 'route'>, ids: readonly string[]): string[] {
  const remaining = [...ids];
  return route.path
    .split('/')
    .slice(1)
    .map((segment) => (segment.startsWith('{') ? requireId(remaining.shift(), segment) : segment));
}

function requireId(id: string | undefined, segment: string): string {
  if (id !== undefined && /^\d+$/.test(id)) return id;
  throw new CliError([`${segment.slice(1, -1)} must be digits; ${id} is not one.`]);
}

async function readBody(from: string | undefined): Promise<object> {
  if (from === undefined) return {};
  const body = await parseJsonInput(from);
  if (typeof body === 'object' && body !== null && !Array.isArray(body)) return body;
  throw new CliError([`${from === '-' ? 'Standard input' : from} contains no JSON object.`]);
}

async function parseJsonInput(from: string): Promise<unknown> {
  try {
    return JSON.parse(from === '-' ? await readStandardInput() : readFileSync(from, 'utf8'));
  } catch (error) {
    const source = from === '-' ? 'Standard input' : from;
    throw new CliError([`${source} cannot be read as JSON: ${error instanceof Error ? error.message : error}.`]);
  }
}
