import { nameOf as peerNameOf } from '../../bench/peers.ts';
import { resultOf, type StoredResult } from '../../bench/results.ts';
import { seriesName } from '../../bench/rounds.ts';
import { DEEP, LIST, pageName, sizes } from '../../bench/rows/list.ts';
import { nameOf as crewNameOf } from '../../bench/rows/processes.ts';
import { quantile } from '../../bench/statistics.ts';
import { barChart, beforeAfterChart, lineChart, type ThemeName, themes } from './charts.ts';
import type { DerivedDocument } from './markdown.ts';
import { type PeerMeasurements, readPeerMeasurements, type System, systemIds, systems, valuesOf } from './peers.ts';

/** A chart of docs/performance.md. `name` is the prefix of its file names. */
export type Chart = {
  readonly name: string;
  readonly alt: string;
  draw(theme: ThemeName): string;
};

const systemColors = {
  carillon_sqlite: 'sqlite',
  carillon_postgresql: 'postgresql',
  pocketbase: 'green',
  svix: 'vermilion',
  outpost: 'purple',
  vikunja: 'ochre',
} as const satisfies Record<System, string>;

const barColor = (system: System) => (system.startsWith('carillon') ? systemColors[system] : 'peer');

const RATES = [50, 200, 1_000] as const;
const P95_INDEX = 1;

const HANGING_MEASUREMENT = 'healthy_ms_p95_before_and_while_one_of_ten_hangs';

const measuredSystems = (peers: PeerMeasurements, measurement: string) =>
  systemIds.filter((system) => valuesOf(peers, measurement, system) !== undefined);

/** Returns the systems of a measurement, the system with the largest value first. */
const rankedSystems = (peers: PeerMeasurements, measurement: string) => {
  const firstOf = (system: System) => valuesOf(peers, measurement, system)?.[0] ?? 0;
  return measuredSystems(peers, measurement).sort((one, other) => firstOf(other) - firstOf(one));
};

function createdChart(peers: PeerMeasurements): Chart {
  const measurement = 'created_per_second';
  return {
    name: 'created',
    alt: 'Created per second: Carillon leads',
    draw: (theme) =>
      barChart(
        {
          title: 'Created per second, 64 connections',
          axis: { name: 'records created per second' },
          panels: [''],
          bars: rankedSystems(peers, measurement).map((system) => ({
            name: systems[system],
            tone: barColor(system),
            values: [valuesOf(peers, measurement, system)?.[0]],
          })),
        },
        theme,
      ),
  };
}

function deliveredChart(peers: PeerMeasurements): Chart {
  const measurements = ['delivered_per_second_1_receiver', 'delivered_per_second_100_receivers'] as const;
  return {
    name: 'delivered',
    alt: 'Delivered per second: Carillon leads with 1 receiver, PocketBase with 100',
    draw: (theme) =>
      barChart(
        {
          title: 'Delivered per second',
          axis: { name: 'deliveries per second' },
          panels: ['to 1 receiver', 'to 100 receivers'],
          bars: rankedSystems(peers, measurements[0]).map((system) => ({
            name: system === 'pocketbase' ? 'PocketBase, not durable' : systems[system],
            tone: barColor(system),
            values: measurements.map((one) => valuesOf(peers, one, system)?.[0]),
          })),
        },
        theme,
      ),
  };
}

function latencyChart(peers: PeerMeasurements): Chart {
  const measurements = RATES.map((rate) => `arrival_ms_p50_p95_p99_at_${rate}`);
  return {
    name: 'latency',
    alt: 'Latency against load: Carillon stays within 14 ms',
    draw: (theme) =>
      lineChart(
        {
          title: 'Latency against load: p95 from request to receiver',
          along: { name: 'events created per second', at: RATES },
          axis: { name: 'milliseconds at p95 (logarithmic)', isLogarithmic: true },
          lines: systemIds.map((system) => ({
            name: systems[system],
            tone: systemColors[system],
            values: measurements.map((one) => valuesOf(peers, one, system)?.[P95_INDEX]),
          })),
        },
        theme,
      ),
  };
}

