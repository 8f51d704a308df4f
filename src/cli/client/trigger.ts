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
import { pathSegments } from '../resource-commands/command.ts';
import { addFieldFlags, bodyFromFlags, type FlagValues, flagValue } from '../resource-commands/flags.ts';
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

/** Registers the commands `carillon trigger …`: one subcommand for each kind that a hook can subscribe to. */
export function addTrigger(program: Command, screen: Output = stdout): void {
  const trigger = program
    .command('trigger')
    .description('Cause an occurrence by creating real records, which stay. All your hooks of this kind are notified.');
  for (const kind of hookKinds) addKindCommand(trigger, kind, screen);
}

function addKindCommand(trigger: Command, kind: OccurrenceKind, screen: Output): void {
  const create = findCreateVerb(resourceTypeOf(kind));
  const isCompletion = kind.startsWith('completed_');
  const command = trigger
    .command(kind)
    .description(
      [
        create.description,
        ...(isCompletion ? ['Then completes it.'] : []),
        ...create.ids.map((id) => `Without ${flagOf(id)}, a parent is created as well.`),
      ].join(' '),
    );
  for (const id of create.ids)
    command.addOption(
      new Option(`${flagOf(id)} <id>`, `The ${id} of the parent. Default: a new one.`).helpGroup('Fields:'),
    );
  addFieldFlags(command, withOptionalFields(create.route.body));
  addConnectionOptions(command.option('--json', 'Print JSON, for programs.')).action(async (flags: TriggerFlags) => {
    await withService(flags, async (resolved) => {
      const created = await createWithParents(resolved, resourceTypeOf(kind), flags);
      const last = created.at(-1);
      if (last === undefined) throw new Error('nothing was made');
      if (isCompletion) await resolved.send(completionCall(last, kind));
      const hooks = await listNotifiedHooks(resolved, kind, flags);
      screen.printResult(
        flags,
        { kind, created, hooks: hooks?.map(hookSummary) ?? null },
        resultLines(kind, created, hooks),
      );
    });
  });
}

/** Finds the verb that creates a record of this type. */
function findCreateVerb(resourceType: keyof typeof resourceTypes): ResourceVerb {
  const create = verbsOf(collectionOf(resourceType)).find(({ commandName }) => commandName === 'create');
  if (create === undefined) throw new Error(`nothing creates a ${resourceType}`);
  return create;
}

const collectionOf = (resourceType: keyof typeof resourceTypes) => resourceTypes[resourceType].collection.slice(1);

/** Makes all fields of a body schema optional, since the command generates missing values. */
const withOptionalFields = (body: JsonSchema | undefined): JsonSchema => ({ ...body, required: [] });

/** Creates a record, and before it the parents that it needs. Returns all created records, parents first. */
async function createWithParents(
  resolved: ServiceClient,
  resourceType: keyof typeof resourceTypes,
  values: FlagValues,
): Promise<readonly CreatedRecord[]> {
  const create = findCreateVerb(resourceType);
  const [parent] = create.ids;
  const givenParent = parent === undefined ? undefined : flagValue(values, parent);
  const parents =
    parent === undefined || givenParent !== undefined
      ? []
      : await createWithParents(resolved, parent.replace(/_id$/, '') as keyof typeof resourceTypes, {});
  const parentIds =
    parent === undefined ? [] : [givenParent === undefined ? (parents.at(-1)?.id ?? '') : String(givenParent)];
  const body = { ...generateValues(resourceType, create.route.body), ...bodyFromFlags(create.route.body, values) };
  const response = await resolved.send({ method: 'POST', path: pathSegments(create, parentIds), body });
  const record = fieldOf(response.body, 'data');
  const fieldText = (field: string) => String(fieldOf(record, field) ?? '');
  const location = response.headers.get('location') ?? '';
  return [
    ...parents,
    {
      resource: resourceType,
      id: fieldText(`${resourceType}_id`),
      name: fieldText(`${resourceType}_name`),
      resource_url: location,
    },
  ];
}

/** Generates values for the required fields: today for a date, a name for any other field. */
function generateValues(resourceType: string, body: JsonSchema | undefined): Record<string, string> {
  const schemas = (body?.properties ?? {}) as Readonly<Record<string, JsonSchema>>;
  const today = formatTimestamp(systemClock.now()).slice(0, 10).replaceAll('-', '');
  const valueFor = (field: string) =>
    String(schemas[field]?.format).startsWith('calendar-time') ? today : `Triggered ${resourceType}`;
  return Object.fromEntries(requiredNamesOf(body).map((field) => [field, valueFor(field)]));
}

function completionCall({ id }: CreatedRecord, kind: OccurrenceKind) {
  const complete = verbsOf(collectionOf(resourceTypeOf(kind))).find(({ commandName }) => commandName === 'complete');
  if (complete === undefined) throw new Error(`nothing completes for ${kind}`);
  return { method: 'PUT', path: pathSegments(complete, [id]), body: complete.fixedBody } as const;
}

/** Lists the live hooks that receive the occurrence (C14); undefined if the key may not read hooks. */
async function listNotifiedHooks(
  { carillon }: ServiceClient,
  kind: OccurrenceKind,
  flags: TriggerFlags,
): Promise<readonly Hook[] | undefined> {
  const userId = flagValue(flags, 'user_id');
  const filter = userId === undefined ? {} : { user_id: String(userId) };
  try {
    const notified: Hook[] = [];
    for await (const hook of carillon.hooks.each(filter))
      if (hook.event === kind && hook.state !== 'ended') notified.push(hook);
    return notified;
  } catch (error) {
    if (error instanceof CarillonError && error.code === 'not_permitted') return undefined;
    throw error;
  }
}

const hookSummary = ({ id, state, target_url }: Hook) => ({ id, state, target_url });

function resultLines(
  kind: OccurrenceKind,
  created: readonly CreatedRecord[],
  hooks: readonly Hook[] | undefined,
): string[] {
  const notified = hooks?.map(({ id, state, target_url }) => `notified: hook ${id} (${state}) at ${target_url}`);
  return [
    ...created.map(({ resource, id, name }) => `created: ${resource} ${id} ${name}`),
    `${kind}: ${created.at(-1)?.resource_url}`,
    ...(notified ?? ['notified: unknown, since this key may not read hooks']),
    ...(notified?.length === 0
      ? [`notified: none; this user has no live hook for ${kind}; carillon listen shows it anyway`]
      : []),
  ];
}
