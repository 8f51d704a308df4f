import { type Command, Option } from 'commander';
import { CarillonError } from '../../../packages/sdk/src/errors.ts';
import type { Hook } from '../../../packages/sdk/src/hooks.ts';
import { fieldOf } from '../../../packages/sdk/src/response-body.ts';
import { requiredOf } from '../../api-docs/schema-shape.ts';
import { systemClock } from '../../clock.ts';
import { hookKinds, type Kind, resourceTypeOf, resourceTypes } from '../../delivery/outbox/event-kinds.ts';
import { formatTimestamp } from '../../http/fields/dates.ts';
import type { JsonSchema } from '../../http/fields/field.ts';
import { type Output, stdout } from '../output/screen.ts';
import { pathSegments } from '../resource-commands/command.ts';
import { addFields, bodyOf, type FlagValues, flagValue } from '../resource-commands/flags.ts';
import { type Verb, verbsOf } from '../resource-commands/verbs.ts';
import { addConnectionOptions, type ConnectionFlags, flagOf, type ResolvedConnection, withService } from './connect.ts';

type Flags = ConnectionFlags & FlagValues & { readonly json?: true };

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
  for (const kind of hookKinds) addKind(trigger, kind, screen);
}

function addKind(trigger: Command, kind: Kind, screen: Output): void {
  const create = creationOf(resourceTypeOf(kind));
  const completes = kind.startsWith('completed_');
  const command = trigger
    .command(kind)
    .description(
      [
        create.description,
        ...(completes ? ['Then completes it.'] : []),
        ...create.ids.map((id) => `Without ${flagOf(id)}, a parent is created as well.`),
      ].join(' '),
    );
  for (const id of create.ids)
    command.addOption(
      new Option(`${flagOf(id)} <id>`, `The ${id} of the parent. Default: a new one.`).helpGroup('Fields:'),
    );
  addFields(command, withoutRequired(create.row.body));
  addConnectionOptions(command.option('--json', 'Print JSON, for programs.')).action(async (flags: Flags) => {
    await withService(flags, async (resolved) => {
      const created = await make(resolved, resourceTypeOf(kind), flags);
      const last = created.at(-1);
      if (last === undefined) throw new Error('nothing was made');
      if (completes) await resolved.send(completion(last, kind));
      const hooks = await notifiedHooks(resolved, kind, flags);
      screen.answer(flags, { kind, created, hooks: hooks?.map(summaryOf) ?? null }, linesOf(kind, created, hooks));
    });
  });
}

/** Finds the verb that creates a record of this type. */
function creationOf(resourceType: keyof typeof resourceTypes): Verb {
  const create = verbsOf(pluralOf(resourceType)).find(({ word }) => word === 'create');
  if (create === undefined) throw new Error(`nothing creates a ${resourceType}`);
  return create;
}

const pluralOf = (resourceType: keyof typeof resourceTypes) => resourceTypes[resourceType].collection.slice(1);

/** Makes all fields of a body schema optional, since the command generates missing values. */
const withoutRequired = (body: JsonSchema | undefined): JsonSchema => ({ ...body, required: [] });

/** Creates a record, and before it the parents that it needs. Returns all created records, parents first. */
async function make(
  resolved: ResolvedConnection,
  resourceType: keyof typeof resourceTypes,
  values: FlagValues,
): Promise<readonly CreatedRecord[]> {
  const create = creationOf(resourceType);
  const [parent] = create.ids;
  const givenParent = parent === undefined ? undefined : flagValue(values, parent);
  const parents =
    parent === undefined || givenParent !== undefined
      ? []
      : await make(resolved, parent.replace(/_id$/, '') as keyof typeof resourceTypes, {});
  const parentIds =
    parent === undefined ? [] : [givenParent === undefined ? (parents.at(-1)?.id ?? '') : String(givenParent)];
  const body = { ...generatedValues(resourceType, create.row.body), ...bodyOf(create.row.body, values) };
  const response = await resolved.send({ method: 'POST', path: pathSegments(create, parentIds), body });
  const record = fieldOf(response.body, 'data');
  const textOf = (field: string) => String(fieldOf(record, field) ?? '');
  const location = response.headers.get('location') ?? '';
  return [
    ...parents,
    {
      resource: resourceType,
      id: textOf(`${resourceType}_id`),
      name: textOf(`${resourceType}_name`),
      resource_url: location,
    },
  ];
}

/** Generates values for the required fields: today for a date, a name for any other field. */
function generatedValues(resourceType: string, body: JsonSchema | undefined): Record<string, string> {
  const schemas = (body?.properties ?? {}) as Readonly<Record<string, JsonSchema>>;
  const today = formatTimestamp(systemClock.now()).slice(0, 10).replaceAll('-', '');
  const valueFor = (field: string) =>
    String(schemas[field]?.format).startsWith('calendar-time') ? today : `Triggered ${resourceType}`;
  return Object.fromEntries(requiredOf(body).map((field) => [field, valueFor(field)]));
}

function completion({ id }: CreatedRecord, kind: Kind) {
  const complete = verbsOf(pluralOf(resourceTypeOf(kind))).find(({ word }) => word === 'complete');
  if (complete === undefined) throw new Error(`nothing completes for ${kind}`);
  return { method: 'PUT', path: pathSegments(complete, [id]), body: complete.sends } as const;
}

/** Lists the live hooks that receive the occurrence (C14); undefined if the key may not read hooks. */
async function notifiedHooks(
  { carillon }: ResolvedConnection,
  kind: Kind,
  flags: Flags,
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

const summaryOf = ({ id, state, target_url }: Hook) => ({ id, state, target_url });

function linesOf(kind: Kind, created: readonly CreatedRecord[], hooks: readonly Hook[] | undefined): string[] {
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
