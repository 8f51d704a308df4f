#!/usr/bin/env node
import { holdYoungSpace } from './cli/server/v8-heap-flags.ts';

// Before anything is loaded there is nothing to stop: `serve` takes these over once there is.
const atOnce = () => process.exit(0);
const isService = process.argv[2] === 'serve';
if (isService) {
  process.on('SIGTERM', atOnce).on('SIGINT', atOnce);
  holdYoungSpace();
}

const { run } = await import('./cli/commands.ts');
await run(process.argv);
