import { copyFileSync, globSync } from 'node:fs';
import { join } from 'node:path';

// The compiler does not copy icons, but the package needs them next to its output.
const root = join(import.meta.dirname, '..');
for (const path of globSync('nodes/parts/*.svg', { cwd: root }))
  copyFileSync(join(root, path), join(root, 'dist', path));
