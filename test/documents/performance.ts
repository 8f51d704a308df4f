import type { Bench } from '../../bench/bench.ts';
import { benches, type CheckedClaim, checkThresholds } from '../../bench/benches.ts';
import { resultOf, type StoredResult } from '../../bench/results.ts';
import { formatNumber, quantile } from '../../bench/statistics.ts';
import { type DerivedDocument, derivedNotice, inlineCode, joinParts, markdownTable } from './markdown.ts';
import { type PeerMeasurements, readPeerMeasurements, type System, systemIds, systems, valuesOf } from './peers.ts';
import { chartFiles, charts, pictureHtml } from './performance-charts.ts';

/** Maximum number of missed claims in a cell of the table. The report contains all of them. */
const MAX_MISSED_SHOWN = 2;

/** Derives docs/performance.md and its charts. */
export function performanceDocuments(): DerivedDocument[] {
  const peers = readPeerMeasurements();
  const all = charts();
  const text = joinParts(
    '# Performance',
    derivedNotice('bench/benches.ts', 'bench/results.json', 'bench/peers/'),
    'This page compares Carillon with similar systems, and with its own targets.',
    '## Compared with other systems',
    peerTable(peers),
    'ᵃ From memory only: a crash loses deliveries. ᵇ Without PostgreSQL and Redis. ᶜ Without RabbitMQ (592 MiB). –: not measured.',
    pictureHtml(all.created),
    pictureHtml(all.delivered),
    pictureHtml(all.latency),
    'The next chart shows ten targets that get 60 webhooks per second each, before and while one of them hangs.',
    pictureHtml(all.isolation),
    '### Where Carillon loses',
    lossesPart(),
    '### Conditions',
    conditionsPart(peers),
    '## Targets',
    targetsPart(),
    markdownTable(
      ['Row', 'Measured', 'Target', 'Result'],
      benches.map((bench) => [bench.id, bench.title, bench.target, resultCell(bench)]),
    ),
    pictureHtml(all.list),
    pictureHtml(all.processes),
    `${inlineCode('npm run bench')} measures all rows, ${inlineCode('npm run bench -- P1')} one, ${inlineCode('npm run bench -- --quick')} detects regressions. ${inlineCode('npm run docs')} writes all values to ${inlineCode('build/performance.md')}.`,
  );
  return [{ path: 'docs/performance.md', text }, ...chartFiles(Object.values(all))];
}

type PeerTableRow = {
  readonly name: string;
  readonly measurement: string;
  readonly show?: (values: readonly number[]) => string;
  readonly marks?: Partial<Record<System, string>>;
};

const formatP95 = ([, value = Number.NaN]: readonly number[]) => formatNumber(value);
const notDurableMarks = { pocketbase: ' ᵃ' };

const peerTableRows: readonly PeerTableRow[] = [
  { name: 'Records created per second', measurement: 'created_per_second' },
  { name: 'Records fetched per second', measurement: 'fetched_per_second' },
  { name: 'Time for a page of 100 of 1,000,000 records, p50, ms', measurement: 'list_ms_p50' },
  {
    name: 'Webhooks delivered per second to 1 receiver',
    measurement: 'delivered_per_second_1_receiver',
    marks: notDurableMarks,
  },
  {
    name: 'Webhooks delivered per second to 100 receivers',
    measurement: 'delivered_per_second_100_receivers',
    marks: notDurableMarks,
  },
  {
    name: 'Time from request to receiver at 1,000/s, p95, ms',
    measurement: 'arrival_ms_p50_p95_p99_at_1000',
    show: formatP95,
    marks: notDurableMarks,
  },
  {
    name: 'Delivery time (p95, ms) to nine targets, before → while a tenth hangs',
    measurement: 'healthy_ms_p95_before_and_while_one_of_ten_hangs',
    show: (values) => values.map(formatNumber).join(' → '),
  },
  { name: 'Time until ready, ms', measurement: 'start_ms' },
  { name: 'Idle memory, MiB', measurement: 'idle_mib', marks: { svix: ' ᵇ', outpost: ' ᶜ' } },
];

function peerTable(peers: PeerMeasurements): string {
  return markdownTable(
    ['', ...Object.values(systems)],
    peerTableRows.map(({ name, measurement, show = ([value = Number.NaN]) => formatNumber(value), marks = {} }) => [
      name,
      ...systemIds.map((system) => {
        const values = valuesOf(peers, measurement, system);
        return values === undefined ? '–' : show(values) + (marks[system] ?? '');
      }),
    ]),
  );
}

function lossesPart(): string {
  return [
    '- **Start, idle memory**: PocketBase and Vikunja are better.',
    '- **100 receivers**: PocketBase delivers more.',
    '- **Installed size**: Carillon contains Node. Others are compiled.',
    "- **Outliers**: In one of five rounds, Carillon's p99 from request to receiver was 128 ms at 200/s and 244 ms at 1,000/s. PocketBase had one such round (56 ms).",
  ].join('\n');
}

