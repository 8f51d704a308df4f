import { isIP } from 'node:net';
import { setTimeout as wait } from 'node:timers/promises';
import type { SeededRandom } from '../../../packages/chaos-receiver/src/random.ts';
import { addressesByName, aliases } from '../../corpus/targets.ts';
import { type DnsQuestion, type DnsReply, NO_DATA, NO_SUCH_NAME, OK } from '../../kit/network/nameserver.ts';

/** A public and a forbidden address of each family. */
type AddressPair = { readonly good: readonly [string, string]; readonly bad: readonly [string, string] };

const good = ['93.184.216.34', '2606:2800:220:1:248:1893:25c8:1946'] as const;
const addressPairs: readonly AddressPair[] = (
  [
    ['127.0.0.1', '::1'],
    ['169.254.169.254', 'fd00:ec2::254'],
    ['10.0.0.1', 'fd12:3456::1'],
    ['0.0.0.0', '::ffff:127.0.0.1'],
    ['100.64.0.1', '64:ff9b::a00:1'],
  ] as const
).map((bad) => ({ good, bad }));

/** Delay of a response, in milliseconds: long enough for an impatient resolver to continue without it. */
const LATE_MS = 200;

type ReplyScript = (
  ways: AddressPair,
  time: number,
  question: DnsQuestion,
  random: SeededRandom,
) => DnsReply | Promise<DnsReply>;

const delayReply = async (reply: DnsReply) => {
  await wait(LATE_MS);
  return reply;
};

/**
 * The DNS replies for each name. `time` is 0 for the lookup at the subscription, and 1, 2, … for later lookups,
 * counted by address family.
 */
const replyScripts: Readonly<Record<string, ReplyScript>> = {
  turns: ({ good, bad }, time) => OK(...(time === 0 ? good : bad)),
  'turns-in-ipv4': ({ good, bad }, time) => OK(time === 0 ? good[0] : bad[0], good[1]),
  'turns-in-ipv6': ({ good, bad }, time) => OK(good[0], time === 0 ? good[1] : bad[1]),
  'gets-ipv6': ({ good, bad }, time, { family }) => (family === 'A' ? OK(good[0]) : time === 0 ? NO_DATA : OK(bad[1])),
  'to-and-fro': ({ good, bad }, time) => OK(...(time % 2 === 0 ? good : bad)),
  'good-first': ({ good, bad }, time) => OK(...good, ...(time === 0 ? [] : bad)),
  'bad-first': ({ good, bad }, time) => OK(...(time === 0 ? [] : bad), ...good),
  'appears-bad': ({ bad }, time) => (time === 0 ? NO_SUCH_NAME : OK(...bad)),
  'turns-late': ({ good, bad }, time) => delayReply(OK(...(time === 0 ? good : bad))),
  'ipv6-late': ({ good, bad }, time, { family }) =>
    family === 'A' ? OK(good[0]) : delayReply(time === 0 ? NO_DATA : OK(bad[1])),
  'silent-in-ipv4': ({ good, bad }, time, { family }) =>
    time === 0 ? OK(...good) : family === 'A' ? 'silence' : OK(bad[1]),
  'alias-turns': ({ good, bad }, time) => ({
    rcode: 0,
    addresses: time === 0 ? good : bad,
    aliasOf: [time === 0 ? 'public.example' : 'private.example'],
  }),
  'by-chance': ({ good, bad }, time, _question, random) =>
    time === 0 ? OK(...good) : OK(...random.pick([good, bad, [good[0], bad[1]], [bad[0], good[1]]])),
};

const scriptedNames = new Map<string, { way: AddressPair; reply: ReplyScript }>(
  Object.entries(replyScripts).flatMap(([script, reply]) =>
    addressPairs.map((way, at) => [`${script}-${at}.turning.example`, { way, reply }]),
  ),
);

/** Names whose addresses change between lookups. */
export const rebindingNames: readonly string[] = [...scriptedNames.keys()];

/** Whether a DNS record can contain the address: it has no zone index. */
export const isExpressibleInDns = (address: string): boolean => isIP(address) !== 0 && !address.includes('%');

/** Returns the replies of the name server in the namespace, which acts as an attacker. All TTLs are 0. */
export function hostileReplies(random: SeededRandom): (question: DnsQuestion) => Promise<DnsReply> {
  const lookupCounts = new Map<string, number>();
  return async (question) => {
    const { name, family } = question;
    const script = scriptedNames.get(name);
    if (script !== undefined) {
      const time = lookupCounts.get(`${name} ${family}`) ?? 0;
      lookupCounts.set(`${name} ${family}`, time + 1);
      const reply = await script.reply(script.way, time, question, random);
      return reply === 'silence' ? reply : { ...reply, ttl: 0 };
    }
    const addresses = addressesByName[name];
    if (addresses === undefined || !addresses.every(isExpressibleInDns)) return NO_SUCH_NAME;
    return { rcode: 0, addresses, aliasOf: aliasChain(name), ttl: 0 };
  };
}

function aliasChain(name: string): string[] {
  const next = aliases[name];
  return next === undefined ? [] : [next, ...aliasChain(next)];
}
