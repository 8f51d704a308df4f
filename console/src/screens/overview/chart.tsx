import { useState } from 'preact/hooks';
import type { Overview } from '../../../../packages/sdk/src/stats.ts';
import { parseTimestamp } from '../../components/timestamp.tsx';

const MINUTE_MS = 60_000;
const MINUTE_COUNT = 60;
const BAR_WIDTH = 10;
const HEIGHT = 100;

type MinuteBar = { readonly at: number; readonly delivered: number; readonly failed: number };

/** Returns one bar for each of the last 60 minutes, oldest first, also for minutes without attempts. */
function minuteBars({ minutes }: Overview, now: number): readonly MinuteBar[] {
  const byMinute = new Map(minutes.map((one) => [parseTimestamp(one.minute)?.getTime(), one]));
  const newest = parseTimestamp(minutes.at(-1)?.minute ?? '')?.getTime() || Math.floor(now / MINUTE_MS) * MINUTE_MS;
  return Array.from({ length: MINUTE_COUNT }, (_, index) => {
    const at = newest - (MINUTE_COUNT - 1 - index) * MINUTE_MS;
    const { delivered = '0', failed = '0' } = byMinute.get(at) ?? {};
    return { at, delivered: Number(delivered), failed: Number(failed) };
  });
}

const formatClock = (at: number) => new Date(at).toLocaleTimeString('en-GB', { hour: '2-digit', minute: '2-digit' });

/** Returns the upper end of the scale: `max` rounded up to 1, 2 or 5 times a power of ten. */
function roundUpScale(max: number): number {
  const power = 10 ** Math.floor(Math.log10(Math.max(1, max)));
  return [1, 2, 5, 10].map((factor) => factor * power).find((end) => end >= max) ?? max;
}

/** Bar chart of deliveries per minute; screen readers get a table instead. */
export function MinutesChart({ overview }: { readonly overview: Overview }) {
  const [hovered, setHovered] = useState<number>();
  const bars = minuteBars(overview, Date.now());
  const scaleMax = roundUpScale(Math.max(1, ...bars.map(({ delivered, failed }) => delivered + failed)));
  const hoveredBar = hovered === undefined ? undefined : bars[hovered];
  return (
    <>
      <div class="row spread">
        <h2>Deliveries per minute</h2>
        <span class="row small soft" aria-hidden="true">
          {hoveredBar === undefined ? (
            <>
              <span class="bar-key delivered">delivered</span>
              <span class="bar-key failed">failed</span>
            </>
          ) : (
            <span class="number">
              {formatClock(hoveredBar.at)}: {hoveredBar.delivered} delivered, {hoveredBar.failed} failed
            </span>
          )}
        </span>
      </div>
      <div class="chart" aria-hidden="true">
        <span class="scale small soft number">{scaleMax}</span>
        <span class="scale small soft number low">0</span>
        <svg
          viewBox={`0 0 ${MINUTE_COUNT * BAR_WIDTH} ${HEIGHT}`}
          preserveAspectRatio="none"
          aria-hidden="true"
          onPointerLeave={() => setHovered(undefined)}
        >
          {[0, 0.5, 1].map((part) => (
            <rect
              key={part}
              class="grid"
              x={0}
              y={Math.min(HEIGHT - 0.6, part * HEIGHT)}
              width={MINUTE_COUNT * BAR_WIDTH}
              height={0.6}
            />
          ))}
          {bars.map(({ at, delivered, failed }, index) => {
            const good = (delivered / scaleMax) * HEIGHT;
            const bad = (failed / scaleMax) * HEIGHT;
            const x = index * BAR_WIDTH + 1.5;
            return (
              <g key={at} class={index === hovered ? 'pointed' : ''} onPointerEnter={() => setHovered(index)}>
                <rect class="whole" x={index * BAR_WIDTH} y={0} width={BAR_WIDTH} height={HEIGHT} />
                <rect class="delivered" x={x} y={HEIGHT - good} width={BAR_WIDTH - 3} height={good} />
                <rect class="failed" x={x} y={HEIGHT - good - bad} width={BAR_WIDTH - 3} height={bad} />
              </g>
            );
          })}
        </svg>
        <div class="times small soft number">
          {[0, 15, 30, 45].map((index) => (
            <span key={index}>{formatClock(bars[index]?.at ?? 0)}</span>
          ))}
          <span>now</span>
        </div>
      </div>
      <div class="hidden-text">
        <table>
          <caption>Deliveries per minute of the last hour</caption>
          <thead>
            <tr>
              <th scope="col">Minute</th>
              <th scope="col">Delivered</th>
              <th scope="col">Failed</th>
            </tr>
          </thead>
          <tbody>
            {bars.map(({ at, delivered, failed }) => (
              <tr key={at}>
                <th scope="row">{formatClock(at)}</th>
                <td>{delivered}</td>
                <td>{failed}</td>
              </tr>
            ))}
          </tbody>
        </table>
      </div>
    </>
  );
}
