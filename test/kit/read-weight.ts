import { CompiledQuery, type KyselyPlugin } from 'kysely';
import { runDirectly } from '../../src/store/prepared-queries.ts';
import type { Queries } from '../../src/store/store.ts';

/** A query plugin that counts the characters and rows read in one event-loop iteration. */
export class Weighed implements KyselyPlugin {
  /** The maximum of one event-loop iteration. */
  most = { characters: 0, rows: 0 };
  #current = { characters: 0, rows: 0 };
  #isCounting = false;

  readonly transformQuery: KyselyPlugin['transformQuery'] = ({ node }) => node;

  readonly transformResult: KyselyPlugin['transformResult'] = async ({ result }) => {
    this.#count(result.rows);
    return result;
  };

  /** Returns the queries of a store with this plugin installed. */
  over(queries: Queries): Queries {
    const read = queries.withPlugin(this);
    runDirectly(read, async (sql, parameters) => {
      const { rows } = await queries.executeQuery(CompiledQuery.raw(sql, [...parameters]));
      this.#count(rows);
      return rows;
    });
    return read;
  }

  #count(rows: readonly unknown[]): void {
    if (!this.#isCounting) {
      this.#isCounting = true;
      setImmediate(() => {
        this.#isCounting = false;
        this.#current = { characters: 0, rows: 0 };
      });
    }
    for (const row of rows) {
      this.#current.rows += 1;
      for (const value of Object.values(row as object)) {
        if (typeof value === 'string') this.#current.characters += value.length;
      }
    }
    this.most = {
      characters: Math.max(this.most.characters, this.#current.characters),
      rows: Math.max(this.most.rows, this.#current.rows),
    };
  }
}
