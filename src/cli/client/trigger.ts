import { type Command, Option } from 'commander';
import { CarillonError } from '../../../packages/sdk/src/errors.ts';
import type { Hook } from '../../../packages/sdk/src/hooks.ts';
import { fieldOf } from '../../../packages/sdk/src/response-body.ts';
import { requiredNamesOf } from '../../api-docs/schema-shape.ts';
import { systemClock } from '../../clock.ts';
import { hookKinds, type OccurrenceKind, resourceTypeOf, resourceTypes } from '../../delivery/outbox/event-kinds.ts';
import { formatTimestamp } from '../../http/fields/dates.ts';
import type { JsonSchema } from '../../http/fields/field.ts';
import { type Output, stdout } from '../output/screen.ts';
import { buildPathSegments } from '../resource-commands/command.ts';
import { addFieldFlags, buildBodyFromFlags, type FlagValues, readFlagValue } from '../resource-commands/flags.ts';
import { type ResourceVerb, verbsOf } from '../resource-commands/verbs.ts';
import { addConnectionOptions, type ConnectionFlags, flagOf, type ServiceClient, withService } from './connect.ts';

type TriggerFlags = ConnectionFlags & FlagValues & { readonly json?: true };

/** A record that the command created. */
type CreatedRecord = {
  readonly resource: string;
  readonly id: string;
  readonly name: string;
  readonly resource_url: string;
};

/**
 * Registers the commands `carillon trigger …`: one subcommand for each event kind (kind of occurrence) that a hook can
 * subscribe to.
 */
export function addTriggerCommands(program: Command, output: Output = stdout): void {
  const triggerCommand = program
    .command('trigger')
    .description('Cause an occurrence by creating real records, which stay. All your hooks of this kind are notified.');
  for (const kind of hookKinds) addKindCommand(triggerCommand, kind, output);
}

function addKindCommand(triggerCommand: Command, kind: OccurrenceKind, output: Output): void {
  const createVerb = findCreateVerb(resourceTypeOf(kind));
  const isCompletion = kind.startsWith('completed_');
  const command = triggerCommand
    .command(kind)
    .description(
      [
        createVerb.description,
        ...(isCompletion ? ['Then completes it.'] : []),
        ...createVerb.idNames.map((idName) => `Without ${flagOf(idName)}, a parent is created as well.`),
      ].join(' '),
    );
  for (const idName of createVerb.idNames)
    command.addOption(
      new Option(`${flagOf(idName)} <id>`, `The ${idName} of the parent. Default: a new one.`).helpGroup('Fields:'),
    );
  addFieldFlags(command, withOptionalFields(createVerb.route.bodySchema));
  addConnectionOptions(command.option('--json', 'Print JSON, for programs.')).action(async (flags: TriggerFlags) => {
    await withService(flags, async (client) => {
      const createdRecords = await createRecordWithParents(client, resourceTypeOf(kind), flags);
      const lastRecord = createdRecords.at(-1);
      if (lastRecord === undefined) throw new Error('nothing was made');
      if (isCompletion) await client.send(buildCompleteRequest(lastRecord, kind));
      const notifiedHooks = await listNotifiedHooks(client, kind, flags);
      output.printResult(
        flags,
        { kind, created: createdRecords, hooks: notifiedHooks?.map(summarizeHook) ?? null },
        formatTriggerResult(kind, createdRecords, notifiedHooks),
      );
    });
  });
}

/** Finds the verb (a subcommand with its route) that creates a record of this type. */
function findCreateVerb(resourceType: keyof typeof resourceTypes): ResourceVerb {
  const createVerb = verbsOf(collectionNameOf(resourceType)).find(({ commandName }) => commandName === 'create');
  if (createVerb === undefined) throw new Error(`nothing creates a ${resourceType}`);
  return createVerb;
}

const collectionNameOf = (resourceType: keyof typeof resourceTypes) => resourceTypes[resourceType].collection.slice(1);

/** Makes all fields of a body schema optional, since the command generates missing values. */
const withOptionalFields = (bodySchema: JsonSchema | undefined): JsonSchema => ({ ...bodySchema, required: [] });

