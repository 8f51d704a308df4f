import assert from 'node:assert/strict';
import { test } from 'node:test';
import { addressesByName, forbiddenTargets, malformedTargets } from '../../../test/corpus/targets.ts';
import type { ResolveName } from './dns-resolver.ts';
import {
  type AllowRule,
  createSsrfGuard,
  explainForbiddenTarget,
  normalizeTarget,
  parseAllowRules,
  parseTarget,
} from './ssrf-guard.ts';

const resolveNames: ResolveName = async (hostname) => {
  const addresses = addressesByName[hostname];
  return addresses === undefined ? { failure: 'no_such_name' } : { addresses };
};

function parseRules(text: string): AllowRule[] {
  const parsed = parseAllowRules(text);
  assert.ok('rules' in parsed, `${text}: ${'fault' in parsed ? parsed.fault : ''}`);
  return parsed.rules;
}

function guardWith({ rules = '', loopbackAllowed = false, resolve = resolveNames } = {}) {
  return createSsrfGuard({ resolve, allowRules: parseRules(rules), isLoopbackAllowed: loopbackAllowed });
}

/** Returns 'allowed', 'forbidden', or the failure to resolve the name. */
async function checkResultFor(target: string, options: Parameters<typeof guardWith>[0] = {}): Promise<string> {
  const verdict = await guardWith(options).checkTarget(new URL(target));
  if ('failure' in verdict) return verdict.failure;
  return verdict.allowed ? 'allowed' : verdict.publicReason;
}

test('C11 every spelling of a forbidden address is rejected because of its address', async () => {
  assert.ok(forbiddenTargets.length >= 120);
  assert.equal(new Set(forbiddenTargets).size, forbiddenTargets.length);
  for (const target of forbiddenTargets) {
    const parsed = parseTarget(target);
    assert.ok('url' in parsed, target);
    assert.equal(await checkResultFor(target), 'forbidden', target);
  }
});

test('C11 a target that is not a plain absolute http or https URL is rejected without naming an address', () => {
  for (const target of malformedTargets) {
    const parsed = parseTarget(target);
    assert.ok('fault' in parsed, target);
    assert.match(parsed.fault, /^must [a-z0-9, ]+(URL)?$/i);
    assert.doesNotMatch(parsed.fault, /127|example/);
  }
  for (const target of [undefined, null, 1, true, {}, [], ['http://target.example/']]) {
    assert.deepEqual(parseTarget(target), { fault: 'must be a string' });
  }
});

test('C11 a target may have 2,048 characters, and no more', () => {
  const start = 'http://target.example/';
  assert.ok('url' in parseTarget(start.padEnd(2_048, 'a')));
  assert.deepEqual(parseTarget(start.padEnd(2_049, 'a')), { fault: 'must be at most 2,048 characters' });
});

test('C11 an @ after the host is not a user name', () => {
  for (const target of ['http://target.example/@user', 'http://target.example/?mail=a@b', 'http://target.example#@']) {
    assert.ok('url' in parseTarget(target), target);
  }
});

test('C12 targets are compared as normalized URLs without the fragment', () => {
  const same = [
    'http://target.example/hooks?a=b',
    'HTTP://Target.EXAMPLE:80/hooks?a=b#part',
    'http://target.example/x/../hooks?a=b#',
    'http://t%61rget.example/./hooks?a=b',
  ];
  for (const target of same) assert.equal(normalizeTarget(new URL(target)), 'http://target.example/hooks?a=b');
  const url = new URL('http://target.example/#kept');
  assert.notEqual(normalizeTarget(url), normalizeTarget(new URL('https://target.example/')));
  assert.equal(url.hash, '#kept');
});

test('the check returns every address to dial, in canonical form, once', async () => {
  const resolve: ResolveName = async () => ({
    addresses: ['8.8.8.8', '2606:4700:0:0::1', '8.8.8.8', '::FFFF:8.8.4.4'],
  });
  assert.deepEqual(await guardWith({ resolve }).checkTarget(new URL('http://target.example/')), {
    allowed: true,
    addresses: [
      { address: '8.8.8.8', family: 4 },
      { address: '2606:4700::1', family: 6 },
      { address: '::ffff:808:404', family: 6 },
    ],
  });
});

test('a name is resolved once, without brackets or trailing dot; an address is not resolved', async () => {
  const asked: [string, number][] = [];
  const resolve: ResolveName = async (hostname, timeoutMs) => {
    asked.push([hostname, timeoutMs]);
    return { addresses: ['8.8.8.8'] };
  };
  await guardWith({ resolve }).checkTarget(new URL('http://Target.Example.:8080/'), 123);
  await guardWith({ resolve }).checkTarget(new URL('http://8.8.8.8/'));
  await guardWith({ resolve }).checkTarget(new URL('http://[2606:4700::1]/'));
  await guardWith({ resolve }).checkTarget(new URL('http://0x08080808/'));
  assert.deepEqual(asked, [['target.example', 123]]);
});

