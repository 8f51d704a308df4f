import { timingSafeEqual } from 'node:crypto';
import type { FastifyInstance, FastifyRequest } from 'fastify';
import type { Registry } from 'prom-client';
import type { Clock } from '../../clock.ts';
import { isLoopback } from '../../loopback.ts';
import { notFound, Problem, type ProblemCode, problems } from '../../problems.ts';
import { hashApiKey } from '../../secrets.ts';
import type { ConsoleFiles, StaticResponse } from '../static/console-files.ts';

export type KeylessRouteDeps = {
  readonly clock: Clock;
  readonly registry: Registry;
  readonly metricsToken: string;
  readonly baseUrl: () => string;
  /** Checks the database; rejects unless it is migrated and writable. */
  readonly probeDatabase: () => Promise<void>;
  /** Whether the process is about to exit. `/readyz` then fails without a probe. */
  readonly isShuttingDown?: () => boolean;
  readonly getOpenApiDocument: () => unknown;
  /** Public documents, such as `/docs`, by path. */
  readonly documents: Readonly<Record<string, () => StaticResponse>>;
  /** Creates the JSON response of `/` for a client that does not accept HTML. */
  readonly createServiceInfo: () => unknown;
  /**
   * The files of the console, which browsers get at `/`; undefined if the console was not built or is disabled on this
   * node.
   */
  readonly consoleFiles?: ConsoleFiles | undefined;
};

const READINESS_PATH = '/readyz';

/** Adds the routes that need no key: probes, metrics, documents and problems (X6). */
export function addKeylessRoutes(app: FastifyInstance, deps: KeylessRouteDeps): void {
  const { consoleFiles } = deps;
  consoleFiles?.addFileRoutes(app);
  app.get('/', async (request, reply) => {
    const acceptsHtml = /\btext\/html\b/.test(request.headers.accept ?? '');
    return consoleFiles !== undefined && acceptsHtml
      ? consoleFiles.sendIndex(request, reply)
      : deps.createServiceInfo();
  });
  app.get('/healthz', async () => ({ status: 'alive' }));
  const readinessProbe = createCachedProbe(deps);
  app.addHook('onResponse', (request, _reply, done) => {
    // The database has just failed, so the cached result of the probe is outdated.
    if (request.problemCode === 'storage_unavailable' && request.routeOptions.url !== READINESS_PATH)
      readinessProbe.invalidate();
    done();
  });
  app.get(READINESS_PATH, async () => {
    if (deps.isShuttingDown?.()) throw new Problem('storage_unavailable');
    await readinessProbe.run();
    return { status: 'ready' };
  });
  app.get('/openapi.json', async () => deps.getOpenApiDocument());
  for (const [path, getDocument] of Object.entries(deps.documents)) {
    app.get(path, async (request, reply) => getDocument().send(request, reply));
  }
  app.get('/metrics', async (request, reply) => {
    if (!mayReadMetrics(request, deps)) throw notFound();
    return reply.type(deps.registry.contentType).send(await deps.registry.metrics());
  });
  app.get('/problems/:code', async (request) => {
    const { code } = request.params as { code: string };
    if (!Object.hasOwn(problems, code)) throw notFound();
    return { code, ...problems[code as ProblemCode] };
  });
}

/** Caches the result of the database probe for a second, because each probe writes and needs no authentication. */
function createCachedProbe({ probeDatabase, clock }: KeylessRouteDeps) {
  let lastProbe: { startedAt: number; promise: Promise<void> } | undefined;
  return {
    run(): Promise<void> {
      const now = clock.monotonic();
      if (lastProbe === undefined || now - lastProbe.startedAt >= 1_000)
        lastProbe = { startedAt: now, promise: probeDatabase() };
      return lastProbe.promise;
    },
    invalidate(): void {
      lastProbe = undefined;
    },
  };
}

const PROXY_HEADERS = ['forwarded', 'via', 'x-forwarded-for', 'x-forwarded-host', 'x-forwarded-proto', 'x-real-ip'];

/**
 * Whether a request may read the metrics. If a metrics token is configured, only the token grants access; otherwise
 * only direct requests over loopback are allowed.
 */
function mayReadMetrics(request: FastifyRequest, { metricsToken: token, baseUrl }: KeylessRouteDeps): boolean {
  if (token !== '') {
    const authorization = request.headers.authorization ?? '';
    return timingSafeEqual(Buffer.from(hashApiKey(authorization)), Buffer.from(hashApiKey(`Bearer ${token}`)));
  }
  const isProxied = PROXY_HEADERS.some((header) => request.headers[header] !== undefined);
  return !isProxied && isLoopback(request.socket.remoteAddress ?? '') && isOwnHost(request.headers.host, baseUrl());
}

/**
 * Whether the `Host` header names this service. The check prevents DNS rebinding: a domain that resolves to a loopback
 * address would let its page read the response in a browser on this host. A page cannot choose the `Host` header.
 */
function isOwnHost(host: string | undefined, baseUrl: string): boolean {
  const hostName = URL.parse(`http://${host}`)?.hostname ?? '';
  return isLoopback(hostName) || hostName === new URL(baseUrl).hostname;
}
