import { BarChart, LineChart } from 'echarts/charts';
import { GridComponent, TitleComponent } from 'echarts/components';
import { init, use } from 'echarts/core';
import { LabelLayout } from 'echarts/features';
import { SVGRenderer } from 'echarts/renderers';
import type { EChartsOption } from 'echarts/types/dist/echarts';
import { rounded } from '../../bench/measured.ts';

use([BarChart, LineChart, GridComponent, TitleComponent, LabelLayout, SVGRenderer]);

export const themes = ['light', 'dark'] as const;
export type ThemeName = (typeof themes)[number];

/** Carillon is blue and thick; the others are drawn thin. The colours differ in brightness as well as in hue (Okabe and Ito). */
type Tone = 'sqlite' | 'postgresql' | 'peer' | 'green' | 'vermilion' | 'purple' | 'ochre';

type Theme = Readonly<Record<Tone | 'background' | 'text' | 'muted' | 'grid', string>>;

const colours: Readonly<Record<ThemeName, Theme>> = {
  light: {
    background: '#ffffff',
    text: '#1f2328',
    muted: '#59636e',
    grid: '#e4e8ec',
    sqlite: '#0055b8',
    postgresql: '#4a9be8',
    peer: '#a3abb3',
    green: '#00795a',
    vermilion: '#c24e00',
    purple: '#a4508b',
    ochre: '#8f6a00',
  },
  dark: {
    background: '#0d1117',
    text: '#e6edf3',
    muted: '#9198a1',
    grid: '#262c34',
    sqlite: '#4d9fff',
    postgresql: '#a8d1ff',
    peer: '#6e7681',
    green: '#2fc29a',
    vermilion: '#ff8b45',
    purple: '#dd9ac4',
    ochre: '#e5b93f',
  },
};

const symbols: Readonly<Record<Tone, string>> = {
  sqlite: 'circle',
  postgresql: 'circle',
  peer: 'circle',
  green: 'triangle',
  vermilion: 'rect',
  purple: 'diamond',
  ochre: 'arrow',
};

const WIDTH = 760;
// Without quotes: ECharts writes the family into an attribute unescaped.
const FONT = 'system-ui, -apple-system, Roboto, Arial, sans-serif';

const isCarillon = (tone: Tone) => tone === 'sqlite' || tone === 'postgresql';

/** Three significant digits up to 1,000, whole numbers above. */
export function shortly(value: number): string {
  const shown = Math.abs(value) >= 1_000 ? Math.round(value) : (rounded(value) ?? Number.NaN);
  return shown.toLocaleString('en');
}

type Axis = { readonly name: string; readonly isLogarithmic?: true };

export type Bar = { readonly name: string; readonly tone: Tone; readonly values: readonly (number | undefined)[] };

/** Horizontal bars; with several panels, the bars of each panel are drawn next to each other on one scale. */
export function bars(
  spec: {
    readonly title: string;
    readonly axis: Axis;
    readonly panels: readonly string[];
    readonly bars: readonly Bar[];
  },
  theme: ThemeName,
): string {
  const height = 100 + spec.bars.length * 34;
  const left = 184;
  const gap = 24;
  const width = (WIDTH - left - 70 - gap * (spec.panels.length - 1)) / spec.panels.length;
  const largest = Math.max(...spec.bars.flatMap(({ values }) => values.map((value) => value ?? 0)));
  const look = colours[theme];
  const grids = spec.panels.map((_, index) => ({ left: left + index * (width + gap), width, top: 62, bottom: 34 }));
  return drawn(theme, height, {
    title: [
      titleOf(spec.title, look),
      ...spec.panels.map((text, index) => panelTitle(text, grids[index]?.left ?? 0, look)),
    ],
    grid: grids,
    xAxis: spec.panels.map((_, gridIndex) => ({
      gridIndex,
      type: 'value',
      max: largest * 1.22,
      show: gridIndex === 0 || spec.panels.length > 1,
      axisLabel: { show: false },
      splitLine: { show: false },
      ...nameBelow(spec.axis.name, 10, look),
    })),
    yAxis: spec.panels.map((_, gridIndex) => ({
      gridIndex,
      type: 'category',
      inverse: true,
      data: spec.bars.map(({ name }) => name),
      axisTick: { show: false },
      axisLine: { lineStyle: { color: look.muted } },
      axisLabel: { show: gridIndex === 0, color: look.text, fontSize: 13 },
    })),
    series: spec.panels.map((_, index) => ({
      type: 'bar',
      silent: true,
      xAxisIndex: index,
      yAxisIndex: index,
      barWidth: 20,
      data: spec.bars.map(({ tone, values }) => ({
        value: values[index] ?? 0,
        itemStyle: { color: look[tone] },
        label: {
          show: true,
          position: 'right',
          color: look.text,
          fontSize: 13,
          fontWeight: isCarillon(tone) ? 'bold' : 'normal',
          formatter: values[index] === undefined ? 'not measured' : shortly(values[index]),
        },
      })),
    })),
  });
}

export type Line = {
  readonly name: string;
  readonly tone: Tone;
  readonly isDashed?: boolean;
  readonly values: readonly (number | undefined)[];
};

