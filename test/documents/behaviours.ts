import { type Behaviour, outcomeOf } from '../../packages/chaos-receiver/src/behaviour.ts';
import { behaviours, groups } from '../../packages/chaos-receiver/src/behaviours.ts';
import { schemeOf } from '../../packages/chaos-receiver/src/output.ts';
import { code, derivedFrom, document, table } from './markdown.ts';

/** BEHAVIOURS.md of the chaos receiver. */
export function behavioursDocument(): string {
  const rowOf = (one: Behaviour) => [code(one.slug), one.description, String(one.seenAs), outcomeOf(one)];
  return document(
    derivedFrom('packages/chaos-receiver/src/behaviours/'),
    '# Behaviours of the chaos receiver',
    `The [chaos receiver](README.md) has ${behaviours.length} behaviours. In addition, every other status from 200 to 599 is a behaviour.`,
    '"Seen as" is the status that the sender reads, or the reason why it reads none. Where the standards leave a choice, it is the choice of Carillon. "Outcome" is the result for a sender that treats 200 as success, 401 as "unsubscribe" and everything else as a failure.',
    ...Object.entries(groups).map(
      ([title, all]) =>
        `## ${title}${schemeOf(all) === 'https' ? ' (https only)' : ''}\n\n${table(['Behaviour', 'Description', 'Seen as', 'Outcome'], all.map(rowOf))}`,
    ),
  );
}
