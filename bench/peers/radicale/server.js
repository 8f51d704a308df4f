import { spawn } from 'node:child_process';
import { fileURLToPath } from 'node:url';

const python = fileURLToPath(new URL('./node_modules/bin/python', import.meta.url));

/** With its defaults, but for nobody being asked who they are. */
export function serve({ address, port }) {
  const options = [
    `--server-hosts=127.0.0.1:${port}`,
    '--auth-type=none',
    `--storage-filesystem-folder=${address}`,
    '--web-type=none',
    '--logging-level=error',
  ];
  const child = spawn(python, ['-m', 'radicale', ...options], { stdio: 'ignore' });
  return { pid: child.pid };
}
