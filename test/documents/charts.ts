import { BarChart, LineChart } from 'echarts/charts';
import { GridComponent, TitleComponent } from 'echarts/components';
import { init, use } from 'echarts/core';
import { LabelLayout } from 'echarts/features';
import { SVGRenderer } from 'echarts/renderers';
import type { EChartsOption } from 'echarts/types/dist/echarts';
import { formatNumber } from '../../bench/statistics.ts';

use([BarChart, LineChart, GridComponent, TitleComponent, LabelLayout, SVGRenderer]);

const WIDTH = 760;
// The font family contains no quotes, because ECharts writes it into an attribute unescaped.
const FONT = 'system-ui, -apple-system, Roboto, Arial, sans-serif';

type Axis = { readonly name: string; readonly isLogarithmic?: true };

export type ChartBar = {
  readonly name: string;
  readonly tone: ColorRole;
  readonly values: readonly (number | undefined)[];
};

/** Draws horizontal bars. Several panels are drawn next to each other, with the same scale. */
export function barChart(
  spec: {
    readonly title: string;
    readonly axis: Axis;
    readonly panels: readonly string[];
    readonly bars: readonly ChartBar[];
  },
  theme: ThemeName,
): string {
  const height = 100 + spec.bars.length * 34;
  const left = 184;
  const gap = 24;
  const width = (WIDTH - left - 70 - gap * (spec.panels.length - 1)) / spec.panels.length;
  const largest = Math.max(...spec.bars.flatMap(({ values }) => values.map((value) => value ?? 0)));
  const palette = palettes[theme];
  const grids = spec.panels.map((_, index) => ({ left: left + index * (width + gap), width, top: 62, bottom: 34 }));
  return renderSvg(
    { theme, title: spec.title, height },
    {
      title: [
        chartTitle(spec.title, palette),
        ...spec.panels.map((text, index) => panelTitle(text, grids[index]?.left ?? 0, palette)),
      ],
      grid: grids,
      xAxis: spec.panels.map((_, gridIndex) => ({
        gridIndex,
        type: 'value',
        max: largest * 1.22,
        axisLabel: { show: false },
        splitLine: { show: false },
        ...axisNameBelow(spec.axis.name, 10, palette),
      })),
      yAxis: spec.panels.map((_, gridIndex) => ({
        gridIndex,
        ...nameAxis(spec.bars, palette),
        ...(gridIndex > 0 && { axisLabel: { show: false } }),
      })),
      series: spec.panels.map((_, index) => ({
        type: 'bar',
        silent: true,
        xAxisIndex: index,
        yAxisIndex: index,
        barWidth: 20,
        data: spec.bars.map(({ tone, values }) => ({
          value: values[index] ?? 0,
          itemStyle: { color: palette[tone] },
          label: valueLabel(values[index] === undefined ? 'not measured' : formatNumber(values[index]), tone, palette),
        })),
      })),
    },
  );
}

export type ChartLine = {
  readonly name: string;
  readonly tone: ColorRole;
  readonly isDashed?: boolean;
  readonly values: readonly (number | undefined)[];
};

/** Draws lines over a few positions on the horizontal axis, with the name of each line at its end. */
export function lineChart(
  spec: {
    readonly title: string;
    readonly along: Axis & { readonly at: readonly number[] };
    readonly axis: Axis;
    readonly lines: readonly ChartLine[];
  },
  theme: ThemeName,
): string {
  const palette = palettes[theme];
  return renderSvg(
    { theme, title: spec.title, height: 360 },
    {
      title: chartTitle(spec.title, palette),
      grid: { left: 76, right: 226, top: 52, bottom: 58 },
      xAxis: {
        type: 'category',
        boundaryGap: false,
        data: spec.along.at.map((at) => at.toLocaleString('en')),
        axisTick: { show: false },
        axisLine: { lineStyle: { color: palette.muted } },
        axisLabel: { color: palette.muted, fontSize: 12, margin: 10 },
        ...axisNameBelow(spec.along.name, 32, palette),
      },
      yAxis: {
        ...valueAxisOf(spec.axis, palette),
        name: spec.axis.name,
        nameLocation: 'middle',
        nameGap: 54,
        nameTextStyle: { color: palette.muted, fontSize: 12 },
      },
      series: spec.lines.map(({ name, tone, isDashed, values }) => ({
        type: 'line',
        silent: true,
        data: values.map((value) => value ?? '-'),
        symbol: lineSymbols[tone],
        symbolSize: isCarillon(tone) ? 9 : 8,
        z: isCarillon(tone) ? 3 : 2,
        itemStyle: { color: palette[tone] },
        lineStyle: { color: palette[tone], width: isCarillon(tone) ? 3.5 : 1.8, type: isDashed ? 'dashed' : 'solid' },
        endLabel: {
          show: true,
          distance: 10,
          color: palette[tone],
          fontSize: 13,
          lineHeight: 18,
          fontWeight: isCarillon(tone) ? 'bold' : 'normal',
          formatter: `${name}: ${formatNumber(values.findLast((value) => value !== undefined) ?? Number.NaN)}`,
        },
        labelLayout: { moveOverlap: 'shiftY' },
      })),
    },
  );
}

export type BeforeAndAfter = {
  readonly name: string;
  readonly tone: ColorRole;
  readonly before: number;
  readonly after: number;
};

