import { seededRandom } from '../../kit/random.ts';
import type { ReliabilityTest, Run, RunResult } from '../reliability-test.ts';
import { checkForms, corpusGuard, forbiddenForms } from './cases.ts';
import { deliverToLoopback, rebind } from './loopback.ts';
import { checkEmbeddings, compareWithOracle, guardChecks } from './oracle.ts';
import { inNamespace, lacksForNamespace } from './sandbox.ts';

/** Numbers of random addresses, embeddings and rebinding names in a smoke run. */
const QUICK = { addresses: 10_000, embeddings: 5_000, names: 5 };
/** Numbers of random addresses, embeddings and rebinding names in a full run. */
const LONG = { addresses: 1_000_000, embeddings: 100_000, names: 100 };

/**
 * Reliability test R8: no notification goes to a forbidden address. The full run uses the whole corpus, and a
 * service in a namespace with listeners on every address. Shorter runs need no namespace.
 */
export const ssrf: ReliabilityTest = {
  id: 'R8',
  name: 'ssrf',
  title: 'C11 C17 targets that lead to forbidden addresses, in every spelling',
  promise:
    'no connection to a forbidden address, every public target is delivered, the guard agrees with the address registries',
  unit: 'forbidden targets',
  smoke: 400,
  full: forbiddenForms.length,
  lacks: lacksForNamespace,
  execute,
};

async function execute({ count, seed, context, log }: Run): Promise<RunResult> {
  const whole = count >= forbiddenForms.length;
  const random = seededRandom(seed);
  const { addresses, embeddings, names } = whole ? LONG : QUICK;
  const forms = whole ? forbiddenForms : sample(forbiddenForms, count, (end) => random.below(end));
  const checkLiteral = guardChecks['written out'];
  const parts = [
    await compareWithOracle(guardChecks, random.fork(), addresses),
    await checkEmbeddings(checkLiteral, seed, embeddings),
    await checkForms(corpusGuard, forms),
    await deliverToLoopback(context, forms),
    await rebind(context, random.fork(), names),
    ...(whole ? [await inNamespace(seed, log)] : []),
  ];
  return {
    counts: Object.assign({}, ...parts.map((part) => part.counts)),
    broken: parts.flatMap((part) => part.broken),
  };
}

/** Returns a random sample without repetition. */
function sample<T>(of: readonly T[], count: number, below: (end: number) => number): T[] {
  const left = [...of];
  return Array.from({ length: Math.min(count, of.length) }, () => left.splice(below(left.length), 1)).flat();
}