test('C11 C19 a name without an address is distinguished from a silent resolver', async () => {
  const resolveTo = (resolved: Awaited<ReturnType<ResolveName>>) => ({ resolve: async () => resolved });
  assert.equal(await checkResultFor('http://a.example/', resolveTo({ failure: 'no_such_name' })), 'no_such_name');
  assert.equal(await checkResultFor('http://a.example/', resolveTo({ failure: 'resolver_silent' })), 'resolver_silent');
  assert.equal(await checkResultFor('http://a.example/', resolveTo({ addresses: [] })), 'no_such_name');
});

test('allowing loopback allows 127.0.0.0/8 and ::1 only', async () => {
  const open = ['127.0.0.1', '127.255.0.1', '2130706433', 'localhost', '[::1]', '[::ffff:127.0.0.1]', 'mapped.example'];
  for (const host of open)
    assert.equal(await checkResultFor(`http://${host}/`, { loopbackAllowed: true }), 'allowed', host);

  const harmless = /^127[.][0-9.]+$|^::1$|^::ffff:7f..:|^::ffff:127[.]|^8[.]8[.]8[.]/;
  const shut = forbiddenTargets.filter((target) => {
    const host = new URL(target).hostname.replace(/^\[|\]$|\.$/g, '');
    return !(addressesByName[host] ?? [host]).every((address) => harmless.test(address) && address !== '127.1');
  });
  assert.ok(shut.length > 100);
  assert.ok(shut.includes('http://[64:ff9b::7f00:1]/'));
  for (const target of shut) assert.equal(await checkResultFor(target, { loopbackAllowed: true }), 'forbidden', target);
});

test('a CIDR rule allows its addresses in every spelling, and no others', async () => {
  const rules = '10.0.0.0/8, 192.168.1.5,fd00::/8';
  for (const host of ['10.1.2.3', '10.1', '192.168.1.5', '[fd12::1]', '[::ffff:10.0.0.1]', 'private.example']) {
    assert.equal(await checkResultFor(`http://${host}/`, { rules }), 'allowed', host);
  }
  for (const host of ['192.168.1.6', '172.16.0.1', '[fc00::1]', '127.0.0.1', 'bad4-good6.example']) {
    assert.equal(await checkResultFor(`http://${host}/`, { rules }), 'forbidden', host);
  }
});

test('a rule with a port allows only that port', async () => {
  const rules = '10.0.0.5:8080,[fd00::5]:443,private.example:80,192.168.0.0/16:9000';
  for (const place of [
    'http://10.0.0.5:8080',
    'https://[fd00::5]',
    'http://private.example',
    'http://192.168.3.4:9000',
  ]) {
    assert.equal(await checkResultFor(place, { rules }), 'allowed', place);
  }
  for (const place of ['http://10.0.0.5', 'http://[fd00::5]', 'https://private.example', 'http://192.168.3.4']) {
    assert.equal(await checkResultFor(place, { rules }), 'forbidden', place);
  }
});

test('a name rule allows exactly this name, and neither its address nor another name', async () => {
  const rules = 'Private.Example.,good-then-bad.example,mapped.example';
  for (const host of ['private.example', 'PRIVATE.example.', 'good-then-bad.example', 'mapped.example']) {
    assert.equal(await checkResultFor(`http://${host}/`, { rules }), 'allowed', host);
  }
  for (const host of ['10.1.2.3', 'bad-then-good.example', 'app.localhost']) {
    assert.equal(await checkResultFor(`http://${host}/`, { rules }), 'forbidden', host);
  }
  const resolve: ResolveName = async () => ({ addresses: ['10.1.2.3'] });
  assert.equal(await checkResultFor('http://sub.private.example/', { rules, resolve }), 'forbidden');
});

test('link-local and metadata addresses are allowed by a rule inside their range, never by a name or a wider range', async () => {
  const places = {
    '169.254.169.254': '169.254.169.254',
    '[fe80::1]': 'fe80::/16',
    '[fd00:ec2::254]': 'fd00:ec2::254/128',
    '[fd00:ec2::23]': 'fd00:ec2::23/128',
    '[fd00:a9fe:a9fe::1]': 'fd00:a9fe:a9fe::1/128',
    '100.100.100.200': '100.100.100.200/32',
    '168.63.129.16': '168.63.129.16',
    '192.0.0.192': '192.0.0.192',
    '[::ffff:169.254.169.254]': '169.254.0.0/16',
    '[64:ff9b::a9fe:a9fe]': '169.254.169.0/24',
    '0.0.0.0': '0.0.0.0/32',
    '[::]': '::/128',
    '224.0.0.1': '224.0.0.0/8',
    '[ff02::1]': 'ff02::/16',
  };
  const wide = '0.0.0.0/0,::/0,169.0.0.0/8,100.64.0.0/10,fd00::/8,fd00:ec2::/32,192.0.0.0/24,a.example';
  for (const [host, rules] of Object.entries(places)) {
    const address = host.replace(/^\[(.*)\]$/, '$1');
    const resolve: ResolveName = async () => ({ addresses: [address] });
    assert.equal(await checkResultFor(`http://${host}/`, { rules: wide }), 'forbidden', host);
    assert.equal(await checkResultFor('http://a.example/', { rules: wide, resolve }), 'forbidden', host);
    assert.equal(await checkResultFor(`http://${host}/`, { rules }), 'allowed', host);
    assert.equal(await checkResultFor('http://a.example/', { rules, resolve }), 'allowed', host);
  }
  assert.equal(await checkResultFor('http://10.9.8.7/', { rules: wide }), 'allowed');
  assert.equal(await checkResultFor('http://[fd00::1]/', { rules: wide }), 'allowed');
});

