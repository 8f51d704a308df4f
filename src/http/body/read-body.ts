import { createHash, hash } from 'node:crypto';
import type { IncomingMessage } from 'node:http';
import type { FastifyReply, FastifyRequest } from 'fastify';
import type { FairScheduler } from '../../async/fair-scheduler.ts';
import type { Quota, QuotaOwner } from '../../async/quota.ts';
import { parseJson } from '../../json.ts';
import { Problem } from '../../problems.ts';
import type { ConnectionTracker } from '../server/connections.ts';
import { markAsShed } from '../server/load-shedding.ts';
import { requireJson } from './body-parser.ts';
import { RestTooLargeError, type StreamedField, StreamedFieldExtractor } from './streamed-field.ts';
import { GrowingBuffer, TemporaryTextFile } from './temporary-file.ts';

/** A parsed request body. `hashWithPrefix` returns a SHA-256 of a prefix followed by the raw bytes. */
export type ParsedBody = {
  readonly value: unknown;
  readonly hashWithPrefix: (prefix: string) => string;
  /**
   * The file with the text of the streamed field, for which `value` has a placeholder. The caller has to close the
   * file.
   */
  readonly text?: TemporaryTextFile | undefined;
};

/**
 * The sender of a body. The body of an authenticated sender (`isKnown`) must arrive at a minimum rate, any other body
 * within a fixed timeout.
 */
export type BodySender = { readonly owner: QuotaOwner; readonly isKnown: boolean };

export type BodyDeadlines = {
  /** After this time, the body of an authenticated sender must arrive at `minBodyBytesPerS` on average. */
  readonly bodyGraceMs: number;
  readonly minBodyBytesPerS: number;
  /** Timeout for the whole body of an unauthenticated sender. */
  readonly visitorBodyMs: number;
};

export type BodyReaderPorts = {
  /** Quota for the bytes of bodies in memory, until their responses are sent. */
  readonly quota: Quota;
  /** Quota for the bytes of bodies in temporary files, until their responses are sent. */
  readonly fileQuota: Quota;
  readonly deadlines: BodyDeadlines;
  readonly connections: () => Pick<ConnectionTracker, 'of' | 'awaitBody' | 'whenOver'>;
  /** Processes the chunks of long bodies in turn with the requests of other callers. */
  readonly scheduler: Pick<FairScheduler, 'waitForTurn'>;
};

/** Maximum size of a body, unless the route has another limit. */
export const MAX_BODY_BYTES = 64 * 1_024;

/** Memory charged for each body in addition to its bytes. */
const OVERHEAD_BYTES = 4_096;

/** Receives request bodies within size limits, timeouts and memory quotas. */
export class BodyReader {
  readonly #ports: BodyReaderPorts;

  constructor(ports: BodyReaderPorts) {
    this.#ports = ports;
  }

  /** Reads a JSON body; undefined if there is none. */
  read(request: FastifyRequest, reply: FastifyReply, sender: BodySender): Promise<ParsedBody | undefined> | undefined {
    requireJson(request);
    if (declaredLengthOf(request.raw) === 0) return undefined;
    const bytes = new GrowingBuffer();
    const { quota } = this.#ports;
    const options = { ...sender, maxBytes: MAX_BODY_BYTES, quota };
    return this.receive(request, reply, options, (chunk) => bytes.add(chunk)).then(() => parseBody(bytes.bytes()));
  }

  /** Reads a JSON body and streams the text of one field to a temporary file. The rest is limited to MAX_BODY_BYTES. */
  async readLong(
    request: FastifyRequest,
    reply: FastifyReply,
    sender: BodySender,
    { name, maxBytes }: StreamedField,
    prefix: string,
  ): Promise<ParsedBody | undefined> {
    requireJson(request);
    if (declaredLengthOf(request.raw) === 0) return undefined;
    const long = new StreamedFieldExtractor(name, MAX_BODY_BYTES);
    const hashing = createHash('sha256').update(prefix);
    let text: TemporaryTextFile | undefined;
    try {
      const { fileQuota, scheduler } = this.#ports;
      const reader = `body of ${sender.owner.member ?? sender.owner.group}`;
      await this.receive(request, reply, { ...sender, maxBytes, quota: fileQuota }, async (chunk) => {
        await scheduler.waitForTurn(reader);
        hashing.update(chunk);
        const part = pushChunk(long, chunk);
        if (part === '') return;
        text ??= await TemporaryTextFile.create();
        await text.write(part);
      });
      const rest = rejectMalformed(() => long.end());
      if (rest.length === 0) return undefined;
      const digest = hashing.digest('base64url');
      return { value: rejectMalformed(() => parseJson(rest)), hashWithPrefix: () => digest, text };
    } catch (error) {
      await text?.close();
      throw error;
    }
  }

