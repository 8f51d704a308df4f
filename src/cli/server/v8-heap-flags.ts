import { setFlagsFromString } from 'node:v8';

// Modules loaded at start-up survive. They would grow V8's young generation to 22 MiB, and it never shrinks in an idle
// process.

/** Keeps V8's young generation at its initial size during start-up. */
export function holdYoungSpace(): void {
  setFlagsFromString('--semi-space-growth-factor=1');
}

/** Restores V8's default growth of the young generation, for the short-lived objects of requests. */
export function releaseYoungSpace(): void {
  setFlagsFromString('--semi-space-growth-factor=2');
}