function isolationChart(peers: PeerMeasurements): Chart {
  return {
    name: 'isolation',
    alt: "Healthy targets' p95 while one hangs: Carillon's is unchanged",
    draw: (theme) =>
      beforeAfterChart(
        {
          title: "Healthy targets' p95 before (ring) and while one of ten targets hangs (dot)",
          axis: { name: 'milliseconds at p95 (logarithmic)' },
          changes: measuredSystems(peers, HANGING_MEASUREMENT).map((system) => {
            const [before = Number.NaN, after = Number.NaN] = valuesOf(peers, HANGING_MEASUREMENT, system) ?? [];
            return { name: systems[system], tone: barColor(system), before, after };
          }),
        },
        theme,
      ),
  };
}

function listTimeChart(): Chart {
  const { series } = requireResult('P4');
  const databases = [
    { database: 'SQLite', tone: 'sqlite' },
    { database: 'PostgreSQL', tone: 'postgresql' },
  ] as const;
  const pages = [
    { page: DEEP, name: 'last page', isDashed: true },
    { page: LIST, name: 'first page', isDashed: false },
  ];
  return {
    name: 'list',
    alt: 'Time of a page by account size',
    draw: (theme) =>
      lineChart(
        {
          title: 'Time of a page of 100 events of a month',
          along: { name: 'events in the account', at: sizes.map(({ events }) => events) },
          axis: { name: 'milliseconds at p50' },
          lines: databases.flatMap(({ database, tone }) =>
            pages.map(({ page, name, isDashed }) => ({
              name: `${database}, ${name}`,
              tone,
              isDashed,
              values: sizes.map((size) =>
                medianOfSeries(series, seriesName(pageName(page, size, database), 'ms at p50')),
              ),
            })),
          ),
        },
        theme,
      ),
  };
}

function processesChart(): Chart {
  const { series } = requireResult('P11');
  const counts = [1, 2, 4];
  const measuredSetups = [
    { contender: 'carillon', name: 'Carillon', tone: 'sqlite' },
    { contender: peerNameOf('pg-boss'), name: 'pg-boss', tone: 'vermilion' },
    { contender: peerNameOf('graphile-worker'), name: 'graphile-worker', tone: 'green' },
    { contender: peerNameOf('bullmq'), name: 'BullMQ', tone: 'purple' },
  ] as const;
  return {
    name: 'processes',
    alt: 'Delivered per second by processes',
    draw: (theme) =>
      lineChart(
        {
          title: 'Delivered per second by processes on one PostgreSQL, two cores in all',
          along: { name: 'processes', at: counts },
          axis: { name: 'deliveries per second' },
          lines: measuredSetups.map(({ contender, name, tone }) => ({
            name,
            tone,
            values: counts.map((count) =>
              medianOfSeries(
                series,
                seriesName(crewNameOf(contender, { database: 'PostgreSQL', processes: count }), '/s'),
              ),
            ),
          })),
        },
        theme,
      ),
  };
}

function requireResult(id: string): StoredResult {
  const result = resultOf({ id });
  if (result === undefined) throw new Error(`${id} has no result`);
  return result;
}

function medianOfSeries(series: StoredResult['series'], name: string): number {
  const found = series.find((one) => one.name === name);
  if (found === undefined) throw new Error(`no series ${name}`);
  return quantile(found.rounds, 0.5);
}

/** Returns the charts of docs/performance.md, by name. */
export function charts() {
  const peers = readPeerMeasurements();
  return {
    created: createdChart(peers),
    delivered: deliveredChart(peers),
    latency: latencyChart(peers),
    isolation: isolationChart(peers),
    list: listTimeChart(),
    processes: processesChart(),
  } as const;
}

const chartPath = (name: string, theme: ThemeName) => `performance/${name}-${theme}.svg`;

export function chartFiles(all: readonly Chart[]): DerivedDocument[] {
  return all.flatMap(({ name, draw }) =>
    themes.map((theme) => ({ path: `docs/${chartPath(name, theme)}`, text: draw(theme) })),
  );
}

/** Returns the HTML that shows a chart in the reader's color scheme. */
export function pictureHtml({ name, alt }: Chart): string {
  return [
    '<picture>',
    `  <source media="(prefers-color-scheme:dark)" srcset="${chartPath(name, 'dark')}">`,
    `  <img alt="${alt}" src="${chartPath(name, 'light')}">`,
    '</picture>',
  ].join('\n');
}