  /**
   * Receives a body in chunks.
   *
   * @param quota is charged for the bytes until the response is sent
   * @param take is awaited before the next chunk is read
   */
  receive(
    request: FastifyRequest,
    reply: FastifyReply,
    { owner, isKnown, maxBytes, quota }: BodySender & { readonly maxBytes: number; readonly quota: Quota },
    take: (chunk: Buffer) => void | Promise<void>,
  ): Promise<void> {
    const { raw } = request;
    const declared = declaredLengthOf(raw);
    if ((declared ?? 0) > maxBytes) throw new Problem('body_too_large');
    let charged = OVERHEAD_BYTES + (declared ?? 0);
    if (!quota.take(owner, charged)) throw markAsShed(request, 'request_bytes');
    this.#ports.connections().whenOver(reply.raw, () => quota.giveBack(owner, charged));
    if (raw.destroyed) throw new Problem('malformed_request');
    if (expectsContinue(raw)) reply.raw.writeContinue();
    return this.#receiveAll(raw, isKnown, (chunk, received) => {
      if (received > maxBytes) throw new Problem('body_too_large');
      if (declared === undefined) {
        if (!quota.take(owner, chunk.length)) throw markAsShed(request, 'request_bytes');
        charged += chunk.length;
      }
      return take(chunk);
    });
  }

  #receiveAll(
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
    // Node emits `end` and `error` even while a chunk is being processed, so the promise waits for that chunk.
    const fail = (error: unknown) => {
      stop();
      // Discard the rest of the body.
      request.on('error', () => undefined).resume();
      const rejectNow = () => reject(error);
      if (taking === undefined) rejectNow();
      else taking.then(rejectNow, rejectNow);
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
      connections.awaitBody(connection, { isLate, rejectLate: () => fail(new Problem('request_timeout')) });
    }
    return promise;
  }
}

function parseBody(bytes: Buffer): ParsedBody | undefined {
  if (bytes.length === 0) return undefined;
  const hashWithPrefix = (prefix: string) => hash('sha256', Buffer.concat([Buffer.from(prefix), bytes]), 'base64url');
  return { value: rejectMalformed(() => parseJson(bytes)), hashWithPrefix };
}

function pushChunk(long: StreamedFieldExtractor, chunk: Buffer): string {
  try {
    return long.push(chunk);
  } catch (error) {
    throw new Problem(error instanceof RestTooLargeError ? 'body_too_large' : 'malformed_body');
  }
}

function rejectMalformed<T>(read: () => T): T {
  try {
    return read();
  } catch {
    throw new Problem('malformed_body');
  }
}

/** Whether an incomplete body has exceeded its timeout or falls short of the minimum rate. */
export function isTooSlow(
  { isKnown, ageMs, received }: { isKnown: boolean; ageMs: number; received: number },
  { bodyGraceMs, minBodyBytesPerS, visitorBodyMs }: BodyDeadlines,
): boolean {
  if (!isKnown) return ageMs >= visitorBodyMs;
  return ageMs >= bodyGraceMs && received <= ((ageMs - bodyGraceMs) / 1_000) * minBodyBytesPerS;
}

/** The declared `Content-Length`; 0 if there is no body, undefined if the body is chunked. */
function declaredLengthOf({ headers }: IncomingMessage): number | undefined {
  return headers['transfer-encoding'] === undefined ? Number(headers['content-length'] ?? 0) : undefined;
}

/** Whether the client waits for `100 Continue`. Node does not send it itself, because we listen to `checkContinue`. */
function expectsContinue({ headers, httpVersion }: IncomingMessage): boolean {
  return headers.expect !== undefined && httpVersion === '1.1' && /(?:^|\W)100-continue(?:$|\W)/i.test(headers.expect);
}
