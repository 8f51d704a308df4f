import { useState } from 'preact/hooks';
import type { Overview } from '../../../../packages/sdk/src/stats.ts';
import { parseTimestamp } from '../../components/timestamp.tsx';

const MINUTE_MS = 60_000;
const SHOWN_MINUTE_COUNT = 60;
const BAR_WIDTH = 10;
const CHART_HEIGHT = 100;

/** Start of a minute, with the number of delivered and failed attempts in it. */
type MinuteBar = { readonly minuteStartMs: number; readonly delivered: number; readonly failed: number };

/** Returns one bar for each of the last 60 minutes, oldest first, also for minutes without attempts. */
function buildMinuteBars({ minutes }: Overview, now: number): readonly MinuteBar[] {
  const countsByMinute = new Map(
    minutes.map((minuteCounts) => [parseTimestamp(minuteCounts.minute)?.getTime(), minuteCounts]),
  );
  const newestMinuteMs =
    parseTimestamp(minutes.at(-1)?.minute ?? '')?.getTime() || Math.floor(now / MINUTE_MS) * MINUTE_MS;
  return Array.from({ length: SHOWN_MINUTE_COUNT }, (_, index) => {
    const minuteStartMs = newestMinuteMs - (SHOWN_MINUTE_COUNT - 1 - index) * MINUTE_MS;
    const { delivered = '0', failed = '0' } = countsByMinute.get(minuteStartMs) ?? {};
    return { minuteStartMs, delivered: Number(delivered), failed: Number(failed) };
  });
}

const formatClockTime = (timeMs: number) =>
  new Date(timeMs).toLocaleTimeString('en-GB', { hour: '2-digit', minute: '2-digit' });

/** Returns the upper end of the scale: the highest count, rounded up to 1, 2 or 5 times a power of ten. */
function roundUpToScaleMax(maxCount: number): number {
  const powerOfTen = 10 ** Math.floor(Math.log10(Math.max(1, maxCount)));
  return (
    [1, 2, 5, 10].map((factor) => factor * powerOfTen).find((candidateMax) => candidateMax >= maxCount) ?? maxCount
  );
}

/** Bar chart of deliveries per minute; screen readers get a table instead. */
export function MinutesChart({ overview }: { readonly overview: Overview }) {
  const [hoveredIndex, setHoveredIndex] = useState<number>();
  const bars = buildMinuteBars(overview, Date.now());
  const scaleMax = roundUpToScaleMax(Math.max(1, ...bars.map(({ delivered, failed }) => delivered + failed)));
  const hoveredBar = hoveredIndex === undefined ? undefined : bars[hoveredIndex];
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
              {formatClockTime(hoveredBar.minuteStartMs)}: {hoveredBar.delivered} delivered, {hoveredBar.failed} failed
            </span>
          )}
        </span>
      </div>
      <div class="chart" aria-hidden="true">
        <span class="scale small soft number">{scaleMax}</span>
        <span class="scale small soft number low">0</span>
        <svg
          viewBox={`0 0 ${SHOWN_MINUTE_COUNT * BAR_WIDTH} ${CHART_HEIGHT}`}
          preserveAspectRatio="none"
          aria-hidden="true"
          onPointerLeave={() => setHoveredIndex(undefined)}
        >
          {[0, 0.5, 1].map((gridLineFraction) => (
            <rect
              key={gridLineFraction}
              class="grid"
              x={0}
              y={Math.min(CHART_HEIGHT - 0.6, gridLineFraction * CHART_HEIGHT)}
              width={SHOWN_MINUTE_COUNT * BAR_WIDTH}
              height={0.6}
            />
          ))}
          {bars.map(({ minuteStartMs, delivered, failed }, index) => {
            const deliveredHeight = (delivered / scaleMax) * CHART_HEIGHT;
            const failedHeight = (failed / scaleMax) * CHART_HEIGHT;
            const barX = index * BAR_WIDTH + 1.5;
            return (
              <g
                key={minuteStartMs}
                class={index === hoveredIndex ? 'pointed' : ''}
                onPointerEnter={() => setHoveredIndex(index)}
              >
                <rect class="whole" x={index * BAR_WIDTH} y={0} width={BAR_WIDTH} height={CHART_HEIGHT} />
                <rect
                  class="delivered"
                  x={barX}
                  y={CHART_HEIGHT - deliveredHeight}
                  width={BAR_WIDTH - 3}
                  height={deliveredHeight}
                />
                <rect
                  class="failed"
                  x={barX}
                  y={CHART_HEIGHT - deliveredHeight - failedHeight}
                  width={BAR_WIDTH - 3}
                  height={failedHeight}
                />
              </g>
            );
          })}
        </svg>
        <div class="times small soft number">
          {[0, 15, 30, 45].map((index) => (
            <span key={index}>{formatClockTime(bars[index]?.minuteStartMs ?? 0)}</span>
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
            {bars.map(({ minuteStartMs, delivered, failed }) => (
              <tr key={minuteStartMs}>
                <th scope="row">{formatClockTime(minuteStartMs)}</th>
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
