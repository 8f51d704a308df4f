import assert from 'node:assert/strict';
import type { TestContext } from 'node:test';
import { testClock } from '../../test/harness/clock.ts';
import { openAt } from '../../test/harness/database.ts';
import { stepByStep } from '../../test/harness/eventually.ts';
import { nodesOn } from '../../test/harness/nodes.ts';
import { shared } from '../../test/harness/stores.ts';
import { createLog } from '../log.ts';
import { Node } from './node.ts';

const BEAT_MS = 200;

for (const { test, database } of shared) {
  /** A node that beats when its clock goes on. */
  async function startNode(t: TestContext, address: string) {
    const [store, beats] = [await openAt(t, address), testClock()];
    assert.ok(store.sessions !== undefined);
    const node = new Node({ store, sessions: store.sessions, beats, log: createLog('silent'), role: 'all' });
    await node.attend();
    return { store, beats };
  }

  /** One that beats and sees another stand still; answers after how long that one is no node any more. */
  async function goneAfter(t: TestContext, isClosed: boolean): Promise<number> {
    const address = await database(t);
    const still = await startNode(t, address);
    const { store, beats } = await startNode(t, address);
    const began = beats.monotonic();
    if (isClosed) await still.store.close();
    await stepByStep(
      () => beats.advance(BEAT_MS),
      () => nodesOn(store),
      (nodes) => nodes.length === 1,
      20_000,
    );
    return beats.monotonic() - began;
  }

  test('C20 a node that stands still is given up after a second if its connection is closed', async (t) => {
    const ms = await goneAfter(t, true);
    assert.ok(ms >= 1_100 && ms < 8_000, `${ms}`);
  });

  test('C20 a node that stands still is given up after eight seconds while its connection is open', async (t) => {
    const ms = await goneAfter(t, false);
    assert.ok(ms >= 8_000, `${ms}`);
  });
}
