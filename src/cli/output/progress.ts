import type { Command } from 'commander';
import { type Clock, systemClock } from '../../clock.ts';
import type { Progress } from '../../transfer/progress.ts';
import type { DatabaseFlags } from '../admin/open-database.ts';
import { type Screen, stderr } from './screen.ts';

/** The options of every command that may take long. */
export type ProgressFlags = DatabaseFlags & { readonly quiet?: true };

const REDRAW_MS = 100;
const LINE_MS = 5_000;

/** A bar longer than this says no more. */
const MAX_BAR_WIDTH = 32;

export function addProgressOption(command: Command): Command {
  return command.option('--quiet', 'Show no progress.');
}

/** Shows how far it is on standard error: a bar on a terminal, elsewhere a line every few seconds. */
export function progressOf(flags: ProgressFlags): Progress {
  return flags.quiet ? silent : showOn(stderr, systemClock);
}

const silent: Progress = { begin: () => undefined, advance: () => undefined, end: () => undefined };

export function showOn(screen: Screen, clock: Clock): Progress {
  let stage = '';
  let total = 0;
  let done = 0;
  let begunAt = 0;
  let shownAt = 0;
  const everyMs = screen.isTTY ? REDRAW_MS : LINE_MS;
  const seconds = () => (clock.monotonic() - begunAt) / 1_000;
  return {
    begin(name, rows) {
      [stage, total, done] = [name, rows, 0];
      begunAt = shownAt = clock.monotonic();
    },
    advance(rows) {
      done += rows;
      if (clock.monotonic() - shownAt < everyMs) return;
      shownAt = clock.monotonic();
      const words = underWay({ stage, done, total, seconds: seconds() });
      if (screen.isTTY) draw(screen, words.join(bar(done, total, room(screen, words))));
      else screen.print(words.join(''));
    },
    end() {
      const line = `${stage}: ${grouped(done)} rows in ${duration(seconds())}`;
      if (screen.isTTY) draw(screen, line, '\n');
      // What was over before its first line was due needs none.
      else if (shownAt > begunAt) screen.print(line);
    },
  };
}

/** Over what stood in this line of the terminal; what is longer than it would not go away again. */
function draw(screen: Screen, line: string, end?: '\n'): void {
  screen.redraw(line.slice(0, (screen.columns ?? 80) - 1), end);
}

type Standing = {
  readonly stage: string;
  readonly done: number;
  readonly total: number;
  readonly seconds: number;
};

/** What stands before the bar and what behind it. */
function underWay({ stage, done, total, seconds }: Standing): [string, string] {
  const pace = seconds > 0 ? done / seconds : 0;
  if (total === 0) return [`${stage}: `, `${grouped(done)} rows, ${grouped(pace)} rows/s`];
  const percent = String(Math.floor(Math.min(done / total, 1) * 100)).padStart(3);
  const left = pace > 0 ? `, ${duration(Math.max(total - done, 0) / pace)} left` : '';
  return [`${stage}: ${percent} % `, `${grouped(done)} of ${grouped(total)} rows, ${grouped(pace)} rows/s${left}`];
}

/** How many characters of a terminal's line are left for the bar. */
function room({ columns = 80 }: Screen, words: readonly string[]): number {
  return Math.min(MAX_BAR_WIDTH, columns - 1 - words.join('').length - 1);
}

function bar(done: number, total: number, width: number): string {
  if (total === 0 || width < 4) return '';
  const full = Math.round(Math.min(done / total, 1) * width);
  return `${'█'.repeat(full)}${'░'.repeat(width - full)} `;
}

/** 1234567 as 1,234,567. */
export function grouped(count: number): string {
  return Math.round(count).toLocaleString('en');
}

function duration(seconds: number): string {
  if (seconds < 10) return `${seconds.toFixed(1)} s`;
  if (seconds < 60) return `${Math.round(seconds)} s`;
  const minutes = Math.floor(seconds / 60);
  if (minutes < 60) return `${minutes} min ${String(Math.floor(seconds % 60)).padStart(2, '0')} s`;
  return `${Math.floor(minutes / 60)} h ${String(minutes % 60).padStart(2, '0')} min`;
}
