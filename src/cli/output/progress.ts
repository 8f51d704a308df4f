import type { Command } from 'commander';
import { type Clock, systemClock } from '../../clock.ts';
import type { TransferProgress } from '../../transfer/operator-report.ts';
import type { DatabaseFlags } from '../admin/open-database.ts';
import { type Output, stderr } from './screen.ts';

/** Flags of long-running commands. */
export type ProgressFlags = DatabaseFlags & { readonly quiet?: true };

/** Minimum interval between two updates of the bar on a terminal. */
const REDRAW_INTERVAL_MS = 100;
/** Minimum interval between two progress lines if the output is not a terminal. */
const LINE_INTERVAL_MS = 5_000;

const MAX_BAR_WIDTH = 32;

export function addProgressOption(command: Command): Command {
  return command.option('--quiet', 'Hide progress.');
}

/** Creates the progress display on standard error: a bar on a terminal, otherwise a line every few seconds. */
export function createProgressFromFlags(flags: ProgressFlags): TransferProgress {
  return flags.quiet ? silentProgress : createProgress(stderr, systemClock);
}

const silentProgress: TransferProgress = { begin: () => undefined, advance: () => undefined, end: () => undefined };

export function createProgress(output: Output, clock: Clock): TransferProgress {
  let stage = '';
  let totalRowCount = 0;
  let doneRowCount = 0;
  let startedAt = 0;
  let lastDrawnAt = 0;
  const intervalMs = output.isTTY ? REDRAW_INTERVAL_MS : LINE_INTERVAL_MS;
  const computeElapsedSeconds = () => (clock.monotonic() - startedAt) / 1_000;
  return {
    begin(stageName, rowCount) {
      [stage, totalRowCount, doneRowCount] = [stageName, rowCount, 0];
      startedAt = lastDrawnAt = clock.monotonic();
    },
    advance(rowCount) {
      doneRowCount += rowCount;
      if (clock.monotonic() - lastDrawnAt < intervalMs) return;
      lastDrawnAt = clock.monotonic();
      const textsAroundBar = formatProgressTexts({
        stage,
        doneRowCount,
        totalRowCount,
        elapsedSeconds: computeElapsedSeconds(),
      });
      if (output.isTTY)
        redrawLine(
          output,
          textsAroundBar.join(renderBar(doneRowCount, totalRowCount, computeBarWidth(output, textsAroundBar))),
        );
      else output.print(textsAroundBar.join(''));
    },
    end() {
      const line = `${stage}: ${formatCount(doneRowCount)} rows in ${formatDuration(computeElapsedSeconds())}`;
      if (output.isTTY) redrawLine(output, line, '\n');
      // A stage that ended before its first progress line needs no summary.
      else if (lastDrawnAt > startedAt) output.print(line);
    },
  };
}

/**
 * Replaces the current line of the terminal. The line is cut to the width of the terminal, since a wrapped line cannot
 * be replaced.
 */
function redrawLine(output: Output, line: string, lineEnd?: '\n'): void {
  output.redraw(line.slice(0, (output.columns ?? 80) - 1), lineEnd);
}

type ProgressState = {
  readonly stage: string;
  readonly doneRowCount: number;
  readonly totalRowCount: number;
  readonly elapsedSeconds: number;
};

/** Returns the texts before and after the progress bar. */
function formatProgressTexts({ stage, doneRowCount, totalRowCount, elapsedSeconds }: ProgressState): [string, string] {
  const rowsPerSecond = elapsedSeconds > 0 ? doneRowCount / elapsedSeconds : 0;
  if (totalRowCount === 0)
    return [`${stage}: `, `${formatCount(doneRowCount)} rows, ${formatCount(rowsPerSecond)} rows/s`];
  const percentText = String(Math.floor(Math.min(doneRowCount / totalRowCount, 1) * 100)).padStart(3);
  const remainingText =
    rowsPerSecond > 0 ? `, ${formatDuration(Math.max(totalRowCount - doneRowCount, 0) / rowsPerSecond)} left` : '';
  return [
    `${stage}: ${percentText} % `,
    `${formatCount(doneRowCount)} of ${formatCount(totalRowCount)} rows, ${formatCount(rowsPerSecond)} rows/s${remainingText}`,
  ];
}

/** Returns the width of the progress bar: the space that the texts leave in the terminal's line, up to a maximum. */
function computeBarWidth({ columns = 80 }: Output, textsAroundBar: readonly string[]): number {
  return Math.min(MAX_BAR_WIDTH, columns - 1 - textsAroundBar.join('').length - 1);
}

function renderBar(doneRowCount: number, totalRowCount: number, width: number): string {
  if (totalRowCount === 0 || width < 4) return '';
  const filledWidth = Math.round(Math.min(doneRowCount / totalRowCount, 1) * width);
  return `${'█'.repeat(filledWidth)}${'░'.repeat(width - filledWidth)} `;
}

/** Formats a number with thousands separators: 1234567 as 1,234,567. */
export function formatCount(count: number): string {
  return Math.round(count).toLocaleString('en');
}

function formatDuration(seconds: number): string {
  if (seconds < 10) return `${seconds.toFixed(1)} s`;
  if (seconds < 60) return `${Math.round(seconds)} s`;
  const minutes = Math.floor(seconds / 60);
  if (minutes < 60) return `${minutes} min ${String(Math.floor(seconds % 60)).padStart(2, '0')} s`;
  return `${Math.floor(minutes / 60)} h ${String(minutes % 60).padStart(2, '0')} min`;
}
