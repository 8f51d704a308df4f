import { execFileSync, spawn, spawnSync } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { fileURLToPath } from 'node:url';
import type { RunResult } from '../reliability-test.ts';
import { hostOf, publicForms } from './url-forms.ts';

const inside = fileURLToPath(new URL('./namespace-runner.ts', import.meta.url));

/** A network, a table of mounts and processes of its own; it is gone when its first process has ended, whatever became of it. */
const namespace = ['--map-root-user', '--net', '--mount', '--pid', '--fork', '--kill-child'];

/**
 * In the namespace every address that there is, of both families, is this machine's own, so that whatever is dialled is heard by
 * whoever listens. Names are resolved by the one name server in it.
 */
const EVERYWHERE = `
ip link set lo up
ip route del table local broadcast 127.255.255.255 dev lo
ip route add local 0.0.0.0/0 dev lo
ip -6 route add local ::/0 dev lo
`;
const SETUP = `${EVERYWHERE}
mount --bind "$FOLDER/resolv.conf" /etc/resolv.conf
mount --bind "$FOLDER/hosts" /etc/hosts
exec "$@"
`;

/** What is missing for a namespace, in words. */
export function lacksForNamespace(): string | undefined {
  const missing = ['unshare', 'ip', 'mount', 'openssl'].filter(
    (tool) => spawnSync(tool, ['--help'], { stdio: 'ignore' }).error !== undefined,
  );
  if (missing.length > 0) return `it needs ${missing.join(', ')}, as Linux has them`;
  const { status } = spawnSync('unshare', [...namespace, 'sh', '-euc', EVERYWHERE]);
  return status === 0 ? undefined : 'it needs root, or user namespaces, and IPv6';
}

/** The part of the proof that runs in there; see `inside.ts`. */
export async function inNamespace(seed: number, log: (line: string) => void): Promise<RunResult> {
  const folder = mkdtempSync(join(tmpdir(), 'carillon-ssrf-'));
  try {
    writeFileSync(join(folder, 'resolv.conf'), 'nameserver 127.0.0.1\n');
    // The last one is an answer that only a hosts file can give.
    writeFileSync(join(folder, 'hosts'), '127.0.0.1 localhost carillon.example\n2606:4700::1%lo zone.example\n');
    makeCertificate(folder);
    const child = spawn('unshare', [...namespace, 'sh', '-euc', SETUP, 'sh', process.execPath, inside, String(seed)], {
      // Its standard input ends with this process, and it with that.
      stdio: ['pipe', 'pipe', 'pipe'],
      env: { ...process.env, FOLDER: folder, NODE_EXTRA_CA_CERTS: join(folder, 'cert.pem') },
    });
    child.stderr.setEncoding('utf8').on('data', (lines: string) => lines.trim().split('\n').forEach(log));
    const output = await text(child.stdout);
    if (output === '') throw new Error('nothing came out of the namespace');
    return JSON.parse(output);
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

/** For every host that a public form reaches by https. */
function makeCertificate(folder: string): void {
  const hosts = new Set(publicForms.filter((form) => /^https:/i.test(form)).map(hostOf));
  const alternatives = [...hosts].map((host) => (/^[\d.]+$|:/.test(host) ? `IP:${host}` : `DNS:${host}`));
  const files = ['-keyout', join(folder, 'key.pem'), '-out', join(folder, 'cert.pem')];
  const kind = ['-x509', '-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:P-256', '-nodes', '-days', '2'];
  execFileSync(
    'openssl',
    ['req', ...kind, ...files, '-subj', '/CN=everywhere', '-addext', `subjectAltName=${alternatives.join(',')}`],
    { stdio: 'pipe' },
  );
}
