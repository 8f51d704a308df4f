// Preloaded into every test file. Without a pending handle, Node would exit in the middle of a test that waits for an
// event that never comes, and skip the rest of the file. With the interval, such a test reaches its timeout and is
// reported. The runner itself has no interval, because a hook there would change its exit code.
if (process.env.NODE_TEST_CONTEXT !== undefined) {
  const { after } = await import('node:test');
  const keepAlive = setInterval(() => undefined, 60_000);
  after(() => clearInterval(keepAlive));
}

export {};