test('the refusal contains the address and a setting, and that setting allows exactly this target', async () => {
  const refusals = [
    ['http://10.0.0.5:8080/', '', 'CARILLON_ALLOW_TARGETS=10.0.0.5/32:8080'],
    ['https://0x7f.1/', '', 'CARILLON_ALLOW_TARGETS=127.0.0.1/32:443'],
    ['http://[fd00::5]/', '', 'CARILLON_ALLOW_TARGETS=[fd00::5/128]:80'],
    ['http://[2002:a00:1::1]/', '', 'CARILLON_ALLOW_TARGETS=10.0.0.1/32:80'],
    ['http://169.254.169.254/', '0.0.0.0/0', 'CARILLON_ALLOW_TARGETS=0.0.0.0/0,169.254.169.254/32:80'],
    ['http://localhost:3000/', 'a.test', 'CARILLON_ALLOW_TARGETS=a.test,127.0.0.1/32:3000,[::1/128]:3000'],
    ['http://[fe80::5efe:a00:1]/', '', 'CARILLON_ALLOW_TARGETS=[fe80::5efe:a00:1/128]:80,10.0.0.1/32:80'],
  ] as const;
  for (const [target, rules, setting] of refusals) {
    const verdict = await guardWith({ rules }).checkTarget(new URL(target));
    assert.ok('allowed' in verdict && !verdict.allowed, target);
    assert.equal(verdict.publicReason, 'forbidden');
    assert.equal(verdict.setting, setting);
    assert.equal(
      explainForbiddenTarget(verdict),
      `${verdict.address} is not a public address; to allow it, start the service with ${setting}`,
    );
    const opened = setting.replace('CARILLON_ALLOW_TARGETS=', '');
    assert.equal(await checkResultFor(target, { rules: opened }), 'allowed', target);
    const elsewhere = new URL(target);
    elsewhere.port = '4711';
    assert.equal(await checkResultFor(elsewhere.href, { rules: opened }), 'forbidden', elsewhere.href);
  }
});

test('an address that cannot be dialled as written is rejected, whatever the settings', async () => {
  const rules = '0.0.0.0/0,::/0,127.0.0.1,zone.example,octal.example,nonsense.example';
  for (const host of ['zone.example', 'octal.example', 'nonsense.example']) {
    const verdict = await guardWith({ rules, loopbackAllowed: true }).checkTarget(new URL(`http://${host}/`));
    assert.ok('allowed' in verdict && !verdict.allowed, host);
    assert.match(explainForbiddenTarget(verdict), /no setting can allow it$/);
  }
});

test('CARILLON_ALLOW_TARGETS: empty text, blanks and repeated commas are ignored', () => {
  for (const text of ['', ' ', ',', ' , ,']) assert.deepEqual(parseAllowRules(text), { rules: [] });
});

test('CARILLON_ALLOW_TARGETS: all invalid entries are reported together', () => {
  const faulty = [
    '10.0.0.0/33',
    '10.0.0.0/-1',
    '10.0.0.0/8/8',
    '10.0.0.0/',
    '10.0.0.5/8',
    'fd00::1/8',
    'fd00::/129',
    '10.0.0.5:0',
    '10.0.0.5:65536',
    '10.0.0.5:http',
    '10.0.0.5:',
    '[fd00::1',
    '[fd00::1]8080',
    'fe80::1%eth0',
    '127.1',
    '0x7f000001',
    '2130706433',
    '*.example',
    'a b.example',
    'http://a.example',
    'a.example/path',
    'user@a.example',
    '::ffff:10.0.0.0/104',
    '64:ff9b::a00:1',
    '2002:a00:1::/48',
    'metadata.google.internal',
    'Metadata.Google.Internal.:80',
  ];
  for (const entry of faulty) {
    const parsed = parseAllowRules(`10.0.0.0/8,${entry}`);
    assert.ok('fault' in parsed, entry);
    assert.ok(parsed.fault.startsWith(`"${entry}" `), parsed.fault);
  }
  const parsed = parseAllowRules(faulty.join(','));
  assert.ok('fault' in parsed);
  for (const entry of faulty) assert.ok(parsed.fault.includes(`"${entry}" `), entry);
});
