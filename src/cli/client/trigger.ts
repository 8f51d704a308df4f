import { type Command, Option } from 'commander';
import type { Hook } from '../../../packages/sdk/src/hooks.ts';
import { fieldOf } from '../../../packages/sdk/src/response-body.ts';
import { propertiesOf, requiredNamesOf } from '../../api-docs/schema-shape.ts';
import { systemClock } from '../../clock.ts';
import {
  hookKinds,
  type OccurrenceKind,
  occurrenceKinds,
  resourceTypeOf,
  resourceTypes,
} from '../../delivery/outbox/event-kinds.ts';
import { formatTimestamp } from '../../http/fields/dates.ts';
import type { JsonSchema } from '../../http/fields/field.ts';
import { type Output, stdout } from '../output/screen.ts';
import { buildPathSegments } from '../resource-commands/command.ts';
import { addFieldFlags, buildBodyFromFlags, type FlagValues, readFlagValue } from '../resource-commands/flags.ts';
import { type ResourceVerb, verbsOf } from '../resource-commands/verbs.ts';
import { type ServiceClient, withService } from './connect.ts';
import { addConnectionOptions, type ConnectionFlags, flagOf } from './connection-options.ts';
import { findNotifiedHooks, type NotifiedHooks } from './notified-hooks.ts';

type TriggerFlags = ConnectionFlags & FlagValues & { readonly json?: true };

/** A record that the command created. */
type CreatedRecord = {
  readonly resource: string;
  readonly id: string;
  readonly name: string;
  readonly resource_url: string;
};

/** The requests after the creation of a record that cause an occurrence, by the verb of its kind. */
const stepsByVerb: Readonly<Record<string, readonly string[]>> = {
  new: [],
  assigned: [],
  changed: ['update'],
  completed: ['complete'],
  reopened: ['complete', 'resume'],
  deleted: ['delete'],
};

/** Returns the subcommands of the resource that cause an occurrence after the creation; undefined if there are none. */
function findSteps(kind: OccurrenceKind): readonly ResourceVerb[] | undefined {
  const stepNames = stepsByVerb[kind.slice(0, kind.indexOf('_'))] ?? [];
  const verbs = verbsOf(collectionNameOf(resourceTypeOf(kind)));
  const steps = stepNames.flatMap((name) => verbs.filter(({ commandName }) => commandName === name));
  return steps.length === stepNames.length ? steps : undefined;
}

/**
 * Registers the commands `carillon trigger …`: one subcommand for each event kind (kind of occurrence). A changed
 * comment has none, since no request changes only a comment.
 */
export function addTriggerCommands(program: Command, output: Output = stdout): void {
  const triggerCommand = program
    .command('trigger')
    .description('Cause an occurrence by creating real records, which stay. The hooks that report it are notified.');
  for (const kind of new Set<OccurrenceKind>([...hookKinds, ...occurrenceKinds])) {
    const steps = findSteps(kind);
    if (steps !== undefined) addKindCommand(triggerCommand, kind, steps, output);
  }
}

function addKindCommand(
  triggerCommand: Command,
  kind: OccurrenceKind,
  steps: readonly ResourceVerb[],
  output: Output,
): void {
  const createVerb = findCreateVerb(resourceTypeOf(kind));
  const command = triggerCommand
    .command(kind)
    .description(
      [
        createVerb.description,
        ...steps.map(({ commandName }) => `Then: ${commandName}.`),
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
      const assignees = kind.startsWith('assigned_') ? await chooseAssignees(client, flags) : {};
      const created = await createRecordWithParents(client, resourceTypeOf(kind), flags, assignees);
      const lastRecord = created.at(-1);
      if (lastRecord === undefined) throw new Error('nothing was made');
      for (const step of steps) await client.send(buildStepRequest(step, lastRecord));
      const notifiedHooks = await findNotifiedHooks(client, kind, lastRecord.resource_url);
      output.printResult(
        flags,
        {
          ...{ kind, created, hooks: notifiedHooks?.hooks.map(summarizeHook) ?? null },
          all_hooks: notifiedHooks?.isComplete ?? false,
        },
        formatTriggerResult(kind, created, notifiedHooks),
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
  defaults: Readonly<Record<string, unknown>> = {},
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
    ...defaults,
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
      id: readFieldText(resourceTypes[resourceType].key),
      name: readFieldText(`${resourceType}_name`),
      resource_url: recordUrl,
    },
  ];
}

/** Assigns the caller, unless the flags name users or teams. */
async function chooseAssignees({ carillon }: ServiceClient, flags: FlagValues) {
  const isChosen = ['users', 'teams'].some((field) => readFlagValue(flags, field) !== undefined);
  return isChosen ? {} : { users: [(await carillon.user.get()).user_id] };
}

/** Generates values for the required fields: today for a date, a minute of time, or a name. */
function generateFieldValues(resourceType: string, bodySchema: JsonSchema | undefined): Record<string, string> {
  const fieldSchemas = (bodySchema?.properties ?? {}) as Readonly<Record<string, JsonSchema>>;
  const today = formatTimestamp(systemClock.now()).slice(0, 10).replaceAll('-', '');
  const generateFieldValue = (field: string) => {
    if (field === 'seconds') return '60';
    if (field === 'email') return `triggered-${systemClock.now().toString(36)}@example.invalid`;
    return String(fieldSchemas[field]?.format).startsWith('calendar-time') ? today : `Triggered ${resourceType}`;
  };
  return Object.fromEntries(requiredNamesOf(bodySchema).map((field) => [field, generateFieldValue(field)]));
}

function buildStepRequest(step: ResourceVerb, { id, resource }: CreatedRecord) {
  const { route, fixedBody } = step;
  const textFields = [`${resource}_name`, 'description', 'first_name'];
  const changedField = textFields.find((field) => propertiesOf(route.bodySchema)[field] !== undefined);
  const change = changedField === undefined ? undefined : { [changedField]: `Changed ${resource}` };
  return { method: route.method, path: buildPathSegments(step, [id]), body: fixedBody ?? change };
}

/** A disabled hook is notified when it is enabled. */
const summarizeHook = ({ id, user_id, enabled, state, target_url }: Hook) => ({
  id,
  user_id,
  state: enabled === '0' ? 'disabled' : state,
  target_url,
});

function formatTriggerResult(
  kind: OccurrenceKind,
  createdRecords: readonly CreatedRecord[],
  notifiedHooks: NotifiedHooks | undefined,
): string[] {
  const createdLines = [
    ...createdRecords.map(({ resource, id, name }) => `created: ${resource} ${id} ${name}`),
    `${kind}: ${createdRecords.at(-1)?.resource_url}`,
  ];
  if (notifiedHooks === undefined) return [...createdLines, 'notified: unknown, since this key may not read hooks'];
  const { hooks, isComplete } = notifiedHooks;
  const noneText = isComplete ? 'none; no live hook reports this' : 'none of the hooks that this key may read';
  return [
    ...createdLines,
    ...hooks
      .map(summarizeHook)
      .map(
        ({ id, state, user_id, target_url }) => `notified: hook ${id} (${state}) of user ${user_id} at ${target_url}`,
      ),
    ...(hooks.length === 0 ? [`notified: ${noneText}; carillon listen shows it anyway`] : []),
    ...(isComplete ? [] : ['Hooks of other users may be notified as well: this key may not read all of them.']),
  ];
}
