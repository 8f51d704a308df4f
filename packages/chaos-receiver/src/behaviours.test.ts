import assert from 'node:assert/strict';
import { test } from 'node:test';
import { behaviourBySlug, behaviours } from './behaviours.ts';

test('slugs are unique and valid in a path, and every description is a sentence', () => {
  assert.equal(new Set(behaviours.map(({ slug }) => slug)).size, behaviours.length);
  for (const { slug, description } of behaviours) {
    assert.match(slug, /^[a-z0-9][a-z0-9.-]+$/);
    assert.equal(encodeURIComponent(slug), slug);
    assert.match(description, /^[A-Z].*\.$/);
    assert.equal(behaviourBySlug(slug)?.slug, slug);
  }
});

test('every status from 200 to 599 is a behaviour', () => {
  assert.equal(behaviourBySlug('299')?.seenAs, 299);
  assert.equal(behaviourBySlug('600'), undefined);
});
