import { ssrf } from '../ssrf.ts';

const endings: (() => unknown)[] = [];
const began = performance.now();
const count = Number(process.argv[2]);
const f = await ssrf.prove({
  count,
  seed: Number(process.argv[3] ?? 5),
  stores: [],
  context: { after: (c) => void endings.push(c) },
  say: (l) => process.stdout.write(`  ${l}\n`),
});
process.stdout.write(
  `${JSON.stringify(f.counts, null, 1)}\n${f.broken.length} broken\n${f.broken.slice(0, 30).join('\n')}\n${performance.now() - began} ms, lacks ${ssrf.lacks?.()}\n`,
);
for (const c of endings.reverse()) await c();
process.exit();
