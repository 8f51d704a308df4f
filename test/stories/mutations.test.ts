import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { after, describe, test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { copySource, type Mutation, mutations, mutationsDocument, runMutation, runTest } from '../mutations.ts';

const root = fileURLToPath(new URL('../..', import.meta.url));

/** Two at a time, each with a copy of its own. */
const copies = [copySource(), copySource()];
after(() => {
  for (const copy of copies) copy.remove();
});
const free = [...copies];

describe('each of these mistakes turns a test red', { concurrency: copies.length }, () => {
  for (const mutation of mutations) test(mutation.says, () => notice(mutation));
});

async function notice(mutation: Mutation): Promise<void> {
  const copy = free.pop();
  assert.ok(copy !== undefined);
  try {
    const { red, output } = await runMutation(mutation, copy);
    assert.ok(red.includes(mutation.caughtBy.name), `nobody noticed; ${mutation.caughtBy.name}:\n${output}`);
  } finally {
    free.push(copy);
  }
}

test('a copy without a mistake turns no test red', async () => {
  const [copy] = copies;
  assert.ok(copy !== undefined);
  const { caughtBy } = mutations[0] as Mutation;
  const { red, output } = await runTest(caughtBy, copy.folder);
  assert.deepEqual(red, []);
  assert.ok(output.includes(`ok 1 - ${caughtBy.name}`), output);
});

test('docs/mutations.md is the table', () => {
  assert.equal(readFileSync(join(root, 'docs/mutations.md'), 'utf8'), mutationsDocument());
});
