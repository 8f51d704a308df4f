import { createSocket } from 'node:dgram';
import { once } from 'node:events';
import ipaddr from 'ipaddr.js';
import type { Clock } from '../../../src/clock.ts';
import { createResolver, type ResolveName } from '../../../src/delivery/transport/dns-resolver.ts';
import { atEnd, type Cleanup } from '../cleanup.ts';
import type { ApiResponse, ApiUser, TestService } from '../service/service.ts';

const RECORD_TYPES = { A: 1, CNAME: 5, AAAA: 28 } as const;
export type AddressFamily = 'A' | 'AAAA';

export type DnsQuestion = { readonly name: string; readonly family: AddressFamily };

/** Reply to a DNS query; with `silence`, the server sends nothing. */
export type DnsReply =
  | 'silence'
  | {
      readonly rcode: number;
      /** Addresses of the name. The reply contains only addresses of the queried family. */
      readonly addresses?: readonly string[];
      /** Targets of a chain of CNAME records. The addresses belong to the last name in the chain. */
      readonly aliasOf?: readonly string[];
      /** TTL in seconds; 60 when left out. */
      readonly ttl?: number;
    };

export const OK = (...addresses: string[]): DnsReply => ({ rcode: 0, addresses });
export const NO_DATA: DnsReply = { rcode: 0 };
export const SERVER_FAILURE: DnsReply = { rcode: 2 };
export const NO_SUCH_NAME: DnsReply = { rcode: 3 };
export const REFUSED: DnsReply = { rcode: 5 };

export type NameServer = {
  readonly port: number;
  /** All queries, in the order of arrival. */
  readonly queries: readonly DnsQuestion[];
  /** The resolver of the service, which queries only this server. */
  createResolver(clock?: Clock): ResolveName;
};

/** Starts a DNS server on loopback with scripted replies. */
export async function startNameServer(
  context: Cleanup,
  replyTo: (question: DnsQuestion) => DnsReply | Promise<DnsReply>,
  port = 0,
): Promise<NameServer> {
  const receivedQuestions: DnsQuestion[] = [];
  const socket = createSocket('udp4');
  let isOpen = true;
  socket.on('message', async (query, peer) => {
    const { question, endOffset } = parseQuery(query);
    receivedQuestions.push(question);
    const reply = await replyTo(question);
    if (reply !== 'silence' && isOpen)
      socket.send(encodeReply(query.subarray(0, endOffset), question, reply), peer.port, peer.address);
  });
  socket.bind(port, '127.0.0.1');
  await once(socket, 'listening');
  atEnd(context, () => {
    isOpen = false;
    socket.close();
  });
  const boundPort = socket.address().port;
  return {
    port: boundPort,
    queries: receivedQuestions,
    createResolver: (clock) =>
      createResolver({
        nameServers: [`127.0.0.1:${boundPort}`],
        hostsFile: '/nonexistent',
        ...(clock === undefined ? {} : { clock }),
      }),
  };
}

/** Parses the question of a DNS query. `endOffset` is the offset of the first byte after the question. */
function parseQuery(query: Buffer): { question: DnsQuestion; endOffset: number } {
  const labels: string[] = [];
  let offset = 12;
  for (let length = query.readUInt8(offset); length > 0; length = query.readUInt8(offset)) {
    labels.push(query.toString('latin1', offset + 1, offset + 1 + length));
    offset += 1 + length;
  }
  const family = query.readUInt16BE(offset + 1) === RECORD_TYPES.A ? 'A' : 'AAAA';
  // A resolver may use any case in the queried name (RFC 1035, 0x20 encoding).
  return { question: { name: labels.join('.').toLowerCase(), family }, endOffset: offset + 5 };
}

function encodeReply(query: Buffer, { name, family }: DnsQuestion, reply: Exclude<DnsReply, 'silence'>): Buffer {
  const names = [name, ...(reply.aliasOf ?? [])];
  const ttl = reply.ttl ?? 60;
  const aliases = names
    .slice(1)
    .map((target, index) => encodeRecord(names[index] ?? '', RECORD_TYPES.CNAME, ttl, encodeName(target)));
  const addresses = (reply.addresses ?? [])
    .map((text) => ipaddr.parse(text))
    .filter((address) => (address.kind() === 'ipv4') === (family === 'A'))
    .map((address) => encodeRecord(names.at(-1) ?? '', RECORD_TYPES[family], ttl, Buffer.from(address.toByteArray())));
  const header = Buffer.from(query.subarray(0, 12));
  header.writeUInt16BE(0x8180 | reply.rcode, 2);
  header.writeUInt16BE(aliases.length + addresses.length, 6);
  header.writeUInt32BE(0, 8);
  return Buffer.concat([header, query.subarray(12), ...aliases, ...addresses]);
}

function encodeRecord(name: string, type: number, ttl: number, data: Buffer): Buffer {
  const head = Buffer.alloc(10);
  head.writeUInt16BE(type, 0);
  head.writeUInt16BE(1, 2);
  head.writeUInt32BE(ttl, 4);
  head.writeUInt16BE(data.length, 8);
  return Buffer.concat([encodeName(name), head, data]);
}

/** Encodes a name as length-prefixed labels. */
function encodeName(name: string): Buffer {
  const labels = name.split('.').map((label) => Buffer.from(`${String.fromCharCode(label.length)}${label}`, 'latin1'));
  return Buffer.concat([...labels, Buffer.alloc(1)]);
}

/**
 * A resolver whose host names resolve when `release()` is called. A subscription that waits for its host name occupies
 * a slot.
 */
export type SlowResolver = {
  readonly resolve: ResolveName;
  /** Returns the number of waiting subscriptions. */
  readonly countWaitingSubscriptions: () => number;
  /** Starts a subscription. Its response arrives after `release`. */
  subscribe(service: TestService, owner: ApiUser): Promise<ApiResponse>;
  release(): void;
};

export function createSlowResolver(): SlowResolver {
  const { promise, resolve } = Promise.withResolvers<{ addresses: string[] }>();
  let waitingCount = 0;
  let hookCount = 0;
  return {
    resolve: () => {
      waitingCount += 1;
      return promise;
    },
    countWaitingSubscriptions: () => waitingCount,
    subscribe(service, owner) {
      hookCount += 1;
      const hook = { target_url: `http://slow.example/${hookCount}`, event: 'new_event' };
      return service.call(owner, 'POST', '/v2/hooks', hook);
    },
    release: () => resolve({ addresses: ['93.184.215.14'] }),
  };
}
