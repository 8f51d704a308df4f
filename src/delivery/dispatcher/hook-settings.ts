import type { Selectable } from 'kysely';
import { toPrintable } from '../../control-characters.ts';
import type { Queries } from '../../store/store.ts';
import type { Tables } from '../../store/tables.ts';
import { parseSecrets, type SigningSecret } from '../transport/signature.ts';

/** The settings of a hook that every attempt needs, and that its owner can change while the hook is leased (X8, X13). */
export type HookSettings = {
  /** Signing secrets, newest first; empty if the webhooks of this hook are not signed. */
  readonly secrets: readonly SigningSecret[];
  /** Headers for the gateway of the target, as alternating names and values. */
  readonly headers: readonly string[];
  /** Whether deliveries are sent; otherwise they stay pending. */
  readonly isEnabled: boolean;
};

/** The columns of `hooks` that the settings are made of. */
export const settingsColumns = ['secrets', 'headers', 'enabled'] as const;

export const toHookSettings = (
  row: Pick<Selectable<Tables['hooks']>, (typeof settingsColumns)[number]>,
): HookSettings => ({
  secrets: parseSecrets(row.secrets),
  headers: Object.entries(parseHeaders(row.headers)).flat(),
  isEnabled: row.enabled !== 0,
});

/** Parses the `headers` column: values by name. */
export function parseHeaders(column: string | null): Readonly<Record<string, string>> {
  return column === null ? {} : JSON.parse(column);
}

/** Number of characters of a header value that are recognized as its beginning, such as before the end of a cut text. */
const MIN_RECOGNIZED_LENGTH = 8;
/** Minimum length of a word of a header value that is a secret of its own, such as the token after `Bearer`. */
const MIN_WORD_LENGTH = 4;

/**
 * Replaces the values of headers in a text by `…`: values and their words, in every case, also percent-encoded, escaped
 * in JSON, decoded from `Basic`, or cut off.
 *
 * @param headers alternating names and values
 */
export function hideHeaderValues(text: string, headers: readonly string[]): string {
  const values = headers.filter((_, index) => index % 2 === 1);
  const forms = new Set(values.flatMap(secretWordsOf).flatMap(writtenForms).map(toLowerAscii));
  let shownText = text;
  let lowerText = toLowerAscii(text);
  // A form that begins with another one comes first.
  for (const form of [...forms].sort((a, b) => b.length - a.length)) {
    // A value can have thousands of words, and hardly any is in the text.
    if (!lowerText.includes(form.slice(0, MIN_WORD_LENGTH))) continue;
    shownText = hideForm(shownText, form);
    lowerText = toLowerAscii(shownText);
  }
  return shownText;
}

/** Returns a header value, its words, and decoded credentials. */
function secretWordsOf(value: string): string[] {
  const words = value.split(/[\s"',;=\\]+/).filter((word) => word.length >= MIN_WORD_LENGTH);
  const [, credentials] = /^basic\s+(\S+)$/i.exec(value) ?? [];
  const decoded = credentials === undefined ? '' : Buffer.from(credentials, 'base64').toString();
  const password = decoded.slice(decoded.indexOf(':') + 1);
  return [value, credentials ?? '', ...words, decoded, password].filter((word) => word !== '');
}

const writtenForms = (word: string): string[] => [
  toPrintable(word),
  toPrintable(JSON.stringify(word).slice(1, -1)),
  encodeURIComponent(word),
  new URLSearchParams([['', word]]).toString().slice(1),
];

/** Returns a text of the same length, in lower case as far as it is ASCII. */
const toLowerAscii = (text: string): string => text.replace(/[A-Z]+/g, (letters) => letters.toLowerCase());

/** Replaces all occurrences of a form, and all occurrences of its beginning as far as they go. */
function hideForm(text: string, form: string): string {
  const lowerText = toLowerAscii(text);
  const beginning = form.slice(0, MIN_RECOGNIZED_LENGTH);
  let shownText = '';
  let shownTo = 0;
  for (let at = lowerText.indexOf(beginning); at >= 0; at = lowerText.indexOf(beginning, shownTo)) {
    let end = at + beginning.length;
    while (end < text.length && end - at < form.length && lowerText[end] === form[end - at]) end += 1;
    shownText += `${text.slice(shownTo, at)}…`;
    shownTo = end;
  }
  return shownText + hideCutBeginning(text.slice(shownTo), beginning);
}

/** Removes the beginning of a form from the end of a text. */
function hideCutBeginning(text: string, beginning: string): string {
  const lowerEnd = toLowerAscii(text.slice(-beginning.length));
  for (let length = beginning.length - 1; length >= MIN_WORD_LENGTH; length -= 1)
    if (lowerEnd.endsWith(beginning.slice(0, length))) return `${text.slice(0, -length)}…`;
  return text;
}

/** The settings with the fencing token at the time when they were read. A new target raises the token. */
export type ReadSettings = HookSettings & { readonly generation: number };

/** Reads the current settings of a hook; undefined if the hook does not exist. */
export async function findSettings(read: Queries, hookId: number): Promise<ReadSettings | undefined> {
  const row = await read
    .selectFrom('hooks')
    .select([...settingsColumns, 'generation'])
    .where('hook_id', '=', hookId)
    .executeTakeFirst();
  return row === undefined ? undefined : { ...toHookSettings(row), generation: row.generation };
}

/** The settings of a leased hook in memory, until a commit event reports a change. */
export class CachedSettings {
  #current: HookSettings;
  #areStale = false;

  constructor(settings: HookSettings) {
    this.#current = settings;
  }

  get current(): HookSettings {
    return this.#current;
  }

  get areStale(): boolean {
    return this.#areStale;
  }

  invalidate(): void {
    this.#areStale = true;
  }

  /** Reads the settings again. Returns the fencing token of the hook; undefined if the hook does not exist. */
  async read(findSettings: () => Promise<ReadSettings | undefined>): Promise<number | undefined> {
    // Cleared before the read, so that a change that commits during the read makes the settings stale again.
    this.#areStale = false;
    const settings = await findSettings().catch((error: unknown) => {
      this.#areStale = true;
      throw error;
    });
    this.#current = settings ?? this.#current;
    return settings?.generation;
  }
}
