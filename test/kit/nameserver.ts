import { createSocket } from 'node:dgram';
import { once } from 'node:events';
import ipaddr from 'ipaddr.js';
import type { Clock } from '../../src/clock.ts';
import { createResolver, type Resolve } from '../../src/delivery/transport/dns-resolver.ts';
import { atEnd, type Cleanup } from './cleanup.ts';

const TYPES = { A: 1, CNAME: 5, AAAA: 28 } as const;
export type Family = 'A' | 'AAAA';

export type Question = { readonly name: string; readonly family: Family };

/** What a name server says; `silence` never answers. */
export type Reply =
  | 'silence'
  | {
      readonly rcode: number;
      /** Those of the other family are left out. */
      readonly addresses?: readonly string[];
      /** Whose addresses these are, where the name is only an alias: one for another, to the last. */
      readonly aliasOf?: readonly string[];
      /** Seconds for which this may be remembered; a minute when left out. */
      readonly ttl?: number;
    };

export const OK = (...addresses: string[]): Reply => ({ rcode: 0, addresses });
export const NO_DATA: Reply = { rcode: 0 };
export const SERVER_FAILURE: Reply = { rcode: 2 };
export const NO_SUCH_NAME: Reply = { rcode: 3 };
export const REFUSED: Reply = { rcode: 5 };

export type NameServer = {
  readonly port: number;
  /** Every question, in the order in which they came. */
  readonly asked: readonly Question[];
  /** The service's own resolver, which asks here and nowhere else. */
  resolver(clock?: Clock): Resolve;
};

/** A name server on loopback that says what it is told to. */
export async function startNameServer(
  context: Cleanup,
  replyTo: (question: Question) => Reply | Promise<Reply>,
  port = 0,
): Promise<NameServer> {
  const asked: Question[] = [];
  const socket = createSocket('udp4');
  let open = true;
  socket.on('message', async (query, peer) => {
    const { question, end } = read(query);
    asked.push(question);
    const reply = await replyTo(question);
    if (reply !== 'silence' && open)
      socket.send(answer(query.subarray(0, end), question, reply), peer.port, peer.address);
  });
  socket.bind(port, '127.0.0.1');
  await once(socket, 'listening');
  atEnd(context, () => {
    open = false;
    socket.close();
  });
  const at = socket.address().port;
  return {
    port: at,
    asked,
    resolver: (clock) =>
      createResolver({
        servers: [`127.0.0.1:${at}`],
        hostsFile: '/nonexistent',
        ...(clock === undefined ? {} : { clock }),
      }),
  };
}

function read(query: Buffer): { question: Question; end: number } {
  const labels: string[] = [];
  let at = 12;
  for (let length = query.readUInt8(at); length > 0; length = query.readUInt8(at)) {
    labels.push(query.toString('latin1', at + 1, at + 1 + length));
    at += 1 + length;
  }
  const family = query.readUInt16BE(at + 1) === TYPES.A ? 'A' : 'AAAA';
  // RFC 1035 and 0x20: a name may be asked for in any case.
  return { question: { name: labels.join('.').toLowerCase(), family }, end: at + 5 };
}

function answer(query: Buffer, { name, family }: Question, reply: Exclude<Reply, 'silence'>): Buffer {
  const names = [name, ...(reply.aliasOf ?? [])];
  const ttl = reply.ttl ?? 60;
  const aliases = names.slice(1).map((target, at) => record(names[at] ?? '', TYPES.CNAME, ttl, written(target)));
  const addresses = (reply.addresses ?? [])
    .map((text) => ipaddr.parse(text))
    .filter((address) => (address.kind() === 'ipv4') === (family === 'A'))
    .map((address) => record(names.at(-1) ?? '', TYPES[family], ttl, Buffer.from(address.toByteArray())));
  const header = Buffer.from(query.subarray(0, 12));
  header.writeUInt16BE(0x8180 | reply.rcode, 2);
  header.writeUInt16BE(aliases.length + addresses.length, 6);
  header.writeUInt32BE(0, 8);
  return Buffer.concat([header, query.subarray(12), ...aliases, ...addresses]);
}

function record(name: string, type: number, ttl: number, data: Buffer): Buffer {
  const head = Buffer.alloc(10);
  head.writeUInt16BE(type, 0);
  head.writeUInt16BE(1, 2);
  head.writeUInt32BE(ttl, 4);
  head.writeUInt16BE(data.length, 8);
  return Buffer.concat([written(name), head, data]);
}

/** A name as its labels, each behind its length. */
function written(name: string): Buffer {
  const labels = name.split('.').map((label) => Buffer.from(`${String.fromCharCode(label.length)}${label}`, 'latin1'));
  return Buffer.concat([...labels, Buffer.alloc(1)]);
}