/** Lines over a few positions, with the name of each line at its end. */
export function lines(
  spec: {
    readonly title: string;
    readonly along: Axis & { readonly at: readonly number[] };
    readonly axis: Axis & { readonly max?: number };
    readonly lines: readonly Line[];
  },
  theme: ThemeName,
): string {
  const look = colours[theme];
  return drawn(theme, 360, {
    title: titleOf(spec.title, look),
    grid: { left: 76, right: 226, top: 52, bottom: 58 },
    xAxis: {
      type: 'category',
      boundaryGap: false,
      data: spec.along.at.map((at) => at.toLocaleString('en')),
      axisTick: { show: false },
      axisLine: { lineStyle: { color: look.muted } },
      axisLabel: { color: look.muted, fontSize: 12, margin: 10 },
      ...nameBelow(spec.along.name, 32, look),
    },
    yAxis: {
      ...valueAxis(spec.axis, look),
      ...(spec.axis.max !== undefined && { max: spec.axis.max }),
      name: spec.axis.name,
      nameLocation: 'middle',
      nameGap: 54,
      nameTextStyle: { color: look.muted, fontSize: 12 },
    },
    series: spec.lines.map(({ name, tone, isDashed, values }) => ({
      type: 'line',
      silent: true,
      data: values.map((value) => value ?? '-'),
      symbol: symbols[tone],
      symbolSize: isCarillon(tone) ? 9 : 8,
      z: isCarillon(tone) ? 3 : 2,
      itemStyle: { color: look[tone] },
      lineStyle: { color: look[tone], width: isCarillon(tone) ? 3.5 : 1.8, type: isDashed ? 'dashed' : 'solid' },
      endLabel: {
        show: true,
        distance: 10,
        color: look[tone],
        fontSize: 13,
        lineHeight: 18,
        fontWeight: isCarillon(tone) ? 'bold' : 'normal',
        formatter: `${name}: ${shortly(values.findLast((value) => value !== undefined) ?? Number.NaN)}`,
      },
      labelLayout: { moveOverlap: 'shiftY' },
    })),
  });
}

export type Change = { readonly name: string; readonly tone: Tone; readonly before: number; readonly after: number };

/** One line per system from the value before to the value after, on a logarithmic axis. */
export function changes(
  spec: { readonly title: string; readonly axis: Axis; readonly changes: readonly Change[] },
  theme: ThemeName,
): string {
  const look = colours[theme];
  const names = spec.changes.map(({ name }) => name);
  return drawn(theme, 108 + names.length * 40, {
    title: titleOf(spec.title, look),
    grid: { left: 184, right: 140, top: 44, bottom: 58 },
    xAxis: { ...valueAxis({ ...spec.axis, isLogarithmic: true }, look), ...nameBelow(spec.axis.name, 32, look) },
    yAxis: {
      type: 'category',
      inverse: true,
      data: names,
      axisTick: { show: false },
      axisLine: { lineStyle: { color: look.muted } },
      axisLabel: { color: look.text, fontSize: 13 },
    },
    series: spec.changes.map(({ name, tone, before, after }) => ({
      type: 'line',
      silent: true,
      lineStyle: { color: look[tone], width: 4 },
      data: [
        {
          value: [before, name],
          symbol: 'circle',
          symbolSize: 14,
          itemStyle: { color: look.background, borderColor: look[tone], borderWidth: 3 },
        },
        {
          value: [after, name],
          symbol: 'circle',
          symbolSize: 10,
          itemStyle: { color: look[tone] },
          label: {
            show: true,
            position: 'right',
            distance: 10,
            color: look.text,
            fontSize: 13,
            fontWeight: isCarillon(tone) ? 'bold' : 'normal',
            formatter: `${shortly(before)} → ${shortly(after)}`,
          },
        },
      ],
    })),
  });
}

function titleOf(text: string, look: Theme) {
  return { text, left: 12, top: 10, textStyle: { color: look.text, fontSize: 15, fontWeight: 'bold' as const } };
}

function panelTitle(text: string, left: number, look: Theme) {
  return {
    text,
    left,
    top: 40,
    padding: 0,
    textStyle: { color: look.muted, fontSize: 13, fontWeight: 'normal' as const },
  };
}

function nameBelow(name: string, nameGap: number, look: Theme) {
  return { name, nameLocation: 'middle' as const, nameGap, nameTextStyle: { color: look.muted, fontSize: 12 } };
}

function valueAxis({ isLogarithmic }: Axis, look: Theme) {
  return {
    type: isLogarithmic ? ('log' as const) : ('value' as const),
    axisLabel: { color: look.muted, fontSize: 12, formatter: (value: number) => value.toLocaleString('en') },
    splitLine: { lineStyle: { color: look.grid } },
  };
}

/** Renders without a browser; the same option gives the same bytes. */
function drawn(theme: ThemeName, height: number, option: EChartsOption): string {
  const chart = init(null, null, { renderer: 'svg', ssr: true, width: WIDTH, height });
  const { background } = colours[theme];
  chart.setOption({ animation: false, backgroundColor: background, textStyle: { fontFamily: FONT }, ...option });
  const svg = chart.renderToSVGString();
  chart.dispose();
  // Ids contain the number of the chart within the process.
  return `${svg.replaceAll(/\bzr\d+-/g, '')}\n`;
}
