import type { Selectable } from 'kysely';
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
