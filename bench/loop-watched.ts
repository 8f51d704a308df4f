import { writeFileSync } from 'node:fs';

// Preloaded into a service that is watched: SIGUSR2 writes what happened since the last one into the file WATCHED_BY.
// The loop is watched in every turn. What counts is the time that its thread worked: on a busy machine, others take the
// processor away in the middle of a turn.

const RSS_INTERVAL_MS = 5;

let longestUs = 0;
let last = threadUs();
let peak = 0;

function threadUs(): number {
  const { user, system } = process.threadCpuUsage();
  return user + system;
}

function watch(): void {
  const now = threadUs();
  longestUs = Math.max(longestUs, now - last);
  last = now;
  setImmediate(watch).unref();
}
watch();

setInterval(() => {
  peak = Math.max(peak, process.memoryUsage.rss());
}, RSS_INTERVAL_MS).unref();

process.on('SIGUSR2', () => {
  const file = process.env.WATCHED_BY;
  if (file === undefined) return;
  const rss = process.memoryUsage.rss();
  writeFileSync(file, JSON.stringify({ longestMs: longestUs / 1_000, peak: Math.max(peak, rss), rss }));
  longestUs = 0;
  peak = 0;
});
