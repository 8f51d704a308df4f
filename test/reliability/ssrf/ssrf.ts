import { seededRandom } from '../../../packages/chaos-receiver/src/random.ts';
import type { ReliabilityTest, RunParameters, RunResult } from '../reliability-test.ts';
import { checkForms, corpusGuard, forbiddenForms } from './cases.ts';
import { deliverToLoopback, deliverToRebindingNames } from './loopback.ts';
import { checkEmbeddings, compareWithOracle, guardChecks } from './oracle.ts';
import { missingNamespaceRequirement, runInNamespace } from './sandbox.ts';

/** Numbers of random addresses, embeddings and rebinding names in a quick run. */
const QUICK_COUNTS = { addresses: 10_000, embeddings: 5_000, names: 5 };
/** Numbers of random addresses, embeddings and rebinding names in a full run. */
const FULL_COUNTS = { addresses: 1_000_000, embeddings: 100_000, names: 100 };

/**
 * Reliability test R8: no notification goes to a forbidden address. The full run uses the whole corpus, and a
 * service in a namespace with listeners on every address. Shorter runs need no namespace.
 */
export const ssrf: ReliabilityTest = {
  id: 'R8',
  name: 'ssrf',
  title: 'C11 C17 hooks have targets that lead to forbidden addresses, in every spelling',
  promise:
    'no connection to a forbidden address is opened, every public target gets its webhooks, the SSRF guard agrees with the address registries',
  unit: 'forbidden targets',
  quick: 400,
  full: forbiddenForms.length,
  lacks: missingNamespaceRequirement,
  execute,
};

async function execute({ count, seed, context, log }: RunParameters): Promise<RunResult> {
  const isFullRun = count >= forbiddenForms.length;
  const random = seededRandom(seed);
  const { addresses, embeddings, names } = isFullRun ? FULL_COUNTS : QUICK_COUNTS;
  const forms = isFullRun ? forbiddenForms : sample(forbiddenForms, count, (end) => random.integerBelow(end));
  const checkLiteral = guardChecks['written out'];
  const parts = [
    await compareWithOracle(guardChecks, random.fork(), addresses),
    await checkEmbeddings(checkLiteral, seed, embeddings),
    await checkForms(corpusGuard, forms),
    await deliverToLoopback(context, forms),
    await deliverToRebindingNames(context, random.fork(), names),
    ...(isFullRun ? [await runInNamespace(seed, log)] : []),
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
