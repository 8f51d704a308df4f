import type pg from 'pg';

/** How many reads one query answers at the most: beyond that, a longer one would save nothing more. */
const MOST_TOGETHER = 128;

/** Which of the reads of one query a row belongs to. */
const TURN = 'turn of the read';

/** One read that waits to be asked. */
type Waiting = {
  readonly parameters: readonly number[];
  readonly resolve: (rows: unknown[]) => void;
  readonly reject: (error: unknown) => void;
};

/**
 * Reads by numbers, such as that of a record by its id. Those of the same text that are asked in one turn of the event
 * loop are one query: most of what such a read costs a database is that it is a query.
 */
export class ReadsTogether {
  readonly #ask: (text: string, values: readonly unknown[]) => Promise<pg.QueryResult>;
  readonly #waiting = new Map<string, Waiting[]>();
  readonly #texts = new Map<string, string>();

  constructor(ask: (text: string, values: readonly unknown[]) => Promise<pg.QueryResult>) {
    this.#ask = ask;
  }

  read(text: string, parameters: readonly number[]): Promise<unknown[]> {
    return new Promise((resolve, reject) => {
      if (this.#waiting.size === 0) setImmediate(() => this.#askAll());
      const others = this.#waiting.get(text);
      if (others === undefined) this.#waiting.set(text, [{ parameters, resolve, reject }]);
      else others.push({ parameters, resolve, reject });
    });
  }

  #askAll(): void {
    const all = [...this.#waiting];
    this.#waiting.clear();
    for (const [text, waiting] of all) {
      for (let first = 0; first < waiting.length; first += MOST_TOGETHER) {
        const some = waiting.slice(first, first + MOST_TOGETHER);
        this.#askFor(text, some).catch((error: unknown) => {
          for (const one of some) one.reject(error);
        });
      }
    }
  }

  async #askFor(text: string, reads: readonly Waiting[]): Promise<void> {
    const [first, ...others] = reads;
    if (first === undefined) return;
    if (others.length === 0) {
      const { rows } = await this.#ask(text, first.parameters);
      first.resolve(rows);
      return;
    }
    const columns = first.parameters.map((_, column) => reads.map(({ parameters }) => parameters[column]));
    const { rows } = await this.#ask(this.#joined(text, columns.length), columns);
    const found: unknown[][] = reads.map(() => []);
    for (const row of rows) found[Number(row[TURN]) - 1]?.push(row);
    for (const [index, read] of reads.entries()) read.resolve(found[index] ?? []);
  }

  /** The query that answers several such reads: the parameters of each are a row, which the read is made for. */
  #joined(text: string, parameters: number): string {
    const known = this.#texts.get(text);
    if (known !== undefined) return known;
    const names = Array.from({ length: parameters }, (_, index) => `p${index + 1}`);
    const lists = names.map((_, index) => `$${index + 1}::int8[]`).join(', ');
    const one = text.replace(/\$(\d+)/g, 'asked.p$1');
    const joined = `select found.*, asked.turn as "${TURN}" from unnest(${lists}) with ordinality as asked (${names.join(', ')}, turn)
      cross join lateral (${one}) as found`;
    this.#texts.set(text, joined);
    return joined;
  }
}
