#!/usr/bin/env node
import { run } from './cli/commands.ts';

await run(process.argv);
