import { type Behaviour, verdictOn } from '../../packages/chaos-receiver/src/behaviour.ts';
import { behaviours, groups } from '../../packages/chaos-receiver/src/behaviours.ts';
import { schemeOf } from '../../packages/chaos-receiver/src/output.ts';
import { code, derivedFrom, document, table } from './markdown.ts';

/** Everything that the chaos receiver can do. */
export function behavioursDocument(): string {
  const rowOf = (one: Behaviour) => [code(one.slug), one.says, String(one.sees), verdictOn(one)];
  return document(
    derivedFrom('src/cli/chaos/'),
    '# Behaviours of the chaos receiver',
    `What [carillon chaos-receiver](../chaos-receiver.md) can do: ${behaviours.length} behaviours, and every other status from 200 to 599 by its number. "Seen as" is the status that a sender reads, or why there is none; where the standards leave room, it is what Carillon reads. "Comes to" is what follows for a sender that takes 200 for success, 401 for the end and anything else for a failure.`,
    ...Object.entries(groups).map(
      ([title, all]) =>
        `## ${title}${schemeOf(all) === 'https' ? ', for senders that speak it' : ''}\n\n${table(['Behaviour', 'On the wire', 'Seen as', 'Comes to'], all.map(rowOf))}`,
    ),
  );
}