function conditionsPart(peers: PeerMeasurements): string {
  const referenceOf = (measurement: string) => formatNumber(valuesOf(peers, measurement, 'floor')?.[0] ?? Number.NaN);
  return [
    `On ${peers.date}, Carillon ${inlineCode(peers.commit)}, PocketBase 0.40.4, Svix 1.100.0, Outpost ${inlineCode('f67ae011')} (concurrency 500) and Vikunja 2.5.0 ran in turn on one machine (${peers.machine}), with load generator, databases and receiver. Values are medians. Creations and fetches use 64 connections.`,
    [
      `- All systems commit to disk before they respond: SQLite with ${inlineCode('synchronous=FULL')}, PostgreSQL with ${inlineCode('synchronous_commit=on')}, queues on disk.`,
      '- Vikunja rejected 97% of concurrent writes. On one connection, it creates 101 records per second, Carillon 1,934.',
      `- A minimal Go server (without validation or deliveries) creates ${referenceOf('created_per_second')} and fetches ${referenceOf('fetched_per_second')} records per second.`,
    ].join('\n'),
    `All values: ${inlineCode('bench/peers/measured-2026-11-24.json')}.`,
  ].join('\n\n');
}

function targetsPart(): string {
  return `F1, F2 and F3 are minimal programs in the same round: F1 is Fastify with fixed response, F2 ${inlineCode('node:http')} with one prepared insert and group commit, F3 undici posting to the same receiver. Targets such as "≥ 0.22 of F2" are fractions of their results. Targets apply to medians of five rounds on two cores. A missed row names its worst result.`;
}

/** Returns `holds`, or the claims that miss their limit by the largest fraction, with the reason. */
function resultCell(bench: Bench): string {
  const result = resultOf(bench);
  if (result === undefined) return 'not measured';
  const all = checkThresholds(result);
  const missed = all.filter(({ holds }) => !holds).sort((one, other) => excessOf(other) - excessOf(one));
  if (missed.length === 0) return 'holds';
  const worst = [...Map.groupBy(missed, withoutDatabase).values()].flatMap(([first]) => first ?? []);
  const shown = worst.slice(0, MAX_MISSED_SHOWN).map((one) => {
    const sign = one.claim.atLeast === undefined ? '+' : '−';
    return `${one.claim.description}: ${formatNumber(one.median)} (${sign}${formatPercent(excessOf(one))})`;
  });
  return `**missed** ${missed.length} of ${all.length}: ${shown.join('; ')}. ${bench.heldBack ?? ''}`;
}

const withoutDatabase = ({ claim }: CheckedClaim) => claim.description.replace(/SQLite|PostgreSQL/, '');

/** Returns the distance of the median from the limit, as a fraction of the limit. */
function excessOf({ claim: { atLeast, atMost = 0 }, median }: CheckedClaim): number {
  return atLeast === undefined ? median / atMost - 1 : 1 - median / atLeast;
}

const formatPercent = (fraction: number) => `${Number((fraction * 100).toPrecision(2)).toLocaleString('en')}%`;

/** Derives build/performance.md, which is not committed: every claim and series of every row. */
export function performanceReport(): string {
  return joinParts('# Performance report', ...benches.map(benchSection));
}

function benchSection(bench: Bench): string {
  const { id, title, target, heldBack, roundDescription } = bench;
  const result = resultOf(bench);
  const head = [`## ${id}`, `Measured: ${title}. Target: ${target}.`];
  if (result === undefined) return [...head, 'Not measured yet.'].join('\n\n');
  const { rounds, roundMs, seconds, fsyncMs, commit, node, machine, date } = result;
  return [
    ...head,
    claimTable(result),
    ...(heldBack === undefined ? [] : [heldBack]),
    seriesTable(result),
    `${rounds} rounds of ${roundDescription ?? `${roundMs / 1_000} s`} in ${seconds} s; a flush took ${fsyncMs} ms; source ${inlineCode(commit)}, Node ${node}, ${machine}; ${date}.`,
  ].join('\n\n');
}

function claimTable(result: StoredResult): string {
  return markdownTable(
    ['Claim', 'Median', 'Least', 'Most', 'Limit', 'Result'],
    checkThresholds(result).map(({ claim, median, least, most, roundCount, holds }) => [
      claim.description,
      formatNumber(median),
      ...(roundCount === 1 ? ['one round', ''] : [formatNumber(least), formatNumber(most)]),
      claim.atLeast === undefined ? `at most ${claim.atMost}` : `at least ${claim.atLeast}`,
      holds ? 'holds' : '**missed**',
    ]),
  );
}

function seriesTable({ series }: StoredResult): string {
  return markdownTable(
    ['Series', 'Side', 'Median', 'Least', 'Most'],
    series.map(({ name, side, rounds }) => [
      name,
      side,
      formatNumber(quantile(rounds, 0.5)),
      formatNumber(Math.min(...rounds)),
      formatNumber(Math.max(...rounds)),
    ]),
  );
}
