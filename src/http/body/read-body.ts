import { createHash, hash } from 'node:crypto';
import type { IncomingMessage } from 'node:http';
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import type { FairScheduler } from '../../async/fair-scheduler.ts';
import type { Quota, QuotaOwner } from '../../async/quota.ts';
import { parseJson } from '../../json.ts';
import { Problem } from '../../problems.ts';
import { markAsShed } from '../server/admission.ts';
import type { ConnectionTracker } from '../server/connections.ts';
import { RemainderTooLargeError, type StreamedField, StreamedFieldExtractor } from './streamed-field.ts';
import { GrowingBuffer, TemporaryTextFile } from './temporary-file.ts';

declare module 'fastify' {
  interface FastifyRequest {
    /** The `Content-Type` header as it was sent; undefined if it is missing or empty. */
    bodyType: string | undefined;
  }
}

/** A parsed request body. `hashWithPrefix` returns a SHA-256 of a prefix followed by the raw bytes. */
export type ParsedBody = {
  readonly value: unknown;
  readonly hashWithPrefix: (prefix: string) => string;
  /**
   * The file with the text of the streamed field; `value` contains a placeholder instead of the text. The code that
   * uses the body has to close the file.
   */
  readonly textFile?: TemporaryTextFile | undefined;
};

/**
 * The sender of a body. The body of an authenticated sender must arrive at a minimum rate, any other body within a
 * fixed timeout.
 */
type BodySender = { readonly owner: QuotaOwner; readonly isAuthenticated: boolean };

export type BodyDeadlines = {
  /** After this time, the body of an authenticated sender must arrive at `minBodyBytesPerS` on average. */
  readonly bodyGraceMs: number;
  readonly minBodyBytesPerS: number;
  /** Timeout for the whole body of an unauthenticated sender. */
  readonly visitorBodyMs: number;
};

type BodyReaderDeps = {
  /** Quota for the bytes of bodies in memory. The bytes are charged until the response is sent. */
  readonly memoryQuota: Quota;
  /** Quota for the bytes of bodies in temporary files. The bytes are charged until the response is sent. */
  readonly fileQuota: Quota;
  readonly deadlines: BodyDeadlines;
  readonly connectionTracker: Pick<ConnectionTracker, 'findConnection' | 'setPendingBody' | 'runAfterResponse'>;
  /** Schedules the chunks of long bodies, so that the requests of other callers run in between. */
  readonly scheduler: Pick<FairScheduler, 'waitForTurn'>;
};

/** The body limit, unless the route has another one. */
const MAX_JSON_BODY_BYTES = 64 * 1_024;

/** Memory that is charged to the quota for each body, in addition to its bytes. */
const BODY_OVERHEAD_BYTES = 4_096;

/** Receives request bodies within size limits, timeouts and memory quotas. */
export class BodyReader {
  readonly #deps: BodyReaderDeps;

  constructor(deps: BodyReaderDeps) {
    this.#deps = deps;
  }

  /** Reads a JSON body. Returns undefined if the request has no body. */
  read(request: FastifyRequest, reply: FastifyReply, sender: BodySender): Promise<ParsedBody | undefined> | undefined {
    requireJson(request);
    if (declaredLengthOf(request.raw) === 0) return undefined;
    const bodyBuffer = new GrowingBuffer();
    const { memoryQuota } = this.#deps;
    const receiveOptions = { ...sender, maxBytes: MAX_JSON_BODY_BYTES, quota: memoryQuota };
    return this.receiveChunks(request, reply, receiveOptions, (chunk) => bodyBuffer.append(chunk)).then(() =>
      parseBody(bodyBuffer.bytes()),
    );
  }

