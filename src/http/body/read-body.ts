import { createHash, hash } from 'node:crypto';
import type { IncomingMessage } from 'node:http';
import type { FastifyReply, FastifyRequest } from 'fastify';
import type { Owner, Quota } from '../../async/quota.ts';
import { parseJson } from '../../json.ts';
import { Problem } from '../../problems.ts';
import type { ConnectionState } from '../server/connections.ts';
import { overloaded } from '../server/load-shedding.ts';
import { mustBeJson } from './body-parser.ts';
import { GrowingBuffer } from './growing-buffer.ts';
import { type LongField, LongText, RestTooLarge } from './streamed-field.ts';
import { TextFile } from './temporary-file.ts';

/** What a body says, and a hash of a beginning and of the bytes that arrived. */
export type Body = {
  readonly value: unknown;
  readonly hashBehind: (beginning: string) => string;
  /** The long text of its field, for which `value` has a stand-in. To be closed. */
  readonly text?: TextFile | undefined;
};

/** Whose body it is: that of somebody who is known has time by its length, any other a fixed one. */
export type Sender = { readonly owner: Owner; readonly isKnown: boolean };

export type BodyDeadlines = {
  /** A body of somebody who is known arrives at this rate at least, but for its first seconds. */
  readonly bodyGraceMs: number;
  readonly minBodyBytesPerS: number;
  /** A body of anybody else arrives within this time. */
  readonly visitorBodyMs: number;
};

export type BodiesPorts = {
  /** Bytes of bodies that are being received, or worked on: in memory, and in files. */
  readonly quota: Quota;
  readonly fileQuota: Quota;
  readonly deadlines: BodyDeadlines;
  readonly connections: () => Pick<ConnectionState, 'of' | 'awaitBody' | 'whenOver'>;
};

/** The most bytes of a body, where a route does not say otherwise. */
export const MAX_BODY_BYTES = 64 * 1_024;

/** An announced body takes this much memory beside its bytes. */
const OVERHEAD_BYTES = 4_096;

/** Receives bodies: within their limits, at a minimum rate, and no more at a time than there is memory for. */
export class Bodies {
  readonly #ports: BodiesPorts;

  constructor(ports: BodiesPorts) {
    this.#ports = ports;
  }

  /** Reads a body of JSON; undefined where there is none. */
  read(request: FastifyRequest, reply: FastifyReply, sender: Sender): Promise<Body | undefined> | undefined {
    mustBeJson(request);
    if (declaredLength(request.raw) === 0) return undefined;
    const bytes = new GrowingBuffer();
    const { quota } = this.#ports;
    const order = { ...sender, maxBytes: MAX_BODY_BYTES, quota };
    return this.receive(request, reply, order, (chunk) => bytes.add(chunk)).then(() => bodyIn(bytes.bytes()));
  }

  /** The same of a body with a long text, which goes into a file as it arrives; the rest of it is as short as any other. */
  async readLong(
    request: FastifyRequest,
    reply: FastifyReply,
    sender: Sender,
    { name, maxBytes }: LongField,
    beginning: string,
  ): Promise<Body | undefined> {
    mustBeJson(request);
    if (declaredLength(request.raw) === 0) return undefined;
    const long = new LongText(name, MAX_BODY_BYTES);
    const digesting = createHash('sha256').update(beginning);
    let text: TextFile | undefined;
    try {
      await this.receive(request, reply, { ...sender, maxBytes, quota: this.#ports.fileQuota }, async (chunk) => {
        digesting.update(chunk);
        const piece = pieceOf(long, chunk);
        if (piece === '') return;
        text ??= await TextFile.create();
        await text.write(piece);
      });
      const rest = asJson(() => long.end());
      if (rest.length === 0) return undefined;
      const digest = digesting.digest('base64url');
      return { value: asJson(() => parseJson(rest)), hashBehind: () => digest, text };
    } catch (error) {
      await text?.close();
      throw error;
    }
  }

