/** What was delivered and what failed, in one stretch of time. */
export type Bar = { readonly label: string; readonly delivered: number; readonly failed: number };

const STEP = 5;

type SparkProps = { readonly bars: readonly Bar[]; readonly label: string; readonly height?: number };

/** A row of bars, oldest first; what failed stands on what was delivered. */
export function Spark({ bars, label, height = 24 }: SparkProps) {
  const most = Math.max(1, ...bars.map(({ delivered, failed }) => delivered + failed));
  const scaled = (count: number) => (count === 0 ? 0 : Math.max(1.5, (count / most) * height));
  return (
    <svg
      class="spark"
      role="img"
      aria-label={label}
      width={bars.length * STEP}
      height={height}
      viewBox={`0 0 ${bars.length * STEP} ${height}`}
    >
      {bars.map((bar, index) => {
        const good = scaled(bar.delivered);
        const bad = scaled(bar.failed);
        return (
          <g key={bar.label}>
            <title>{`${bar.label}: ${bar.delivered} delivered, ${bar.failed} failed`}</title>
            <rect class="ground" x={index * STEP} y={height - 1} width={STEP - 1.5} height={1} />
            <rect class="delivered" x={index * STEP} y={height - good} width={STEP - 1.5} height={good} />
            <rect class="failed" x={index * STEP} y={height - good - bad} width={STEP - 1.5} height={bad} />
          </g>
        );
      })}
    </svg>
  );
}
