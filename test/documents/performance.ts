import type { Bench, Side } from '../../bench/bench.ts';
import { benches } from '../../bench/benches.ts';
import { type Judged, judge } from '../../bench/judged.ts';
import { quantile } from '../../bench/measured.ts';
import { type Result, resultOf } from '../../bench/results.ts';
import { chart, curve, shortly } from './chart.ts';
import { code, type Derived, derivedFrom, document, table } from './markdown.ts';

const colours: Readonly<Record<Side, string>> = { floor: '#b8b8b8', peer: '#e0a458', ours: '#3f6fb5' };

/** What is measured, beside what, and whether it is what it has to be; and a picture of each row. */
export function performanceDocuments(): Derived[] {
  const rows = benches.map((bench) => ({ bench, result: resultOf(bench) }));
  const text = document(
    '# Performance, beside its floors',
    derivedFrom('bench/benches.ts', 'bench/results/'),
    'How close is this service to what the machine can do at all? Most figures stand beside a floor that was measured in the same run, the least that could do the same, or beside somebody else who does the same work. There the ratio counts, round by round; what is a number of milliseconds, of statements or of MiB stands by itself. Everywhere the medians of the rounds are shown, and from where to where they lay. Durability is full everywhere: what is answered is on the disk. Callers, receivers, the service and the database share one machine.',
    `${code('npm run bench')} measures all of it anew, ${code('npm run bench -- P1')} one row, and ${code('npm run bench -- --quick')} says in a minute whether a change made something worse.`,
    table(
      ['Row', 'What is measured', 'What must show', 'What shows'],
      rows.map(({ bench, result }) => [
        `[${bench.id}](#${bench.id.toLowerCase()})`,
        bench.title,
        bench.target,
        result === undefined ? 'not measured yet' : verdictOf(judge(result)),
      ]),
    ),
    ...rows.map(({ bench, result }) => section(bench, result)),
  );
  return [
    { path: 'docs/performance.md', text },
    ...rows.flatMap(({ bench, result }) => (result === undefined ? [] : pictures(bench, result))),
  ];
}

function verdictOf(all: readonly Judged[]): string {
  if (all.length === 0) return '–';
  const missed = all.filter(({ holds }) => !holds);
  return missed.length === 0 ? 'holds' : `${all.length - missed.length} of ${all.length} hold`;
}

function section({ id, title, target, heldBack, aRound }: Bench, result: Result | undefined): string {
  const head = [`## ${id}`, `${title[0]?.toUpperCase()}${title.slice(1)}. What must show: ${target}.`];
  if (result === undefined) return [...head, 'Not measured yet.'].join('\n\n');
  const { rounds, roundMs, seconds, fsyncMs, commit, node, machine, date } = result;
  const judged = table(
    ['What', 'Figure', 'From', 'To', 'Must be', ''],
    judge(result).map(({ claim, median, least, most, times, holds }) => [
      claim.says,
      shortly(median),
      ...(times === 1 ? ['once', ''] : [shortly(least), shortly(most)]),
      claim.atLeast === undefined ? `at most ${claim.atMost}` : `at least ${claim.atLeast}`,
      holds ? 'holds' : '**missed**',
    ]),
  );
  return [
    ...head,
    ...(result.claims.length === 0 ? figuresOf(result) : [judged]),
    ...(heldBack === undefined ? [] : [`What holds back what is missed: ${heldBack}`]),
    ...(result.curves ?? []).map(({ title }) => `![${title}](performance/${fileOf(title)})`),
    ...units(result).map((unit) => `![${id}, ${unit}](performance/${fileOf(`${id}-${unit}`)})`),
    `${rounds} rounds of ${aRound ?? `${roundMs / 1_000} s`} in ${seconds} s; a flush took ${fsyncMs} ms; source ${code(commit)}, Node ${node}, ${machine}; ${date}.`,
  ].join('\n\n');
}

/** Where nothing has to show: all there is, a table for each database, with a column for each unit. */
function figuresOf(result: Result): string[] {
  const byDatabase = Map.groupBy(units(result), (unit) => / on (\w+)$/.exec(unit)?.[1]);
  return [...byDatabase.values()].map((all) => figuresIn(result, all));
}

/** What comes to the most first. */
function figuresIn(result: Result, all: readonly string[]): string {
  const rows = Map.groupBy(result.series, ({ name, unit }) => name.slice(0, -unit.length - 2));
  const figureOf = (name: string, unit: string) => {
    const one = rows.get(name)?.find((series) => series.unit === unit);
    return one === undefined ? Number.NaN : quantile(one.rounds, 0.5);
  };
  const sumOf = (name: string) => all.reduce((sum, unit) => sum + (figureOf(name, unit) || 0), 0);
  const names = [...rows.keys()].filter((name) => sumOf(name) > 0).sort((one, other) => sumOf(other) - sumOf(one));
  return table(
    ['', ...all],
    names.map((name) => [
      name,
      ...all.map((unit) => (Number.isNaN(figureOf(name, unit)) ? '–' : shortly(figureOf(name, unit)))),
    ]),
  );
}

const units = ({ series }: Result): string[] => [...new Set(series.map(({ unit }) => unit))];

const fileOf = (title: string) => `${title.replace(/[^\w]+/g, '-').replace(/^-|-$/g, '')}.svg`;

function pictures(bench: Bench, result: Result): Derived[] {
  return [...bars(bench, result), ...curves(result)];
}

function curves({ curves = [], series }: Result): Derived[] {
  const middle = (name: string) => quantile(series.find((one) => one.name === name)?.rounds ?? [], 0.5);
  return curves.map(({ title, along, unit, lines }) => {
    const drawn = lines.map(({ name, points }) => ({
      name,
      points: points.map(([at, of]) => [at, middle(of)] as const),
    }));
    return { path: `docs/performance/${fileOf(title)}`, text: curve(title, { along, unit }, drawn) };
  });
}

function bars({ id }: Bench, result: Result): Derived[] {
  return units(result).map((unit) => {
    const bars = result.series
      .filter((one) => one.unit === unit)
      .map(({ name, side, rounds }) => ({
        name: name.slice(0, -unit.length - 2),
        colour: colours[side],
        median: quantile(rounds, 0.5),
        least: Math.min(...rounds),
        most: Math.max(...rounds),
      }));
    return { path: `docs/performance/${fileOf(`${id}-${unit}`)}`, text: chart(id, unit, bars) };
  });
}
