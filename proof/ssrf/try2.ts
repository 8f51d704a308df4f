import { inNamespace } from './rig.ts';

const b = performance.now();
const f = await inNamespace(Number(process.argv[2]), (l) => process.stdout.write(`  ${l}\n`));
process.stdout.write(`${JSON.stringify(f.counts)}\n${f.broken.slice(0, 10).join('\n')}\n${performance.now() - b}\n`);
