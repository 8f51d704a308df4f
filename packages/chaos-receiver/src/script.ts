import type { Behaviour } from './behaviour.ts';
import { behaviourOf, behaviours } from './behaviours.ts';
import type { SeededChance } from './random.ts';

/** One of these, so many times. */
type Step = { readonly among: readonly Behaviour[]; readonly times: number };

/** What is done with one connection after the other. */
export type Script = { next(): Behaviour };

const ANY = 'random';
const MOST_TIMES = 1_000_000;

/**
 * Reads `503*2,200`: commas between steps, `*2` for twice, `*` for ever after, `200|503|hang` for one of these by chance,
 * `random` for any. Behind its last step a script begins again.
 */
export function parseScript(text: string, all = behaviours): readonly Step[] | { readonly fault: string } {
  const steps: Step[] = [];
  for (const part of text.split(',').map((one) => one.trim())) {
    const [, names = '', star, count = ''] = /^([^*]*)(\*(\d*))?$/.exec(part) ?? [];
    const times = star === undefined ? 1 : count === '' ? Number.POSITIVE_INFINITY : Number(count);
    const slugs = names.split('|').map((one) => one.trim());
    if (slugs.includes('') || times === 0 || (times > MOST_TIMES && Number.isFinite(times)))
      return { fault: `${part === '' ? 'an empty step' : part} is no step such as 503, 503*2, 200|503 or hang*` };
    const among = slugs.flatMap((slug) => (slug === ANY ? all : (behaviourOf(slug) ?? slug)));
    const unknown = among.find((one) => typeof one === 'string');
    if (unknown !== undefined) return { fault: `there is no behaviour ${unknown}${suggestion(unknown)}` };
    steps.push({ among: among.filter((one) => typeof one !== 'string'), times });
  }
  const early = steps.slice(0, -1).some(({ times }) => !Number.isFinite(times));
  return early ? { fault: 'only the last step can go on for ever' } : steps;
}

/** Those whose names have most in common with what was written. */
function suggestion(wrong: string): string {
  const near = behaviours
    .map(({ slug }) => ({ slug, likeness: likeness(slug, wrong.toLowerCase()) }))
    .filter(({ likeness }) => likeness > 0.4)
    .sort((one, other) => other.likeness - one.likeness);
  const named = near.slice(0, 5).map(({ slug }) => slug);
  return named.length === 0 ? '' : `; there is ${named.join(', ')}`;
}

/** The share of pairs of neighbouring letters that both have, from 0 to 1 (Dice). */
function likeness(one: string, other: string): number {
  const [mine, theirs] = [one, other].map((text) => new Set([...text].slice(1).map((sign, at) => text[at] + sign)));
  if (mine === undefined || theirs === undefined) return 0;
  const shared = [...mine].filter((pair) => theirs.has(pair));
  return (2 * shared.length) / Math.max(1, mine.size + theirs.size);
}

/** Plays the steps, over and over. */
export function play(steps: readonly Step[], chance: SeededChance): Script {
  let at = 0;
  let played = 0;
  return {
    next() {
      const step = steps[at];
      if (step === undefined) throw new Error('a script has steps');
      played += 1;
      if (played >= step.times) {
        at = (at + 1) % steps.length;
        played = 0;
      }
      return chance.one(step.among);
    },
  };
}
