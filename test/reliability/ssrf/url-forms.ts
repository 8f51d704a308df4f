import { isIP } from 'node:net';
import type { Resolve } from '../../../src/delivery/transport/dns-resolver.ts';
import { createSsrfGuard, parseTarget, type SsrfGuard } from '../../../src/delivery/transport/ssrf-guard.ts';
import { forbiddenTargets, names, publicTargets, smuggledTargets } from '../../corpus/targets.ts';
import type { RunResult } from '../reliability-test.ts';

/** Every form of a URL whose target is forbidden. */
export const forbiddenForms: readonly string[] = [...forbiddenTargets, ...smuggledTargets];
export const publicForms: readonly string[] = publicTargets;

const resolve: Resolve = async (name) => {
  const addresses = names[name];
  return addresses === undefined ? { failure: 'no_such_name' } : { addresses };
};

/** The guard of a service that is not on loopback, with the names of the corpus. */
export const corpusGuard: SsrfGuard = createSsrfGuard({ resolve, allow: [], loopbackAllowed: false });

/** Host of a form, as it is resolved. */
export function hostOf(form: string): string {
  return new URL(form).hostname.replace(/^\[(.*)\]$/, '$1').replace(/\.$/, '');
}

/** Addresses of a form. */
export function addressesOf(form: string): readonly string[] {
  const host = hostOf(form);
  return isIP(host) === 0 ? (names[host] ?? []) : [host];
}

/** Port of a form. */
export function portOf(form: string): number {
  const { port, protocol } = new URL(form);
  return port === '' ? (protocol === 'https:' ? 443 : 80) : Number(port);
}

/** Whether the form is rejected before its host is resolved. */
export const isMalformed = (form: string): boolean => 'fault' in parseTarget(form);

/** Checks every form with a guard: forbidden forms must be rejected, public ones allowed. */
export async function checkForms(guard: SsrfGuard, forbidden: readonly string[]): Promise<RunResult> {
  const broken: string[] = [];
  const resultFor = async (form: string) => {
    const verdict = await guard.check(new URL(form));
    return 'failure' in verdict ? verdict.failure : verdict.allowed ? 'allowed' : 'forbidden';
  };
  for (const form of forbidden) {
    const word = await resultFor(form);
    if (word !== 'forbidden') broken.push(`${JSON.stringify(form)} is ${word}`);
  }
  for (const form of publicForms) {
    const word = isMalformed(form) ? 'malformed' : await resultFor(form);
    if (word !== 'allowed') broken.push(`${JSON.stringify(form)} is public, and ${word}`);
  }
  return {
    counts: { 'forbidden forms checked': forbidden.length, 'public forms checked': publicForms.length },
    broken,
  };
}
