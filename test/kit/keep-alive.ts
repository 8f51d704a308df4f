// Preloaded into every file of tests. A test that waits for nothing that is under way would otherwise end its file there and
// then, with the tests behind it never begun; so it runs into its time limit, and is said to. Not into the runner itself,
// which is no file of tests: one there would take its exit code from it.
if (process.env.NODE_TEST_CONTEXT !== undefined) {
  const { after } = await import('node:test');
  const staying = setInterval(() => undefined, 60_000);
  after(() => clearInterval(staying));
}

export {};
