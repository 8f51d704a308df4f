import type { Behaviour } from './behaviour.ts';
import { behaviours, findBehaviour } from './behaviours.ts';
import type { SeededRandom } from './random.ts';

/** One step of a script. It serves `times` connections, each with a behaviour picked at random from `behaviours`. */
type ScriptStep = { readonly behaviours: readonly Behaviour[]; readonly times: number };

/** A script, which chooses the behaviour of each successive connection. */
export type Script = { nextBehaviour(): Behaviour };

const RANDOM_SLUG = 'random';
const MAX_STEP_REPEATS = 1_000_000;

/**
 * Parses a script such as `503*2,200`. Commas separate steps. `*2` runs a step twice, and `*` runs it forever.
 * `200|503|hang` picks one of these behaviours at random, `random` picks one of `randomChoices`. After its last step, a
 * script starts again.
 *
 * @param randomChoices behaviours that `random` picks from; default: all
 */
export function parseScript(
  text: string,
  randomChoices = behaviours,
): readonly ScriptStep[] | { readonly error: string } {
  const steps: ScriptStep[] = [];
  for (const stepText of text.split(',').map((one) => one.trim())) {
    const [, slugList = '', repeatSuffix, repeatCount = ''] = /^([^*]*)(\*(\d*))?$/.exec(stepText) ?? [];
    const times = repeatSuffix === undefined ? 1 : repeatCount === '' ? Number.POSITIVE_INFINITY : Number(repeatCount);
    const slugs = slugList.split('|').map((one) => one.trim());
    if (slugs.includes('') || times === 0 || (times > MAX_STEP_REPEATS && Number.isFinite(times)))
      return {
        error: `invalid step ${stepText === '' ? '(empty)' : stepText}; valid steps are 503, 503*2, 200|503, hang*`,
      };
    const behavioursOrSlugs = slugs.flatMap((slug) =>
      slug === RANDOM_SLUG ? randomChoices : (findBehaviour(slug) ?? slug),
    );
    const unknownSlug = behavioursOrSlugs.find((one) => typeof one === 'string');
    if (unknownSlug !== undefined) return { error: `unknown behaviour ${unknownSlug}${suggestSlugs(unknownSlug)}` };
    steps.push({ behaviours: behavioursOrSlugs.filter((one) => typeof one !== 'string'), times });
  }
  const hasEarlyEndlessStep = steps.slice(0, -1).some(({ times }) => !Number.isFinite(times));
  return hasEarlyEndlessStep ? { error: 'only the last step can repeat forever' } : steps;
}

/** Suggests the five slugs that are most similar to an unknown slug. */
function suggestSlugs(unknownSlug: string): string {
  const similarSlugs = behaviours
    .map(({ slug }) => ({ slug, similarity: computeSimilarity(slug, unknownSlug.toLowerCase()) }))
    .filter(({ similarity }) => similarity > 0.4)
    .sort((one, other) => other.similarity - one.similarity)
    .slice(0, 5)
    .map(({ slug }) => slug);
  return similarSlugs.length === 0 ? '' : ` (similar: ${similarSlugs.join(', ')})`;
}

/** Computes the Sørensen–Dice coefficient of the bigrams of two texts, from 0 to 1. */
function computeSimilarity(one: string, other: string): number {
  const toBigrams = (text: string) => new Set([...text].slice(1).map((letter, index) => text[index] + letter));
  const [oneBigrams, otherBigrams] = [toBigrams(one), toBigrams(other)];
  const sharedCount = [...oneBigrams].filter((bigram) => otherBigrams.has(bigram)).length;
  return (2 * sharedCount) / Math.max(1, oneBigrams.size + otherBigrams.size);
}

/** Creates a script that runs the steps in order, and starts again after the last step. */
export function createScript(steps: readonly ScriptStep[], random: SeededRandom): Script {
  let stepIndex = 0;
  let connectionsInStep = 0;
  return {
    nextBehaviour() {
      const step = steps[stepIndex];
      if (step === undefined) throw new Error('a script needs at least one step');
      connectionsInStep += 1;
      if (connectionsInStep >= step.times) {
        stepIndex = (stepIndex + 1) % steps.length;
        connectionsInStep = 0;
      }
      return random.pick(step.behaviours);
    },
  };
}
