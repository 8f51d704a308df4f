import type { Command } from 'commander';
import { type Clock, systemClock } from '../../clock.ts';
import type { TransferProgress } from '../../transfer/progress.ts';
import type { DatabaseFlags } from '../admin/open-database.ts';
import { type Output, stderr } from './screen.ts';

/** Flags of long-running commands. */
export type ProgressFlags = DatabaseFlags & { readonly quiet?: true };

const REDRAW_INTERVAL_MS = 100;
const LINE_INTERVAL_MS = 5_000;

const MAX_BAR_WIDTH = 32;

export function addProgressOption(command: Command): Command {
  return command.option('--quiet', 'Hide progress.');
}

/** Creates the progress display on standard error: a bar on a terminal, otherwise a line every few seconds. */
export function progressFromFlags(flags: ProgressFlags): TransferProgress {
  return flags.quiet ? silentProgress : createProgress(stderr, systemClock);
}

const silentProgress: TransferProgress = { begin: () => undefined, advance: () => undefined, end: () => undefined };

export function createProgress(screen: Output, clock: Clock): TransferProgress {
  let stage = '';
  let totalRows = 0;
  let doneRows = 0;
  let startedAt = 0;
  let lastDrawnAt = 0;
  const intervalMs = screen.isTTY ? REDRAW_INTERVAL_MS : LINE_INTERVAL_MS;
  const elapsedSeconds = () => (clock.monotonic() - startedAt) / 1_000;
  return {
    begin(name, rows) {
      [stage, totalRows, doneRows] = [name, rows, 0];
      startedAt = lastDrawnAt = clock.monotonic();
    },
    advance(rows) {
      doneRows += rows;
      if (clock.monotonic() - lastDrawnAt < intervalMs) return;
      lastDrawnAt = clock.monotonic();
      const texts = formatProgressTexts({ stage, done: doneRows, total: totalRows, seconds: elapsedSeconds() });
      if (screen.isTTY) redrawLine(screen, texts.join(renderBar(doneRows, totalRows, computeBarWidth(screen, texts))));
      else screen.print(texts.join(''));
    },
    end() {
      const line = `${stage}: ${formatCount(doneRows)} rows in ${formatDuration(elapsedSeconds())}`;
      if (screen.isTTY) redrawLine(screen, line, '\n');
      // A stage that ended before its first progress line needs no summary.
      else if (lastDrawnAt > startedAt) screen.print(line);
    },
  };
}

/**
 * Replaces the current line of the terminal. The line is cut to the width of the terminal, since a wrapped line cannot
 * be replaced.
 */
function redrawLine(screen: Output, line: string, end?: '\n'): void {
  screen.redraw(line.slice(0, (screen.columns ?? 80) - 1), end);
}

type ProgressState = {
  readonly stage: string;
  readonly done: number;
  readonly total: number;
  readonly seconds: number;
};

/** Returns the texts before and after the progress bar. */
function formatProgressTexts({ stage, done, total, seconds }: ProgressState): [string, string] {
  const rowsPerSecond = seconds > 0 ? done / seconds : 0;
  if (total === 0) return [`${stage}: `, `${formatCount(done)} rows, ${formatCount(rowsPerSecond)} rows/s`];
  const percent = String(Math.floor(Math.min(done / total, 1) * 100)).padStart(3);
  const remainingText = rowsPerSecond > 0 ? `, ${formatDuration(Math.max(total - done, 0) / rowsPerSecond)} left` : '';
  return [
    `${stage}: ${percent} % `,
    `${formatCount(done)} of ${formatCount(total)} rows, ${formatCount(rowsPerSecond)} rows/s${remainingText}`,
  ];
}

/** Returns the width of the progress bar: the space that the texts leave in the terminal's line, up to a maximum. */
function computeBarWidth({ columns = 80 }: Output, texts: readonly string[]): number {
  return Math.min(MAX_BAR_WIDTH, columns - 1 - texts.join('').length - 1);
}

function renderBar(done: number, total: number, width: number): string {
  if (total === 0 || width < 4) return '';
  const filledWidth = Math.round(Math.min(done / total, 1) * width);
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
