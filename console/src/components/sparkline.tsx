/** Number of delivered and failed attempts in one time bucket. */
export type SparklineBar = { readonly label: string; readonly delivered: number; readonly failed: number };

const BAR_WIDTH_PX = 5;

type SparklineProps = { readonly bars: readonly SparklineBar[]; readonly label: string; readonly height?: number };

/** Sparkline of stacked bars, oldest first: delivered attempts below, failed attempts above. */
export function Sparkline({ bars, label, height = 24 }: SparklineProps) {
  const maxAttempts = Math.max(1, ...bars.map(({ delivered, failed }) => delivered + failed));
  const toBarHeight = (count: number) => (count === 0 ? 0 : Math.max(1.5, (count / maxAttempts) * height));
  return (
    <svg
      class="spark"
      role="img"
      aria-label={label}
      width={bars.length * BAR_WIDTH_PX}
      height={height}
      viewBox={`0 0 ${bars.length * BAR_WIDTH_PX} ${height}`}
    >
      {bars.map((bar, index) => {
        const deliveredHeight = toBarHeight(bar.delivered);
        const failedHeight = toBarHeight(bar.failed);
        return (
          <g key={bar.label}>
            <title>{`${bar.label}: ${bar.delivered} delivered, ${bar.failed} failed`}</title>
            <rect class="ground" x={index * BAR_WIDTH_PX} y={height - 1} width={BAR_WIDTH_PX - 1.5} height={1} />
            <rect
              class="delivered"
              x={index * BAR_WIDTH_PX}
              y={height - deliveredHeight}
              width={BAR_WIDTH_PX - 1.5}
              height={deliveredHeight}
            />
            <rect
              class="failed"
              x={index * BAR_WIDTH_PX}
              y={height - deliveredHeight - failedHeight}
              width={BAR_WIDTH_PX - 1.5}
              height={failedHeight}
            />
          </g>
        );
      })}
    </svg>
  );
}
