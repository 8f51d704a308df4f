import { type Command, Option } from 'commander';
import { CarillonError } from '../../../packages/sdk/src/errors.ts';
import type { Hook } from '../../../packages/sdk/src/hooks.ts';
import { fieldOf } from '../../../packages/sdk/src/response-body.ts';
import { requiredOf } from '../../api-docs/schema-shape.ts';
import { systemClock } from '../../clock.ts';
import { hookKinds, type Kind, resourceTypeOf, resourceTypes } from '../../delivery/outbox/event-kinds.ts';
import { showMoment } from '../../http/fields/dates.ts';
import type { JsonSchema } from '../../http/fields/field.ts';
import { type Screen, stdout } from '../output/screen.ts';
import { pathOf } from '../resource-commands/command.ts';
import { addFields, bodyOf, type FlagValues, givenFor } from '../resource-commands/flags.ts';
import { type Verb, verbsOf } from '../resource-commands/verbs.ts';
import { addConnectionOptions, type ConnectionFlags, flagOf, type ResolvedConnection, withService } from './connect.ts';

type Flags = ConnectionFlags & FlagValues & { readonly json?: true };

/** One record that was made on the way. */
type Made = {
  readonly resource: string;
  readonly id: string;
  readonly name: string;
  readonly resource_url: string;
};

/** `carillon trigger …`: one command for each kind that a hook can name. */
export function addTrigger(program: Command, screen: Screen = stdout): void {
  const trigger = program
    .command('trigger')
    .description(
      'Make something happen, really: records are created, and stay; every hook of yours that names it is told.',
    );
  for (const kind of hookKinds) addKind(trigger, kind, screen);
}

function addKind(trigger: Command, kind: Kind, screen: Screen): void {
  const create = creationOf(resourceTypeOf(kind));
  const completes = kind.startsWith('completed_');
  const command = trigger
    .command(kind)
    .description(
      [
        create.says,
        ...(completes ? ['Then completes it.'] : []),
        ...create.ids.map((id) => `Without ${flagOf(id)} that is made, too.`),
      ].join(' '),
    );
  for (const id of create.ids)
    command.addOption(
      new Option(`${flagOf(id)} <id>`, `The ${id} it is created under; left out: a new one.`).helpGroup('Fields:'),
    );
  addFields(command, loosened(create.row.body));
  addConnectionOptions(command.option('--json', 'Answer in JSON, for programs.')).action(async (flags: Flags) => {
    await withService(flags, async (reached) => {
      const made = await make(reached, resourceTypeOf(kind), flags);
      const last = made.at(-1);
      if (last === undefined) throw new Error('nothing was made');
      if (completes) await reached.send(completion(last, kind));
      const hooks = await toldHooks(reached, kind, flags);
      screen.answer(flags, { kind, made, hooks: hooks?.map(brief) ?? null }, linesOf(kind, made, hooks));
    });
  });
}

/** The row that creates a noun. */
function creationOf(resourceType: keyof typeof resourceTypes): Verb {
  const create = verbsOf(pluralOf(resourceType)).find(({ word }) => word === 'create');
  if (create === undefined) throw new Error(`nothing creates a ${resourceType}`);
  return create;
}

const pluralOf = (resourceType: keyof typeof resourceTypes) => resourceTypes[resourceType].collection.slice(1);

/** Nothing is required: what is left out is made up. */
const loosened = (body: JsonSchema | undefined): JsonSchema => ({ ...body, required: [] });

/** Creates a record, and before it what it has to belong to; the record itself is the last of what was made. */
async function make(
  reached: ResolvedConnection,
  resourceType: keyof typeof resourceTypes,
  values: FlagValues,
): Promise<readonly Made[]> {
  const create = creationOf(resourceType);
  const [parent] = create.ids;
  const named = parent === undefined ? undefined : givenFor(values, parent);
  const before =
    parent === undefined || named !== undefined
      ? []
      : await make(reached, parent.replace(/_id$/, '') as keyof typeof resourceTypes, {});
  const under = parent === undefined ? [] : [named === undefined ? (before.at(-1)?.id ?? '') : String(named)];
  const body = { ...madeUp(resourceType, create.row.body), ...bodyOf(create.row.body, values) };
  const answer = await reached.send({ method: 'POST', path: pathOf(create, under), body });
  const record = fieldOf(answer.body, 'data');
  const textOf = (field: string) => String(fieldOf(record, field) ?? '');
  const location = answer.headers.get('location') ?? '';
  return [
    ...before,
    {
      resource: resourceType,
      id: textOf(`${resourceType}_id`),
      name: textOf(`${resourceType}_name`),
      resource_url: location,
    },
  ];
}

/** What a record cannot be without: today, where a day is asked for, else a name. */
function madeUp(resourceType: string, body: JsonSchema | undefined): Record<string, string> {
  const schemas = (body?.properties ?? {}) as Readonly<Record<string, JsonSchema>>;
  const today = showMoment(systemClock.now()).slice(0, 10).replaceAll('-', '');
  const valueFor = (field: string) =>
    String(schemas[field]?.format).startsWith('calendar-time') ? today : `Triggered ${resourceType}`;
  return Object.fromEntries(requiredOf(body).map((field) => [field, valueFor(field)]));
}

function completion({ id }: Made, kind: Kind) {
  const complete = verbsOf(pluralOf(resourceTypeOf(kind))).find(({ word }) => word === 'complete');
  if (complete === undefined) throw new Error(`nothing completes for ${kind}`);
  return { method: 'PUT', path: pathOf(complete, [id]), body: complete.sends } as const;
}

/** The hooks that are pending it (C14); undefined where the key may not see hooks. */
async function toldHooks(
  { carillon }: ResolvedConnection,
  kind: Kind,
  flags: Flags,
): Promise<readonly Hook[] | undefined> {
  const userId = givenFor(flags, 'user_id');
  const whose = userId === undefined ? {} : { user_id: String(userId) };
  try {
    const told: Hook[] = [];
    for await (const hook of carillon.hooks.each(whose))
      if (hook.event === kind && hook.state !== 'ended') told.push(hook);
    return told;
  } catch (error) {
    if (error instanceof CarillonError && error.code === 'not_permitted') return undefined;
    throw error;
  }
}

const brief = ({ id, state, target_url }: Hook) => ({ id, state, target_url });

function linesOf(kind: Kind, made: readonly Made[], hooks: readonly Hook[] | undefined): string[] {
  const told = hooks?.map(({ id, state, target_url }) => `told: hook ${id} (${state}) at ${target_url}`);
  return [
    ...made.map(({ resource, id, name }) => `made: ${resource} ${id} ${name}`),
    `${kind}: ${made.at(-1)?.resource_url}`,
    ...(told ?? ['told: not known; this key may not read hooks']),
    ...(told?.length === 0
      ? [`told: nobody; no live hook of this user names ${kind}; carillon listen hears of it all the same`]
      : []),
  ];
}
