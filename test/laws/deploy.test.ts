import assert from 'node:assert/strict';
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { loadConfig } from '../../src/config/load.ts';
import { environmentVariableOf, options } from '../../src/config/options.ts';
import { createSsrfGuard } from '../../src/delivery/transport/ssrf-guard.ts';
import { anchorOf } from '../documents/markdown.ts';
import { lockedPackagesIn, lockFolders, packageNameOf, shippedPackages } from '../documents/shipped.ts';
import type { Json } from '../kit/service/service.ts';
import { billOfMaterials } from '../sbom.ts';
import { root } from './source.ts';

const deployPaths = readdirSync(join(root, 'deploy'), { recursive: true, withFileTypes: true })
  .filter((entry) => entry.isFile())
  .map((entry) => join(entry.parentPath, entry.name));
const deployFiles = deployPaths.map((path) => ({ path, text: readFileSync(path, 'utf8') }));
const readDeployFile = (name: string) => readFileSync(join(root, 'deploy', name), 'utf8');

const variables = new Set(Object.values(options).map(({ flag }) => environmentVariableOf(flag)));

test('every CARILLON_ variable in deploy/ is an option, and its value is valid', () => {
  const used = deployFiles.flatMap(({ text }) => [...text.matchAll(/\bCARILLON_[A-Z]\w*/g)].map(([name]) => name));
  assert.ok(used.length > 10);
  assert.deepEqual(
    used.filter((name) => !variables.has(name)),
    [],
  );
  for (const { path, text } of deployFiles) {
    // Replace each placeholder by its default or by an example.
    const documented = [...text.matchAll(/^(?: +|Environment=|ENV )(CARILLON_\w+)[=:] ?(.*)$/gm)].map(
      ([, name, value = '']) => [
        name,
        value
          .replace(/\$\{\w+:-([^}]*)\}/g, '$1')
          .replace(/\$\{\w+:\?[^}]*\}/g, 'secret')
          .replace('%i', '8081'),
      ],
    );
    const loaded = loadConfig({
      flags: {},
      environment: { CARILLON_BASE_URL: 'http://a.test', ...Object.fromEntries(documented) },
    });
    assert.ok('config' in loaded, `${path}: ${'faults' in loaded ? loaded.faults.join(' ') : ''}`);
  }
});

test('every file that a compose file mounts or builds from exists, and every volume is declared', () => {
  for (const name of ['compose.yaml', 'compose.postgres.yaml']) {
    const text = readDeployFile(name);
    const [, declared = ''] = /^volumes:\n((?: {2}\w+:\n?)+)/m.exec(text) ?? [];
    const mounts = [...text.matchAll(/^ {6}- ([\w./-]+):\/[\w./-]+(?::ro)?$/gm)].map(([, from = '']) => from);
    assert.ok(mounts.length > 0, name);
    for (const from of mounts) {
      if (from.startsWith('.')) assert.ok(existsSync(join(root, 'deploy', from)), `${name}: ${from}`);
      else assert.ok(declared.includes(`  ${from}:`), `${name}: ${from}`);
    }
    assert.match(text, /^ +dockerfile: deploy\/Dockerfile$/m);
    // The container may stop for longer than a graceful shutdown takes.
    assert.match(text, /^ +stop_grace_period: 15s$/m);
    const port = /^ENV CARILLON_PORT=(\d+)$/m.exec(readDeployFile('Dockerfile'))?.[1];
    assert.ok(
      text.includes(name === 'compose.yaml' ? `"127.0.0.1:8080:${port}"` : `NODES: node-a:${port} node-b:${port}`),
    );
  }
});

