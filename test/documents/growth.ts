import type { Latencies } from '../../bench/measured.ts';
import { type Studied, studyOf } from '../../bench/results.ts';
import { shortly } from './chart.ts';
import { code, derivedFrom, document, table } from './markdown.ts';

// What the studies of `bench/` have written down, as far as it is read here.
type Growth = { readonly rows: number; readonly bytesARow: Record<'sqlite' | 'postgres', Record<string, number>> };

type Nodes = {
  readonly connections: number;
  readonly accounts: number;
  readonly figures: readonly {
    readonly run: string;
    readonly perSecond: number;
    readonly ratioToOne: number;
    readonly ratios: readonly [least: number, most: number];
  }[];
};

type Scale = {
  readonly postgres: string;
  readonly floor: { readonly claimsPerSecond: number; readonly settledPerSecond: number };
  readonly wakeUpMs: readonly ({ readonly hooks: number; readonly processes: number } & (
    | Latencies
    | { readonly bareSql: Latencies }
  ))[];
  readonly throughput: readonly {
    readonly processes: number;
    readonly claims: { readonly lanes: number; readonly perSecond: number };
    readonly settled: { readonly deliveries: number; readonly perSecond: number };
  }[];
  readonly fairness: readonly {
    readonly processes: number;
    readonly equal: { readonly lanes: number; readonly each: number; readonly mostToMedian: number };
    readonly noise: { readonly alone: Latencies; readonly beside: Latencies };
  }[];
};

type Beside = {
  readonly ratio: number;
  readonly dropped: { readonly seconds: number; readonly rowsLeft: number; readonly slowestWriteMs: number };
};

type OldRows = {
  readonly rows: number;
  readonly tables: readonly string[];
  readonly sqlite: Beside;
  readonly postgres: Beside;
};

/** What becomes of it as rows, hooks and processes grow: what the studies came to when they were run last. */
export function growthDocument(): string {
  return document(
    '# Growth, measured',
    derivedFrom('test/documents/growth.ts', 'bench/results/'),
    `What a row weighs, what more processes bring, what very many hooks and a long past cost. What follows from it is in [Scaling](scaling.md). Each part has its own run: ${code('npm run bench -- growth')}, ${code('nodes')}, ${code('scale --full')}, ${code('old-rows')}. Lists of an account of a million events are [P4](performance.md#p4), a million notifications owed [P9](performance.md#p9).`,
    ...growth(studyOf('growth')),
    ...nodes(studyOf('nodes')),
    ...scale(studyOf('scale')),
    ...oldRows(studyOf('old-rows')),
  );
}

/** Studies of before the source was written down say when they were made, and no more. */
const said = ({ commit, node, machine, date, at }: Studied<object> & { readonly at?: string }) =>
  at === undefined
    ? `Source ${code(commit)}, Node ${node}, ${machine}; ${date}.`
    : `Node ${node}, ${machine}; ${at.slice(0, 10)}.`;

const processesOf = (count: number) => (count === 1 ? '1 process' : `${count} processes`);

function growth(study: Studied<Growth>): string[] {
  const { sqlite, postgres } = study.bytesARow;
  const told = ['events', 'occurrences', 'settled', 'attempts'];
  const leaves = (bytes: Readonly<Record<string, number>>) => told.reduce((sum, one) => sum + (bytes[one] ?? 0), 0);
  return [
    '## Rows',
    `What a row takes with its indexes, bytes, of ${shortly(study.rows)} each:`,
    table(
      ['', 'SQLite', 'PostgreSQL'],
      Object.keys(sqlite).map((one) => [code(one), `${sqlite[one]}`, `${postgres[one]}`]),
    ),
    `An event that is told to one hook leaves ${leaves(sqlite)} bytes behind on SQLite and ${leaves(postgres)} on PostgreSQL, of which ${sqlite.events} and ${postgres.events} stay.`,
    said(study),
  ];
}

