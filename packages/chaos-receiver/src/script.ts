import type { Behaviour } from './behaviour.ts';
import { behaviourBySlug, behaviours } from './behaviours.ts';
import type { SeededRandom } from './random.ts';

/** One step of a script, for `times` connections. Each connection gets a random one of the behaviours. */
type ScriptStep = { readonly behaviours: readonly Behaviour[]; readonly times: number };

/** A script: `next` returns the behaviour of the next connection. */
export type Script = { next(): Behaviour };

const RANDOM = 'random';
const MAX_TIMES = 1_000_000;

/**
 * Parses a script such as `503*2,200`. Commas separate steps. `*2` repeats a step twice, and `*` repeats it forever.
 * `200|503|hang` picks one of these behaviours at random, `random` picks one of `all`. After its last step, a script
 * starts again.
 */
export function parseScript(text: string, all = behaviours): readonly ScriptStep[] | { readonly error: string } {
  const steps: ScriptStep[] = [];
  for (const part of text.split(',').map((one) => one.trim())) {
    const [, names = '', star, count = ''] = /^([^*]*)(\*(\d*))?$/.exec(part) ?? [];
    const times = star === undefined ? 1 : count === '' ? Number.POSITIVE_INFINITY : Number(count);
    const slugs = names.split('|').map((one) => one.trim());
    if (slugs.includes('') || times === 0 || (times > MAX_TIMES && Number.isFinite(times)))
      return { error: `invalid step ${part === '' ? '(empty)' : part}; valid steps are 503, 503*2, 200|503, hang*` };
    const found = slugs.flatMap((slug) => (slug === RANDOM ? all : (behaviourBySlug(slug) ?? slug)));
    const unknown = found.find((one) => typeof one === 'string');
    if (unknown !== undefined) return { error: `unknown behaviour ${unknown}${suggestSlugs(unknown)}` };
    steps.push({ behaviours: found.filter((one) => typeof one !== 'string'), times });
  }
  const isEndlessBeforeLast = steps.slice(0, -1).some(({ times }) => !Number.isFinite(times));
  return isEndlessBeforeLast ? { error: 'only the last step can repeat forever' } : steps;
}

/** Suggests the five slugs that are most similar to an unknown slug. */
function suggestSlugs(unknown: string): string {
  const similar = behaviours
    .map(({ slug }) => ({ slug, similarity: similarity(slug, unknown.toLowerCase()) }))
    .filter(({ similarity }) => similarity > 0.4)
    .sort((one, other) => other.similarity - one.similarity)
    .slice(0, 5)
    .map(({ slug }) => slug);
  return similar.length === 0 ? '' : ` (similar: ${similar.join(', ')})`;
}

/** Computes the Sørensen–Dice coefficient of the bigrams of two texts, from 0 to 1. */
function similarity(one: string, other: string): number {
  const bigrams = (text: string) => new Set([...text].slice(1).map((letter, index) => text[index] + letter));
  const [mine, theirs] = [bigrams(one), bigrams(other)];
  const shared = [...mine].filter((bigram) => theirs.has(bigram)).length;
  return (2 * shared) / Math.max(1, mine.size + theirs.size);
}

/** Creates a script that runs the steps in order, and starts again after the last step. */
export function createScript(steps: readonly ScriptStep[], random: SeededRandom): Script {
  let index = 0;
  let served = 0;
  return {
    next() {
      const step = steps[index];
      if (step === undefined) throw new Error('a script needs at least one step');
      served += 1;
      if (served >= step.times) {
        index = (index + 1) % steps.length;
        served = 0;
      }
      return random.pick(step.behaviours);
    },
  };
}