  /**
   * Reads a JSON body and streams the text of one field to a file. The JSON without this text is limited to
   * MAX_JSON_BODY_BYTES.
   *
   * @param hashPrefix the only prefix with which `hashWithPrefix` of the result can be called
   */
  async readWithStreamedField(
    request: FastifyRequest,
    reply: FastifyReply,
    sender: BodySender,
    { name, maxBytes }: StreamedField,
    hashPrefix: string,
  ): Promise<ParsedBody | undefined> {
    requireJson(request);
    if (declaredLengthOf(request.raw) === 0) return undefined;
    const extractor = new StreamedFieldExtractor(name, MAX_JSON_BODY_BYTES);
    const bodyHash = createHash('sha256').update(hashPrefix);
    let textFile: TemporaryTextFile | undefined;
    try {
      const { fileQuota, scheduler } = this.#deps;
      const schedulerKey = `body of ${sender.owner.member ?? sender.owner.group}`;
      await this.receiveChunks(request, reply, { ...sender, maxBytes, quota: fileQuota }, async (chunk) => {
        await scheduler.waitForTurn(schedulerKey);
        bodyHash.update(chunk);
        const textPart = pushChunk(extractor, chunk);
        if (textPart === '') return;
        textFile ??= await TemporaryTextFile.create();
        await textFile.write(textPart);
      });
      const remainderJson = rethrowAsMalformedBody(() => extractor.finish());
      if (remainderJson.length === 0) return undefined;
      const bodyDigest = bodyHash.digest('base64url');
      return {
        value: rethrowAsMalformedBody(() => parseJson(remainderJson)),
        hashWithPrefix: () => bodyDigest,
        textFile,
      };
    } catch (error) {
      await textFile?.close();
      throw error;
    }
  }

  /**
   * Receives a body in chunks. The bytes are charged to `quota` until the response is sent.
   *
   * @param onChunk is awaited before the next chunk is read
   */
  receiveChunks(
    request: FastifyRequest,
    reply: FastifyReply,
    { owner, isAuthenticated, maxBytes, quota }: BodySender & { readonly maxBytes: number; readonly quota: Quota },
    onChunk: (chunk: Buffer) => void | Promise<void>,
  ): Promise<void> {
    const { raw } = request;
    const declaredLength = declaredLengthOf(raw);
    if ((declaredLength ?? 0) > maxBytes) throw new Problem('body_too_large');
    let chargedBytes = BODY_OVERHEAD_BYTES + (declaredLength ?? 0);
    if (!quota.tryAcquire(owner, chargedBytes)) throw markAsShed(request, 'request_bytes');
    this.#deps.connectionTracker.runAfterResponse(reply.raw, () => quota.release(owner, chargedBytes));
    if (raw.destroyed) throw new Problem('malformed_request');
    if (expectsContinue(raw)) reply.raw.writeContinue();
    return this.#receiveBeforeDeadline(raw, isAuthenticated, (chunk, receivedBytes) => {
      if (receivedBytes > maxBytes) throw new Problem('body_too_large');
      if (declaredLength === undefined) {
        if (!quota.tryAcquire(owner, chunk.length)) throw markAsShed(request, 'request_bytes');
        chargedBytes += chunk.length;
      }
      return onChunk(chunk);
    });
  }

  #receiveBeforeDeadline(
    request: IncomingMessage,
    isAuthenticated: boolean,
    onChunk: (chunk: Buffer, receivedBytes: number) => void | Promise<void>,
  ): Promise<void> {
    const { deadlines, connectionTracker } = this.#deps;
    const connection = connectionTracker.findConnection(request.socket);
    const { promise, resolve, reject } = Promise.withResolvers<void>();
    let receivedBytes = 0;
    let chunkInProgress: Promise<void> | undefined;
    const stopListening = () => {
      request.off('data', onData).off('end', onEnd).off('error', failReceiving);
      if (connection !== undefined) connectionTracker.setPendingBody(connection, undefined);
    };
    // Node emits `end` and `error` even while a chunk is being processed, so the promise waits for that chunk.
    const failReceiving = (error: unknown) => {
      stopListening();
      // Read and discard the rest of the body.
      request.on('error', () => undefined).resume();
      const rejectWithError = () => reject(error);
      if (chunkInProgress === undefined) rejectWithError();
      else chunkInProgress.then(rejectWithError, rejectWithError);
    };
    const onEnd = () => {
      stopListening();
      if (chunkInProgress === undefined) resolve();
      else chunkInProgress.then(resolve, reject);
    };
    const onData = (chunk: Buffer) => {
      receivedBytes += chunk.length;
      try {
        const chunkPromise = onChunk(chunk, receivedBytes);
        if (chunkPromise === undefined) return;
        chunkInProgress = chunkPromise;
        request.pause();
        chunkPromise.then(() => request.resume(), failReceiving);
      } catch (error) {
        failReceiving(error);
      }
    };
    request.on('data', onData).on('end', onEnd).on('error', failReceiving);
    if (connection !== undefined) {
      const isTooSlow = (ageMs: number) => isBodyTooSlow({ isAuthenticated, ageMs, receivedBytes }, deadlines);
      connectionTracker.setPendingBody(connection, {
        isTooSlow,
        rejectTooSlow: () => failReceiving(new Problem('request_timeout')),
      });
    }
    return promise;
  }
}

