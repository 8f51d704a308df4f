import { readFileSync } from 'node:fs';
import type { Command } from 'commander';
import { fieldOf } from '../../../packages/sdk/src/response-body.ts';
import { type ApiCall, createUnexpectedResponseError } from '../../../packages/sdk/src/transport.ts';
import { type ServiceClient, withService } from '../client/connect.ts';
import { addConnectionOptions, type ConnectionFlags } from '../client/connection-options.ts';
import { readStandardInput } from '../input/prompt.ts';
import { CliError, type Output, stdout } from '../output/screen.ts';
import { addFieldFlags, addFilterFlags, buildBodyFromFlags, buildQueryFromFlags, type FlagValues } from './flags.ts';
import { addListOptions, addOutputOptions, fetchPages, type OutputFlags, printRecord, printRecords } from './print.ts';
import { isListRoute, type ResourceVerb, verbsOf } from './verbs.ts';

type ResourceCommandFlags = ConnectionFlags & OutputFlags & FlagValues;

/** Registers the command of a resource, such as `carillon events …`, with one subcommand for each route. */
export function addResourceCommand(program: Command, name: string, output: Output = stdout): void {
  const verbs = verbsOf(name);
  const resourceCommand = program.command(name).description(`${verbs[0]?.description ?? ''} See docs/command-line.md.`);
  for (const verb of verbs) addVerbCommand(resourceCommand, verb, output);
}

/** Whether the name of the subcommand may be omitted, as in `carillon user`. True for a read without an id. */
function isDefaultVerb({ commandName, idNames, route }: ResourceVerb): boolean {
  return idNames.length === 0 && (commandName === 'show' || route.mode === 'follow');
}

function addVerbCommand(resourceCommand: Command, verb: ResourceVerb, output: Output): void {
  const { commandName, route, idNames } = verb;
  const command = resourceCommand
    .command(commandName, { isDefault: isDefaultVerb(verb) })
    .description(verb.description);
  for (const idName of idNames) command.argument(`<${idName}>`, `The ${idName}, as in responses.`);
  const bodySchema = verb.fixedBody === undefined ? route.bodySchema : undefined;
  if (bodySchema !== undefined) {
    command.argument('[body]', 'File with the body in JSON; - for standard input. Flags override its fields.');
    addFieldFlags(command, bodySchema);
  }
  addFilterFlags(command, route.parameters);
  addConnectionOptions(isListRoute(route) ? addListOptions(command) : addOutputOptions(command));
  command.action(async () => {
    const givenIds = command.args.slice(0, idNames.length);
    const body =
      bodySchema === undefined
        ? verb.fixedBody
        : { ...(await readJsonBody(command.args[idNames.length])), ...buildBodyFromFlags(bodySchema, command.opts()) };
    await runVerb(resourceCommand.name(), verb, { idNames: givenIds, body, flags: command.opts(), output });
  });
}

type VerbInvocation = {
  readonly idNames: readonly string[];
  readonly body: unknown;
  readonly flags: ResourceCommandFlags;
  readonly output: Output;
};

async function runVerb(
  resourceType: string,
  verb: ResourceVerb,
  { idNames, body, flags, output }: VerbInvocation,
): Promise<void> {
  const apiCall = { method: verb.route.method, path: buildPathSegments(verb, idNames), body } as const;
  await withService(flags, async ({ send }) => {
    const query = buildQueryFromFlags(verb.route.parameters, flags);
    if (isListRoute(verb.route)) return printRecords(output, flags, fetchPages(send, { ...apiCall, query }));
    const response = await sendWithNotFoundText(send, apiCall, () => formatNotFound(resourceType, verb, idNames));
    // All records are in `data`, except a created hook, which is at top level (C11). A deletion returns an empty list
    // (C8).
    const responseData = fieldOf(response.body, 'data') ?? response.body;
    if (responseData === undefined)
      throw createUnexpectedResponseError(response.status, `The answer is ${response.status} and empty.`);
    if (verb.route.method === 'DELETE' && !flags.json) output.print(`deleted: ${resourceType} ${idNames.join(' ')}`);
    else printRecord(output, flags, responseData);
  });
}

async function sendWithNotFoundText(send: ServiceClient['send'], apiCall: ApiCall, createErrorText: () => string) {
  try {
    return await send(apiCall);
  } catch (error) {
    if (fieldOf(error, 'code') === 'not_found') throw new CliError([createErrorText()]);
    throw error;
  }
}

/**
 * Returns the error text for a 404. The response does not say whether an id in the path or an id in the body is
 * unknown.
 */
function formatNotFound(resourceType: string, { route, idNames }: ResourceVerb, ids: readonly string[]): string {
  const idsText = idNames.map((name, index) => `${name} ${ids[index]}`).join(', ');
  const bodyHint = route.method === 'GET' || route.method === 'DELETE' ? '' : ', or for an id given by a flag';
  return `${resourceType}: not found: ${idsText === '' ? 'an id given by a flag' : `${idsText}${bodyHint}`} (404 not_found).`;
}

/** Returns the path segments of a route below `/v2`, with its placeholders replaced by these ids. */
export function buildPathSegments({ route }: Pick<ResourceVerb, 'route'>, ids: readonly string[]): string[] {
  const remainingIds = [...ids];
  return route.path
    .split('/')
    .slice(1)
    .map((segment) => (segment.startsWith('{') ? requireId(remainingIds.shift(), segment) : segment));
}

function requireId(id: string | undefined, segment: string): string {
  if (id !== undefined && /^\d+$/.test(id)) return id;
  throw new CliError([`${segment.slice(1, -1)} must be digits; ${id} is not one.`]);
}

async function readJsonBody(inputPath: string | undefined): Promise<object> {
  if (inputPath === undefined) return {};
  const body = await parseJsonInput(inputPath);
  if (typeof body === 'object' && body !== null && !Array.isArray(body)) return body;
  throw new CliError([`${inputPath === '-' ? 'Standard input' : inputPath} contains no JSON object.`]);
}

async function parseJsonInput(inputPath: string): Promise<unknown> {
  try {
    return JSON.parse(inputPath === '-' ? await readStandardInput() : readFileSync(inputPath, 'utf8'));
  } catch (error) {
    const inputName = inputPath === '-' ? 'Standard input' : inputPath;
    throw new CliError([`${inputName} cannot be read as JSON: ${error instanceof Error ? error.message : error}.`]);
  }
}
