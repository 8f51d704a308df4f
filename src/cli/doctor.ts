import type { Command } from 'commander';
import { loadConfig } from '../config/load.ts';
import { createGuard, explain, parseTarget } from '../delivery/guard.ts';
import { createResolver } from '../delivery/resolver.ts';
import { isLoopback } from '../http/health.ts';
import { Refusal } from './refusal.ts';

/** `carillon doctor …`: says what is wrong and what to do. */
export function addDoctor(program: Command): void {
  const doctor = program.command('doctor').description('Say what is wrong, and what to do about it.');
  doctor
    .command('target')
    .description(
      'Whether an address may be notified; if not, which address it leads to and the exact setting that would allow it.',
    )
    .argument('<url>', 'The target.')
    .action(async (url: string) => {
      const parsed = parseTarget(url);
      if ('fault' in parsed) throw new Refusal([`The target ${parsed.fault}.`]);
      const loaded = loadConfig({ flags: {}, environment: process.env });
      if ('faults' in loaded) throw new Refusal(loaded.faults);
      const { host, baseUrl, allowTargets } = loaded.config;
      const loopbackAllowed = isLoopback(host) && (baseUrl === undefined || isLoopback(new URL(baseUrl).hostname));
      const verdict = await createGuard({ resolve: createResolver(), allow: allowTargets, loopbackAllowed }).judge(
        parsed.url,
      );
      if ('failure' in verdict) throw new Refusal([FAILURES[verdict.failure]]);
      // No full stop: the setting stands last, and is there to be copied.
      if (!verdict.allowed) throw new Refusal([`forbidden: ${explain(verdict)}`]);
      process.stdout.write(`allowed: ${verdict.addresses.map(({ address }) => address).join(', ')}\n`);
    });
}

const FAILURES = {
  no_such_name: 'The name does not exist, or has no address. A hook may name it; each attempt fails until it resolves.',
  resolver_silent:
    'No resolver answered. Check the resolvers of this machine; nothing counts against the target meanwhile.',
} as const;
