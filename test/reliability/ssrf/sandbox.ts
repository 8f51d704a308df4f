import { execFileSync, spawn, spawnSync } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { fileURLToPath } from 'node:url';
import type { RunResult } from '../reliability-test.ts';
import { hostOf, publicForms } from './cases.ts';

const namespaceRunner = fileURLToPath(new URL('./namespace-runner.ts', import.meta.url));

/**
 * Arguments of `unshare` for a namespace with its own network, mounts and processes. The namespace ends with its
 * first process.
 */
const namespaceArguments = ['--map-root-user', '--net', '--mount', '--pid', '--fork', '--kill-child'];

/**
 * Shell commands that make all addresses of both families local inside the namespace, so that every connection
 * reaches a listener.
 */
const LOCAL_ROUTES_COMMANDS = `
ip link set lo up
ip route del table local broadcast 127.255.255.255 dev lo
ip route add local 0.0.0.0/0 dev lo
ip -6 route add local ::/0 dev lo
`;
/** Shell commands that set up the namespace, with a hosts file and a name server of its own, and then run a command. */
const SETUP_COMMANDS = `${LOCAL_ROUTES_COMMANDS}
mount --bind "$FOLDER/resolv.conf" /etc/resolv.conf
mount --bind "$FOLDER/hosts" /etc/hosts
exec "$@"
`;

/** Returns a sentence that names what this machine lacks for a namespace, or undefined if it lacks nothing. */
export function missingNamespaceRequirement(): string | undefined {
  const missing = ['unshare', 'ip', 'mount', 'openssl'].filter(
    (tool) => spawnSync(tool, ['--help'], { stdio: 'ignore' }).error !== undefined,
  );
  if (missing.length > 0) return `it needs ${missing.join(', ')}, as Linux has them`;
  const { status } = spawnSync('unshare', [...namespaceArguments, 'sh', '-euc', LOCAL_ROUTES_COMMANDS]);
  return status === 0 ? undefined : 'it needs root, or user namespaces, and IPv6';
}

/** Runs `namespace-runner.ts` in the namespace and returns its result. */
export async function runInNamespace(seed: number, log: (line: string) => void): Promise<RunResult> {
  const folder = mkdtempSync(join(tmpdir(), 'carillon-ssrf-'));
  try {
    writeFileSync(join(folder, 'resolv.conf'), 'nameserver 127.0.0.1\n');
    // An address with a zone index can only come from a hosts file.
    writeFileSync(join(folder, 'hosts'), '127.0.0.1 localhost carillon.example\n2606:4700::1%lo zone.example\n');
    makeCertificate(folder);
    const child = spawn(
      'unshare',
      [...namespaceArguments, 'sh', '-euc', SETUP_COMMANDS, 'sh', process.execPath, namespaceRunner, String(seed)],
      {
        // stdin closes when this process exits, which ends the child.
        stdio: ['pipe', 'pipe', 'pipe'],
        env: { ...process.env, FOLDER: folder, NODE_EXTRA_CA_CERTS: join(folder, 'cert.pem') },
      },
    );
    child.stderr.setEncoding('utf8').on('data', (lines: string) => lines.trim().split('\n').forEach(log));
    const output = await text(child.stdout);
    if (output === '') throw new Error('nothing came out of the namespace');
    return JSON.parse(output);
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

/** Creates a certificate for every host that a public form reaches over https. */
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