function nodes(study: Studied<Nodes>): string[] {
  const { connections, accounts, figures } = study;
  return [
    '## Processes that create',
    `${code('POST /v2/events')} on PostgreSQL over ${connections} connections and in ${accounts} accounts, by processes that share the machine with the database and whoever asks; beside inserts of one row and commit each:`,
    table(
      ['Run', 'A second', 'Of one process', 'From', 'To'],
      figures.map(({ run, perSecond, ratioToOne, ratios }) => [
        run,
        shortly(perSecond),
        shortly(ratioToOne),
        ...ratios.map(shortly),
      ]),
    ),
    said(study),
  ];
}

function scale(study: Studied<Scale>): string[] {
  const { postgres, floor, wakeUpMs, throughput, fairness } = study;
  const [first] = throughput;
  const [equal] = fairness;
  const hooks = Math.max(...wakeUpMs.map((one) => one.hooks));
  const latencies = ({ p50, p95, p99 }: Latencies) => [p50, p95, p99].map((ms) => shortly(ms ?? Number.NaN));
  const longest = fairness.map((one) => one.equal.mostToMedian);
  return [
    '## Hooks',
    `Engines, lanes and leases as they are, in one, two and four processes on one PostgreSQL ${postgres}, without HTTP: a target is a 200. Ten hooks an account. *Bare SQL* is the floor: the same round trips on one connection, and nothing else. From a commit to the beginning of its attempt, 100 commits a second, ms:`,
    table(
      ['Hooks', '', 'p50', 'p95', 'p99'],
      wakeUpMs.map((one) => [
        shortly(one.hooks),
        'bareSql' in one ? 'bare SQL' : processesOf(one.processes),
        ...latencies('bareSql' in one ? one.bareSql : one),
      ]),
    ),
    `With ${shortly(hooks)} hooks, *taken up*: ${shortly(first?.claims.lanes ?? 0)} lanes with one delivery each, all idle before, from the first attempt to the last; *written down*: ${shortly(first?.settled.deliveries ?? 0)} deliveries of 500 lanes, until nothing is owed any more:`,
    table(
      ['', 'Lanes taken up a second', 'Deliveries written down a second'],
      [
        ['bare SQL, one connection', shortly(floor.claimsPerSecond), shortly(floor.settledPerSecond)],
        ...throughput.map(({ processes, claims, settled }) => [
          processesOf(processes),
          shortly(claims.perSecond),
          shortly(settled.perSecond),
        ]),
      ],
    ),
    `Of ${equal?.equal.lanes} lanes with ${equal?.equal.each} deliveries each, the one that waits longest waits ${shortly(Math.min(...longest))} to ${shortly(Math.max(...longest))} times as long as the middle one. Quiet accounts, alone and beside one whose thousand hooks take 100 ms each and all have work, ms from commit to attempt:`,
    table(
      ['', 'Alone: p50', 'p95', 'p99', 'Beside it: p50', 'p95', 'p99'],
      fairness.map(({ processes, noise }) => [
        processesOf(processes),
        ...latencies(noise.alone),
        ...latencies(noise.beside),
      ]),
    ),
    said(study),
  ];
}

function oldRows(study: Studied<OldRows>): string[] {
  const each = (['sqlite', 'postgres'] as const).map((name) => [name, study[name]] as const);
  return [
    '## The past',
    `Events created and told each second beside ${shortly(study.rows)} old rows in each of ${study.tables.map(code).join(', ')}, of what it is without them; then how long they are dropped, looked at for a minute at most, how many of all are left then, and what a write beside that waited for at most:`,
    table(
      ['', 'Of what it is without', 'Dropped for, s', 'Left', 'A write waited, ms'],
      each.map(([name, { ratio, dropped }]) => [
        name === 'sqlite' ? 'SQLite' : 'PostgreSQL',
        shortly(ratio),
        shortly(dropped.seconds),
        shortly(dropped.rowsLeft),
        shortly(dropped.slowestWriteMs),
      ]),
    ),
    said(study),
  ];
}
