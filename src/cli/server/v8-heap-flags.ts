import { setFlagsFromString } from 'node:v8';

// Whatever is loaded at a start stays. Room for what comes and goes would grow by it to 22 MiB and never shrink again,
// while nobody asks for anything.

/** Keeps V8's room for what is young as small as it begins, while a service starts. */
export function holdYoungSpace(): void {
  setFlagsFromString('--semi-space-growth-factor=1');
}

/** Lets it grow as V8 would have: calls make much that comes and goes. */
export function releaseYoungSpace(): void {
  setFlagsFromString('--semi-space-growth-factor=2');
}