test('the compose file sets every placeholder of the Caddyfile', () => {
  const placeholders = [...readDeployFile('Caddyfile').matchAll(/\{\$(\w+):/g)].map(([, name = '']) => name);
  assert.deepEqual(placeholders, ['ADDRESS', 'NODES']);
  const [, caddy = ''] = /^ {2}caddy:\n((?: {4}.*\n)+)/m.exec(readDeployFile('compose.postgres.yaml')) ?? [];
  for (const name of placeholders) assert.match(caddy, new RegExp(`^ {6}${name}: `, 'm'));
});

test('the systemd units have a long enough stop timeout, the installed start command and a sandbox', () => {
  for (const name of ['carillon.service', 'carillon@.service']) {
    const lines = readDeployFile(name).split('\n');
    const settingOf = (key: string) =>
      lines.filter((line) => line.startsWith(`${key}=`)).map((line) => line.slice(key.length + 1));
    assert.ok(Number(settingOf('TimeoutStopSec')[0]) >= 15, name);
    const [start = '', ready = ''] = [...settingOf('ExecStart'), ...settingOf('ExecStartPost')];
    assert.match(
      start,
      /^\/opt\/carillon\/node_modules\/\.bin\/node \/opt\/carillon\/dist\/main\.js serve( --port %i)?$/,
    );
    assert.match(ready, /^\/opt\/carillon\/node_modules\/\.bin\/node \/opt\/carillon\/ready\.ts \d+$/);
    const wanted = {
      Type: 'exec',
      Restart: 'on-failure',
      DynamicUser: 'yes',
      CapabilityBoundingSet: '',
      NoNewPrivileges: 'yes',
      ProtectSystem: 'strict',
      SystemCallFilter: '@system-service',
    };
    for (const [key, value] of Object.entries(wanted)) assert.equal(settingOf(key)[0], value, `${name}: ${key}`);
  }
  assert.match(
    readDeployFile('carillon.service'),
    /^Environment=CARILLON_DATABASE=sqlite:\/var\/lib\/carillon\/carillon\.db$/m,
  );
  assert.match(readDeployFile('carillon.service'), /^StateDirectory=carillon$/m);
  assert.doesNotMatch(readDeployFile('carillon@.service'), /^Environment=CARILLON_DATABASE/m);
});

test('every alert uses an existing metric, describes what to do, and links to a section of operating.md', () => {
  const source = readFileSync(join(root, 'src/metrics.ts'), 'utf8');
  const metrics = [...source.matchAll(/new (\w+)\(\{\s*name: '(carillon_\w+)'/g)].map(([, type = '', name = '']) => ({
    type,
    name,
  }));
  assert.ok(metrics.length > 10);
  // A histogram has three series, every other metric has one series.
  const series = metrics.flatMap(({ type, name }) =>
    type === 'Histogram' ? ['bucket', 'count', 'sum'].map((part) => `${name}_${part}`) : [name],
  );
  const others = ['up', 'node_filesystem_avail_bytes', 'node_filesystem_size_bytes'];
  const page = readFileSync(join(root, 'docs/operating.md'), 'utf8');
  const anchors = [...page.matchAll(/^#+ (.+)$/gm)].map(([, heading = '']) => anchorOf(heading));
  const alerts = readDeployFile('alerts.yaml')
    .split(/^ {6}- alert: /m)
    .slice(1);
  assert.ok(alerts.length >= 10);
  for (const alert of alerts) {
    const name = alert.split('\n', 1)[0] ?? '';
    const [, expression = ''] = /^ {8}expr: (.*?)^ {8}\w+:/ms.exec(alert) ?? [];
    const used = [...expression.matchAll(/\b(?:carillon|node)_\w+|\bup\b/g)].map(([one]) => one);
    assert.ok(used.length > 0, name);
    for (const one of used) assert.ok([...series, ...others].includes(one), `${name} uses ${one}`);
    assert.match(alert, /^ {10}summary: ".+\. .+\."$/m, `${name} describes the problem and what to do`);
    const [, anchor = ''] = /^ {10}runbook_url: docs\/operating\.md#(.+)$/m.exec(alert) ?? [];
    assert.ok(anchors.includes(anchor), `${name}: ${anchor}`);
    assert.ok(page.includes(`\`${name}\``) || anchor === 'a-full-disk', `operating.md mentions ${name}`);
  }
});

test('the n8n workflow is complete and published, and only its URL is an allowed target', async () => {
  const workflow = JSON.parse(readDeployFile('n8n/workflow.json'));
  type WorkflowNode = {
    id: string;
    name: string;
    type: string;
    typeVersion: number;
    position: number[];
    parameters: Json;
  };
  const nodes: WorkflowNode[] = workflow.nodes;
  for (const { id, name, type, typeVersion, position, parameters } of nodes) {
    assert.match(id, /^[\da-f-]{36}$/);
    assert.ok(name !== '' && type.startsWith('n8n-nodes-base.') && typeVersion > 0);
    assert.equal(position.length, 2);
    assert.equal(typeof parameters, 'object');
  }
  assert.equal(new Set(nodes.map(({ name }) => name)).size, nodes.length);
  type Connections = { main: { node: string; type: string; index: number }[][] };
  const connections = Object.entries<Connections>(workflow.connections);
  const ends = connections.flatMap(([from, { main }]) => [from, ...main.flat().map(({ node }) => node)]);
  assert.deepEqual([...new Set(ends)], ['Bell', 'Fetch the record', 'Answer']);
  for (const end of ends)
    assert.ok(
      nodes.some(({ name }) => name === end),
      end,
    );
  assert.equal(typeof workflow.settings, 'object');

  const start = readDeployFile('n8n/start.sh');
  assert.ok(start.includes(`publish:workflow --id=${workflow.id}\n`));
  assert.match(start, /^exec n8n start$/m);

  const target = new URL('http://n8n:5678/webhook/carillon');
  const bell = nodes.find(({ type }) => type === 'n8n-nodes-base.webhook');
  assert.equal(bell?.parameters.path, 'carillon');
  assert.ok(readFileSync(join(root, 'docs/running.md'), 'utf8').includes(`"target_url":"${target}"`));
  const allowed = /CARILLON_ALLOW_TARGETS: \$\{ALLOW_TARGETS:-(.*)\}/.exec(readDeployFile('compose.yaml'))?.[1] ?? '';
  const parsed = options.allowTargets.parse(allowed);
  assert.ok('value' in parsed);
  const guard = createSsrfGuard({
    resolve: async () => ({ addresses: ['172.18.0.5'] }),
    allowRules: parsed.value,
    isLoopbackAllowed: false,
  });
  assert.deepEqual(await guard.checkTarget(target), {
    allowed: true,
    addresses: [{ address: '172.18.0.5', family: 4 }],
  });
  for (const other of ['http://n8n:5679/', 'http://carillon:5678/', 'http://172.18.0.5:5678/']) {
    const verdict = await guard.checkTarget(new URL(other));
    assert.equal('allowed' in verdict && verdict.allowed, false, other);
  }
});

test('the lease times in scaling.md match the source', () => {
  const source = readFileSync(join(root, 'src/delivery/cluster/cluster-node.ts'), 'utf8');
  const constants = new Map(
    [...source.matchAll(/^const (\w+)_MS = (?:LEASE_TTL_MS \+ )?([\d_]+);$/gm)].map(([, name = '', text = '']) => [
      name,
      Number(text.replaceAll('_', '')),
    ]),
  );
  const msOf = (name: string) => constants.get(name) ?? Number.NaN;
  const wanted = {
    heartbeat: msOf('HEARTBEAT_INTERVAL'),
    lease: msOf('LEASE_TTL'),
    dead: msOf('LEASE_TTL') + msOf('DEAD_AFTER'),
    unresponsive: msOf('UNRESPONSIVE_AFTER'),
    poll: msOf('POLL_INTERVAL'),
  };
  const page = readFileSync(join(root, 'docs/scaling.md'), 'utf8');
  const documented = Object.fromEntries(
    [...page.matchAll(/^\| (\w+) \| ([\d,]+) ms \|/gm)].map(([, name = '', ms = '']) => [
      name,
      Number(ms.replaceAll(',', '')),
    ]),
  );
  assert.deepEqual(documented, wanted);
});

/** Permissive licenses, by SPDX identifier. */
const PERMISSIVE = ['MIT', 'MIT-0', 'ISC', 'BSD-2-Clause', 'BSD-3-Clause', '0BSD', 'Apache-2.0', 'BlueOak-1.0.0'];

/** Unmodified dependencies may also have weak copyleft, which applies only to changed files. */
const SHIPPED_LICENSES = [...PERMISSIVE, 'MPL-2.0'];

/** Licenses accepted for tools, which are not distributed. */
const TOOL_LICENSES = [
  ...SHIPPED_LICENSES,
  'Python-2.0',
  'Unlicense',
  'Public Domain',
  'MIT OR Apache-2.0',
  '(AFL-2.1 OR BSD-3-Clause)',
  '(MIT AND BSD-3-Clause)',
];

/** Packages of integration platforms, which have their own license terms and are used only for tests. */
const PLATFORM = /^(@n8n\/|@n8n_io\/|n8n-|zapier-platform-)/;

/** MIT packages whose license is missing in lockfiles. */
const LICENSE_MISSING_IN_LOCKFILE = new Set(['buildcheck', 'cpu-features', 'ssh2', 'urlsafe-base64']);

for (const folder of lockFolders) {
  const locked = [...lockedPackagesIn(folder)].map(([path, one]) => ({ ...one, path, name: packageNameOf(path) }));
  const manifest = JSON.parse(readFileSync(join(root, folder, 'package.json'), 'utf8'));
  const named = (all: readonly { path: string }[]) => all.map(({ path }) => path);

  test(`${folder}: every package has an integrity hash and comes from the npm registry`, () => {
    assert.ok(locked.length > 20);
    assert.deepEqual(named(locked.filter(({ integrity }) => !/^sha512-[\w+/]{86}==$/.test(integrity ?? ''))), []);
    // A package without `resolved` comes from the registry.
    const elsewhere = locked.filter(
      ({ resolved = 'https://registry.npmjs.org/' }) => !resolved.startsWith('https://registry.npmjs.org/'),
    );
    assert.deepEqual(named(elsewhere), []);
    assert.deepEqual(named(locked.filter(({ version }) => !/^\d+\.\d+\.\d+/.test(version))), []);
  });

  test(`${folder}: only allowed packages have install scripts`, () => {
    const allowed = Object.keys(manifest.allowScripts).sort();
    const running = locked.filter(({ hasInstallScript }) => hasInstallScript);
    assert.ok(
      allowed.every((name) => running.some((one) => one.name === name)),
      'allowScripts has an unneeded entry',
    );
    if (folder === '.') assert.deepEqual([allowed, named(running)], [[], []]);
    assert.deepEqual(named(running.filter(({ dev }) => dev !== true)), []);
  });

  test(`${folder}: every license is on the list of accepted licenses`, () => {
    const unknown = locked.filter(
      ({ name, license = '' }) =>
        !TOOL_LICENSES.includes(license) && !PLATFORM.test(name) && !LICENSE_MISSING_IN_LOCKFILE.has(name),
    );
    assert.deepEqual(
      unknown.map(({ path, license }) => `${path}: ${license}`),
      [],
    );
  });
}

test('every shipped package has a license that allows redistribution', () => {
  const all = shippedPackages();
  assert.deepEqual(
    all
      .filter(({ license = '' }) => !SHIPPED_LICENSES.includes(license))
      .map(({ name, license }) => `${name}: ${license}`),
    [],
  );
  for (const name of ['fastify', 'pg', 'undici', 'preact', '@event-calendar/build', '@preact/signals-core'])
    assert.ok(
      all.some((one) => one.name === name),
      name,
    );
  assert.ok(!all.some(({ name }) => ['vite', 'rolldown'].includes(name)), 'build tools are not shipped');
});

test('the bill of materials lists exactly the shipped packages, and is deterministic', () => {
  const text = billOfMaterials();
  const bom = JSON.parse(text);
  assert.deepEqual([bom.bomFormat, bom.metadata.component.name], ['CycloneDX', 'carillon']);
  const listed: string[] = bom.components.map((one: { name: string; version: string }) => `${one.name}@${one.version}`);
  assert.deepEqual(
    listed.sort(),
    shippedPackages()
      .map(({ name, version }) => `${name}@${version}`)
      .sort(),
  );
  assert.equal(billOfMaterials(), text);
});
