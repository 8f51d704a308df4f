import { CompiledQuery, type KyselyPlugin } from 'kysely';
import { runDirectly } from '../../src/store/prepared-queries.ts';
import type { Queries } from '../../src/store/store.ts';

/** Stands between what asks and its store, and counts the characters that are read in one turn of the event loop. */
export class Weighed implements KyselyPlugin {
  /** The most characters, and the most rows, of one turn. */
  most = { characters: 0, rows: 0 };
  #turn = { characters: 0, rows: 0 };
  #isCounting = false;

  readonly transformQuery: KyselyPlugin['transformQuery'] = ({ node }) => node;

  readonly transformResult: KyselyPlugin['transformResult'] = async ({ result }) => {
    this.#weigh(result.rows);
    return result;
  };

  /** The queries of a store, with this between. */
  over(queries: Queries): Queries {
    const read = queries.withPlugin(this);
    runDirectly(read, async (sql, parameters) => {
      const { rows } = await queries.executeQuery(CompiledQuery.raw(sql, [...parameters]));
      this.#weigh(rows);
      return rows;
    });
    return read;
  }

  #weigh(rows: readonly unknown[]): void {
    if (!this.#isCounting) {
      this.#isCounting = true;
      setImmediate(() => {
        this.#isCounting = false;
        this.#turn = { characters: 0, rows: 0 };
      });
    }
    for (const row of rows) {
      this.#turn.rows += 1;
      for (const value of Object.values(row as object)) {
        if (typeof value === 'string') this.#turn.characters += value.length;
      }
    }
    this.most = {
      characters: Math.max(this.most.characters, this.#turn.characters),
      rows: Math.max(this.most.rows, this.#turn.rows),
    };
  }
}
