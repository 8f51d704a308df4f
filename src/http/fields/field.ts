/** JSON Schema 2020-12, as OpenAPI 3.1 speaks it. `x-must` says in words what a value must be: the error a caller reads. */
export type JsonSchema = { readonly [keyword: string]: unknown };

/**
 * Who writes a field: `shown` the service alone, `fixed` nobody, `derived` nobody since it shows another one, `written`
 * the caller, `asked` the caller and it is never shown.
 */
export type Mode = 'shown' | 'fixed' | 'derived' | 'written' | 'asked';

/**
 * One field of a noun on the wire: how it may be written, how it is stored, how it is shown. Said once; validation,
 * parsing, presentation, OpenAPI and types follow from it.
 */
export type Field<Stored = unknown, M extends Mode = Mode> = {
  readonly mode: M;
  readonly description: string;
  /** What is accepted, for fields that are not `shown`. */
  readonly inputSchema: JsonSchema;
  /** What is wrong with a value that the schema accepts, in words, where a schema cannot say it. */
  validate?(value: unknown): string | undefined;
  /** From an accepted value to what is stored. */
  parse(value: unknown): Stored;
  /** What an accepted value also sets of other fields, as it is stored there. */
  implies?(value: unknown): Readonly<Record<string, unknown>> | undefined;
  /** What is stored when a creation leaves it out; undefined means that it is required. */
  readonly default: Stored | undefined;
  /** What is answered. */
  readonly outputSchema: JsonSchema;
  serialize(stored: Stored): unknown;
  /** The field whose stored value a `derived` one shows. */
  readonly from?: string;
};

export type Fields = { readonly [name: string]: Field };

type StoredOf<F> = F extends Field<infer S> ? S : never;

/** What a creation gives to its action: every writable field, with its initial value where none was given. */
export type Created<F extends Fields> = {
  [K in keyof F as F[K]['mode'] extends 'shown' | 'fixed' | 'derived' ? never : K]: StoredOf<F[K]>;
};

/** What a change gives to its action: only what was given. */
export type Changed<F extends Fields> = Partial<Created<F>>;

/** What a presentation needs: every field that is shown, as stored. */
export type Shown<F extends Fields> = {
  [K in keyof F as F[K]['mode'] extends 'asked' | 'fixed' | 'derived' ? never : K]: StoredOf<F[K]>;
};

/** A field that the service alone writes. */
export function readOnly<S>(says: string, show: (stored: S) => unknown, answers: JsonSchema): Field<S, 'shown'> {
  return {
    mode: 'shown',
    description: says,
    inputSchema: {},
    parse: () => unreachable(),
    default: undefined,
    outputSchema: answers,
    serialize: show,
  };
}

/** What is written to a field that takes nothing, or after a check has let through what it must not. */
export function unreachable(): never {
  throw new Error('a field that is only shown was written');
}

/** How a field is written; answered as a text where nothing else is said. */
type Writing<S> = {
  says: string;
  accepts: JsonSchema;
  must: string;
  parse: (value: unknown) => S;
  show: (stored: S) => unknown;
  answers?: JsonSchema;
};

/** A field that a caller writes; with no initial value it is required. */
export function writable<S>(writing: Writing<S>, initial: S | undefined): Field<S, 'written'> {
  const { says: description, parse, show: serialize } = writing;
  const inputSchema = { ...writing.accepts, 'x-must': writing.must };
  return {
    mode: 'written',
    description,
    inputSchema,
    parse,
    default: initial,
    outputSchema: writing.answers ?? { type: 'string' },
    serialize,
  };
}

/** The most characters of a text that a field takes; 0 where it takes none. */
export function maxLengthOf(field: Field | undefined): number {
  const { most = 0 } = (field?.inputSchema['x-text'] ?? {}) as { readonly most?: number };
  return most;
}

/** Everything of a record that is shown, from its stored row, in the order of the table. */
export function serializeRecord<F extends Fields>(fields: F, row: Shown<F>): Record<string, unknown> {
  const answer: Record<string, unknown> = {};
  for (const name in fields) {
    const field = fields[name];
    if (field === undefined || field.mode === 'asked') continue;
    answer[name] = field.serialize((row as Record<string, unknown>)[field.from ?? name]);
  }
  return answer;
}

/** The schema of a presented record. */
export function responseSchema(fields: Fields): JsonSchema {
  const rows = Object.entries(fields).filter(([, field]) => field.mode !== 'asked');
  return {
    type: 'object',
    required: rows.filter(([, field]) => field.outputSchema['x-shown-once'] !== true).map(([name]) => name),
    properties: Object.fromEntries(
      rows.map(([name, field]) => [name, { ...field.outputSchema, description: field.description }]),
    ),
  };
}