function parseBody(bytes: Buffer): ParsedBody | undefined {
  if (bytes.length === 0) return undefined;
  const hashWithPrefix = (prefix: string) => hash('sha256', Buffer.concat([Buffer.from(prefix), bytes]), 'base64url');
  return { value: rethrowAsMalformedBody(() => parseJson(bytes)), hashWithPrefix };
}

function pushChunk(extractor: StreamedFieldExtractor, chunk: Buffer): string {
  try {
    return extractor.push(chunk);
  } catch (error) {
    throw new Problem(error instanceof RemainderTooLargeError ? 'body_too_large' : 'malformed_body');
  }
}

function rethrowAsMalformedBody<T>(parse: () => T): T {
  try {
    return parse();
  } catch {
    throw new Problem('malformed_body');
  }
}

/** Whether an incomplete body has exceeded its timeout or falls short of the minimum rate. */
export function isBodyTooSlow(
  { isAuthenticated, ageMs, receivedBytes }: { isAuthenticated: boolean; ageMs: number; receivedBytes: number },
  { bodyGraceMs, minBodyBytesPerS, visitorBodyMs }: BodyDeadlines,
): boolean {
  if (!isAuthenticated) return ageMs >= visitorBodyMs;
  return ageMs >= bodyGraceMs && receivedBytes <= ((ageMs - bodyGraceMs) / 1_000) * minBodyBytesPerS;
}

/** Returns the declared `Content-Length`: 0 if there is no body, undefined if the body is chunked. */
function declaredLengthOf({ headers }: IncomingMessage): number | undefined {
  return headers['transfer-encoding'] === undefined ? Number(headers['content-length'] ?? 0) : undefined;
}

/**
 * Whether the client waits for `100 Continue`. With a `checkContinue` listener, Node does not send this response by
 * itself.
 */
function expectsContinue({ headers, httpVersion }: IncomingMessage): boolean {
  return headers.expect !== undefined && httpVersion === '1.1' && /(?:^|\W)100-continue(?:$|\W)/i.test(headers.expect);
}

/**
 * Disables Fastify's body parsing. Each route reads its body itself, so that a response that does not depend on the
 * body is sent before the body has arrived. Fastify's `bodyLimit` has no effect: `BodyReader` limits the size. The hook also hides the `Content-Type` header from Fastify, which would check the media type before the
 * route is known.
 */
export function disableBodyParsing(app: FastifyInstance): void {
  app.decorateRequest('bodyType', undefined);
  app.addHook('onRequest', (request, _reply, done) => {
    const { headers } = request.raw;
    if (headers['content-type'] !== undefined) {
      request.bodyType = headers['content-type'] || undefined;
      headers['content-type'] = undefined;
    }
    done();
  });
  app.removeAllContentTypeParsers();
  app.addContentTypeParser('*', (_request, _payload, done) => done(null, undefined));
}

/** Throws unless the headers declare uncompressed JSON in UTF-8. A missing `Content-Type` is accepted (C4). */
function requireJson({ bodyType, headers }: Pick<FastifyRequest, 'bodyType' | 'headers'>): void {
  const contentEncoding = headers['content-encoding'];
  if (!isJson(bodyType) || !isUncompressed(contentEncoding)) throw new Problem('unsupported_media_type');
}

function isJson(contentType: string | undefined): boolean {
  if (contentType === undefined) return true;
  const [mediaType = '', ...parameters] = contentType.split(';').map((part) => part.trim().toLowerCase());
  if (mediaType !== 'application/json') return false;
  return parameters.every((parameter) => !parameter.startsWith('charset=') || /^charset="?utf-?8"?$/.test(parameter));
}

function isUncompressed(contentEncoding: string | undefined): boolean {
  return contentEncoding === undefined || ['', 'identity'].includes(contentEncoding.trim().toLowerCase());
}