/** Draws one line per system from the value before to the value after, on a logarithmic axis. */
export function beforeAfterChart(
  spec: { readonly title: string; readonly axis: Axis; readonly changes: readonly BeforeAndAfter[] },
  theme: ThemeName,
): string {
  const palette = palettes[theme];
  return renderSvg(
    { theme, title: spec.title, height: 108 + spec.changes.length * 40 },
    {
      title: chartTitle(spec.title, palette),
      grid: { left: 184, right: 140, top: 44, bottom: 58 },
      xAxis: {
        ...valueAxisOf({ ...spec.axis, isLogarithmic: true }, palette),
        ...axisNameBelow(spec.axis.name, 32, palette),
      },
      yAxis: nameAxis(spec.changes, palette),
      series: spec.changes.map(({ name, tone, before, after }) => ({
        type: 'line',
        silent: true,
        lineStyle: { color: palette[tone], width: 4 },
        data: [
          {
            value: [before, name],
            symbol: 'circle',
            symbolSize: 14,
            itemStyle: { color: palette.background, borderColor: palette[tone], borderWidth: 3 },
          },
          {
            value: [after, name],
            symbol: 'circle',
            symbolSize: 10,
            itemStyle: { color: palette[tone] },
            label: valueLabel(`${formatNumber(before)} → ${formatNumber(after)}`, tone, palette),
          },
        ],
      })),
    },
  );
}

function chartTitle(text: string, palette: Palette) {
  return { text, left: 12, top: 10, textStyle: { color: palette.text, fontSize: 15, fontWeight: 'bold' as const } };
}

function panelTitle(text: string, left: number, palette: Palette) {
  return {
    text,
    left,
    top: 40,
    padding: 0,
    textStyle: { color: palette.muted, fontSize: 13, fontWeight: 'normal' as const },
  };
}

/** Returns the vertical axis with a name for each bar or line, the first at the top. */
function nameAxis(all: readonly { readonly name: string }[], palette: Palette) {
  return {
    type: 'category' as const,
    inverse: true,
    data: all.map(({ name }) => name),
    axisTick: { show: false },
    axisLine: { lineStyle: { color: palette.muted } },
    axisLabel: { color: palette.text, fontSize: 13 },
  };
}

function valueLabel(formatter: string, tone: ColorRole, palette: Palette) {
  const fontWeight = isCarillon(tone) ? ('bold' as const) : ('normal' as const);
  return {
    show: true,
    position: 'right' as const,
    distance: 8,
    color: palette.text,
    fontSize: 13,
    fontWeight,
    formatter,
  };
}

function axisNameBelow(name: string, nameGap: number, palette: Palette) {
  return { name, nameLocation: 'middle' as const, nameGap, nameTextStyle: { color: palette.muted, fontSize: 12 } };
}

function valueAxisOf({ isLogarithmic }: Axis, palette: Palette) {
  return {
    type: isLogarithmic ? ('log' as const) : ('value' as const),
    axisLabel: { color: palette.muted, fontSize: 12, formatter: (value: number) => value.toLocaleString('en') },
    splitLine: { lineStyle: { color: palette.grid } },
  };
}

/** Renders a chart without a browser. The same options give the same bytes. */
function renderSvg(
  { theme, title, height }: { readonly theme: ThemeName; readonly title: string; readonly height: number },
  option: EChartsOption,
): string {
  const chart = init(null, null, { renderer: 'svg', ssr: true, width: WIDTH, height });
  const { background } = palettes[theme];
  chart.setOption({ animation: false, backgroundColor: background, textStyle: { fontFamily: FONT }, ...option });
  const svg = chart.renderToSVGString();
  chart.dispose();
  return `${withoutCounters(svg).replace('>\n', `>\n<title>${title}</title>\n`)}\n`;
}

/** Removes hover styles, and ECharts' process-wide counters, which would make the output non-deterministic. */
function withoutCounters(svg: string): string {
  return svg
    .replaceAll(/<style >.*?<\/style>\n/gs, '')
    .replaceAll(/ (?:class|ecmeta_\w+)="[^"]*"/g, '')
    .replaceAll(/\bzr\d+-/g, '');
}

export const themes = ['light', 'dark'] as const;
export type ThemeName = (typeof themes)[number];

/**
 * Color of a bar or line. Carillon is blue and thick, other systems are thin. The colors differ in brightness and hue,
 * after Okabe and Ito.
 */
export type ColorRole = 'sqlite' | 'postgresql' | 'peer' | 'green' | 'vermilion' | 'purple' | 'ochre';

export type Palette = Readonly<Record<ColorRole | 'background' | 'text' | 'muted' | 'grid', string>>;

export const palettes: Readonly<Record<ThemeName, Palette>> = {
  light: {
    background: '#ffffff',
    text: '#1f2328',
    muted: '#59636e',
    grid: '#e4e8ec',
    sqlite: '#003f91',
    postgresql: '#2878c8',
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

const lineSymbols: Readonly<Record<ColorRole, string>> = {
  sqlite: 'circle',
  postgresql: 'circle',
  peer: 'circle',
  green: 'triangle',
  vermilion: 'rect',
  purple: 'diamond',
  ochre: 'arrow',
};

const isCarillon = (tone: ColorRole) => tone === 'sqlite' || tone === 'postgresql';
