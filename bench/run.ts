// `npm run bench` measures creating events; `npm run bench -- scale`, another one by its name.
const benches: Readonly<Record<string, () => Promise<unknown>>> = {
  'create-event': () => import('./create-event.ts'),
  'first-paint': () => import('./first-paint.ts'),
  growth: () => import('./growth.ts'),
  'month-paint': () => import('./month-paint.ts'),
  nodes: () => import('./nodes.ts'),
  'old-rows': () => import('./old-rows.ts'),
  scale: () => import('./scale.ts'),
  transfer: () => import('./transfer.ts'),
};

const [, , name = 'create-event'] = process.argv;
const bench = benches[name];
if (bench === undefined) {
  process.stderr.write(`${name} is no bench; there are: ${Object.keys(benches).join(', ')}.\n`);
  process.exit(1);
}
// What is behind the name is for the bench.
process.argv.splice(2, 1);
await bench();

export {};