  /**
   * Receives a body piece by piece.
   *
   * @param quota its bytes count there until its response has left
   * @param take is waited for before the next piece
   */
  receive(
    request: FastifyRequest,
    reply: FastifyReply,
    { owner, isKnown, maxBytes, quota }: Sender & { readonly maxBytes: number; readonly quota: Quota },
    take: (chunk: Buffer) => void | Promise<void>,
  ): Promise<void> {
    const { raw } = request;
    const declared = declaredLength(raw);
    if ((declared ?? 0) > maxBytes) throw new Problem('body_too_large');
    let charged = OVERHEAD_BYTES + (declared ?? 0);
    if (!quota.take(owner, charged)) throw overloaded(request, 'request_bytes');
    this.#ports.connections().whenOver(reply.raw, () => quota.give(owner, charged));
    if (raw.destroyed) throw new Problem('malformed_request');
    if (expectsContinue(raw)) reply.raw.writeContinue();
    return this.#untilComplete(raw, isKnown, (chunk, received) => {
      if (received > maxBytes) throw new Problem('body_too_large');
      if (declared === undefined) {
        if (!quota.take(owner, chunk.length)) throw overloaded(request, 'request_bytes');
        charged += chunk.length;
      }
      return take(chunk);
    });
  }

  #untilComplete(
    request: IncomingMessage,
    isKnown: boolean,
    take: (chunk: Buffer, received: number) => void | Promise<void>,
  ): Promise<void> {
    const { deadlines } = this.#ports;
    const connections = this.#ports.connections();
    const connection = connections.of(request.socket);
    const { promise, resolve, reject } = Promise.withResolvers<void>();
    let received = 0;
    let taking: Promise<void> | undefined;
    const stop = () => {
      request.off('data', onData).off('end', onEnd).off('error', fail);
      if (connection !== undefined) connections.awaitBody(connection, undefined);
    };
    // The end of the body, or of its connection, comes even while a piece is being taken.
    const fail = (error: unknown) => {
      stop();
      // The rest of it is dropped.
      request.on('error', () => undefined).resume();
      const give = () => reject(error);
      if (taking === undefined) give();
      else taking.then(give, give);
    };
    const onEnd = () => {
      stop();
      if (taking === undefined) resolve();
      else taking.then(resolve, reject);
    };
    const onData = (chunk: Buffer) => {
      received += chunk.length;
      try {
        const taken = take(chunk, received);
        if (taken === undefined) return;
        taking = taken;
        request.pause();
        taken.then(() => request.resume(), fail);
      } catch (error) {
        fail(error);
      }
    };
    request.on('data', onData).on('end', onEnd).on('error', fail);
    if (connection !== undefined) {
      const isLate = (ageMs: number) => isTooSlow({ isKnown, ageMs, received }, deadlines);
      connections.awaitBody(connection, { isLate, giveUp: () => fail(new Problem('request_timeout')) });
    }
    return promise;
  }
}

function bodyIn(bytes: Buffer): Body | undefined {
  if (bytes.length === 0) return undefined;
  const hashBehind = (beginning: string) => hash('sha256', Buffer.concat([Buffer.from(beginning), bytes]), 'base64url');
  return { value: asJson(() => parseJson(bytes)), hashBehind };
}

function pieceOf(long: LongText, chunk: Buffer): string {
  try {
    return long.push(chunk);
  } catch (error) {
    throw new Problem(error instanceof RestTooLarge ? 'body_too_large' : 'malformed_body');
  }
}

function asJson<T>(read: () => T): T {
  try {
    return read();
  } catch {
    throw new Problem('malformed_body');
  }
}

/** Whether a body that is not complete should have been by now, or have come further. */
export function isTooSlow(
  { isKnown, ageMs, received }: { isKnown: boolean; ageMs: number; received: number },
  { bodyGraceMs, minBodyBytesPerS, visitorBodyMs }: BodyDeadlines,
): boolean {
  if (!isKnown) return ageMs >= visitorBodyMs;
  return ageMs >= bodyGraceMs && received <= ((ageMs - bodyGraceMs) / 1_000) * minBodyBytesPerS;
}

/** The bytes that a body is announced with, 0 where there is none; undefined where it comes in chunks. */
function declaredLength({ headers }: IncomingMessage): number | undefined {
  return headers['transfer-encoding'] === undefined ? Number(headers['content-length'] ?? 0) : undefined;
}

/** Whether the sender waits until it is told to send the body. Node answers by itself where nobody listens. */
function expectsContinue({ headers, httpVersion }: IncomingMessage): boolean {
  return headers.expect !== undefined && httpVersion === '1.1' && /(?:^|\W)100-continue(?:$|\W)/i.test(headers.expect);
}
