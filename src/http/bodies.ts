import type { IncomingMessage } from 'node:http';
import type { FastifyReply, FastifyRequest } from 'fastify';
import type { Owner, Quota } from '../async/quota.ts';
import { parseJson } from '../json.ts';
import { Problem } from '../problems.ts';
import type { Connections } from './connections.ts';
import { mustBeJson } from './json.ts';
import { overloaded } from './shedding.ts';

/** A body as it arrived, and what it says. */
export type Body = { readonly bytes: Uint8Array; readonly value: unknown };

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
  /** Bytes of bodies that are being received, or worked on. */
  readonly quota: Quota;
  readonly deadlines: BodyDeadlines;
  readonly connections: () => Pick<Connections, 'of' | 'awaitBody' | 'whenOver'>;
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
  read(
    request: FastifyRequest,
    reply: FastifyReply,
    sender: Sender,
    maxBytes: number,
  ): Promise<Body | undefined> | undefined {
    mustBeJson(request);
    if (declaredLength(request.raw) === 0) return undefined;
    const chunks: Buffer[] = [];
    const { quota } = this.#ports;
    const taken = this.receive(request, reply, { ...sender, maxBytes, quota }, (chunk) => void chunks.push(chunk));
    return taken.then(() => bodyIn(chunks));
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
    const stop = () => {
      request.off('data', onData).off('end', onEnd).off('error', fail);
      if (connection !== undefined) connections.awaitBody(connection, undefined);
    };
    const fail = (error: unknown) => {
      stop();
      // The rest of it is dropped.
      request.on('error', () => undefined).resume();
      reject(error);
    };
    const onEnd = () => {
      stop();
      resolve();
    };
    const onData = (chunk: Buffer) => {
      received += chunk.length;
      try {
        const taken = take(chunk, received);
        if (taken === undefined) return;
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

function bodyIn(chunks: readonly Buffer[]): Body | undefined {
  // Copied in any case: a chunk may be a view of the buffer that sockets are read into.
  const bytes = Buffer.concat(chunks);
  if (bytes.length === 0) return undefined;
  try {
    return { bytes, value: parseJson(bytes) };
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
