import { after } from 'node:test';

// Preloaded into every file of tests. A test that waits for nothing that is under way would otherwise end its file there and
// then, with the tests behind it never begun; so it runs into its time limit, and is said to.
const staying = setInterval(() => undefined, 60_000);
after(() => clearInterval(staying));
