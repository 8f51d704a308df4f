#!/usr/bin/env node
import { limitYoungGeneration } from './cli/server/memory.ts';

// Until `serve` installs its own signal handlers, there is nothing to shut down, so signals exit immediately.
const exitNow = () => process.exit(0);
const isService = process.argv[2] === 'serve';
if (isService) {
  process.on('SIGTERM', exitNow).on('SIGINT', exitNow);
  limitYoungGeneration();
}

const { runCommandLine } = await import('./cli/commands.ts');
await runCommandLine(process.argv);