/** Creates the missing parents of a record, then the record. Returns all created records, parents first. */
async function createRecordWithParents(
  client: ServiceClient,
  resourceType: keyof typeof resourceTypes,
  flagValues: FlagValues,
): Promise<readonly CreatedRecord[]> {
  const createVerb = findCreateVerb(resourceType);
  const [parentIdName] = createVerb.idNames;
  const givenParentId = parentIdName === undefined ? undefined : readFlagValue(flagValues, parentIdName);
  const createdParents =
    parentIdName === undefined || givenParentId !== undefined
      ? []
      : await createRecordWithParents(client, parentIdName.replace(/_id$/, '') as keyof typeof resourceTypes, {});
  const parentIds =
    parentIdName === undefined
      ? []
      : [givenParentId === undefined ? (createdParents.at(-1)?.id ?? '') : String(givenParentId)];
  const body = {
    ...generateFieldValues(resourceType, createVerb.route.bodySchema),
    ...buildBodyFromFlags(createVerb.route.bodySchema, flagValues),
  };
  const response = await client.send({ method: 'POST', path: buildPathSegments(createVerb, parentIds), body });
  const record = fieldOf(response.body, 'data');
  const readFieldText = (field: string) => String(fieldOf(record, field) ?? '');
  const recordUrl = response.headers.get('location') ?? '';
  return [
    ...createdParents,
    {
      resource: resourceType,
      id: readFieldText(`${resourceType}_id`),
      name: readFieldText(`${resourceType}_name`),
      resource_url: recordUrl,
    },
  ];
}

/** Generates values for the required fields: today for a date, a name for any other field. */
function generateFieldValues(resourceType: string, bodySchema: JsonSchema | undefined): Record<string, string> {
  const fieldSchemas = (bodySchema?.properties ?? {}) as Readonly<Record<string, JsonSchema>>;
  const today = formatTimestamp(systemClock.now()).slice(0, 10).replaceAll('-', '');
  const generateFieldValue = (field: string) =>
    String(fieldSchemas[field]?.format).startsWith('calendar-time') ? today : `Triggered ${resourceType}`;
  return Object.fromEntries(requiredNamesOf(bodySchema).map((field) => [field, generateFieldValue(field)]));
}

function buildCompleteRequest({ id }: CreatedRecord, kind: OccurrenceKind) {
  const completeVerb = verbsOf(collectionNameOf(resourceTypeOf(kind))).find(
    ({ commandName }) => commandName === 'complete',
  );
  if (completeVerb === undefined) throw new Error(`nothing completes for ${kind}`);
  return { method: 'PUT', path: buildPathSegments(completeVerb, [id]), body: completeVerb.fixedBody } as const;
}

/** Lists the live hooks that receive the occurrence (C14); undefined if the key may not read hooks. */
async function listNotifiedHooks(
  { carillon }: ServiceClient,
  kind: OccurrenceKind,
  flags: TriggerFlags,
): Promise<readonly Hook[] | undefined> {
  const userId = readFlagValue(flags, 'user_id');
  const hookFilter = userId === undefined ? {} : { user_id: String(userId) };
  try {
    const notifiedHooks: Hook[] = [];
    for await (const hook of carillon.hooks.each(hookFilter))
      if (hook.event === kind && hook.state !== 'ended') notifiedHooks.push(hook);
    return notifiedHooks;
  } catch (error) {
    if (error instanceof CarillonError && error.code === 'not_permitted') return undefined;
    throw error;
  }
}

const summarizeHook = ({ id, state, target_url }: Hook) => ({ id, state, target_url });

function formatTriggerResult(
  kind: OccurrenceKind,
  createdRecords: readonly CreatedRecord[],
  notifiedHooks: readonly Hook[] | undefined,
): string[] {
  const notifiedLines = notifiedHooks?.map(
    ({ id, state, target_url }) => `notified: hook ${id} (${state}) at ${target_url}`,
  );
  return [
    ...createdRecords.map(({ resource, id, name }) => `created: ${resource} ${id} ${name}`),
    `${kind}: ${createdRecords.at(-1)?.resource_url}`,
    ...(notifiedLines ?? ['notified: unknown, since this key may not read hooks']),
    ...(notifiedLines?.length === 0
      ? [`notified: none; this user has no live hook for ${kind}; carillon listen shows it anyway`]
      : []),
  ];
}
