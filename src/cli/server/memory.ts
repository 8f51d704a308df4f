import { setFlagsFromString } from 'node:v8';

// Objects that are created while modules load live long. They would make V8 grow its young generation to 22 MiB, and V8
// never shrinks the young generation of an idle process.

/** Keeps V8's young generation at its initial size during start-up. */
export function limitYoungGeneration(): void {
  setFlagsFromString('--semi-space-growth-factor=1');
}

/** Restores V8's default growth of the young generation, for the short-lived objects of requests. */
export function restoreYoungGeneration(): void {
  setFlagsFromString('--semi-space-growth-factor=2');
}
