import { copyFileSync, globSync } from 'node:fs';
import { join } from 'node:path';

// The compiler leaves pictures where they are; the package needs them beside what it makes.
const root = join(import.meta.dirname, '..');
for (const path of globSync('nodes/parts/*.svg', { cwd: root }))
  copyFileSync(join(root, path), join(root, 'dist', path));
