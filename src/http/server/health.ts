import { timingSafeEqual } from 'node:crypto';
import type { FastifyInstance, FastifyRequest } from 'fastify';
import type { Registry } from 'prom-client';
import type { Clock } from '../../clock.ts';
import { isLoopback } from '../../loopback.ts';
import { notFound, Problem, type ProblemCode, problems } from '../../problems.ts';
import { hashApiKey } from '../../secrets.ts';
import type { ConsoleFiles } from '../static/console-files.ts';
import type { StaticResponse } from '../static/static-response.ts';

export type HealthPorts = {
  readonly clock: Clock;
  readonly registry: Registry;
  readonly metricsToken: string;
  readonly baseUrl: () => string;
  /** Rejects unless the database is migrated and can be written. */
  readonly probe: () => Promise<void>;
  /** Whether the process cannot go on and is about to end: then the result of an earlier probe says nothing. */
  readonly isEnding?: () => boolean;
  readonly openapi: () => unknown;
  /** What is to be read at an address, by that. */
  readonly documents: Readonly<Record<string, () => StaticResponse>>;
  /** What is here, for a program that opens the address of the service. */
  readonly greeting: () => unknown;
  /** What a person sees there; undefined where the console was not built, or this node has none. */
  readonly pages?: ConsoleFiles | undefined;
};

const READY = '/readyz';

/** The addresses that need no key (X6). */
export function addHealth(app: FastifyInstance, ports: HealthPorts): void {
  const { pages } = ports;
  pages?.serve(app);
  app.get('/', async (request, reply) => {
    const isPerson = /\btext\/html\b/.test(request.headers.accept ?? '');
    return pages !== undefined && isPerson ? pages.index(request, reply) : ports.greeting();
  });
  app.get('/healthz', async () => ({ status: 'alive' }));
  const probe = onceASecond(ports);
  app.addHook('onResponse', (request, _reply, done) => {
    // A write has just failed: what a probe found before it says nothing any more.
    if (request.problem === 'storage_unavailable' && request.routeOptions.url !== READY) probe.forget();
    done();
  });
  app.get(READY, async () => {
    if (ports.isEnding?.()) throw new Problem('storage_unavailable');
    await probe.ask();
    return { status: 'ready' };
  });
  app.get('/openapi.json', async () => ports.openapi());
  for (const [path, document] of Object.entries(ports.documents)) {
    app.get(path, async (request, reply) => document().answer(request, reply));
  }
  app.get('/metrics', async (request, reply) => {
    if (!mayRead(request, ports)) throw notFound();
    return reply.type(ports.registry.contentType).send(await ports.registry.metrics());
  });
  app.get('/problems/:code', async (request) => {
    const { code } = request.params as { code: string };
    if (!Object.hasOwn(problems, code)) throw notFound();
    return { code, ...problems[code as ProblemCode] };
  });
}

/** A probe costs a write, and anybody may ask: those of one second share it. */
function onceASecond({ probe, clock }: HealthPorts) {
  let last: { at: number; result: Promise<void> } | undefined;
  return {
    ask(): Promise<void> {
      const at = clock.monotonic();
      if (last === undefined || at - last.at >= 1_000) last = { at, result: probe() };
      return last.result;
    },
    forget(): void {
      last = undefined;
    },
  };
}

const PROXY_HEADERS = ['forwarded', 'via', 'x-forwarded-for', 'x-forwarded-host', 'x-forwarded-proto', 'x-real-ip'];

/** With a token, by the token alone; without one, this machine alone, and nobody whom a proxy on it lets through. */
function mayRead(request: FastifyRequest, { metricsToken: token, baseUrl }: HealthPorts): boolean {
  if (token !== '') {
    const given = request.headers.authorization ?? '';
    return timingSafeEqual(Buffer.from(hashApiKey(given)), Buffer.from(hashApiKey(`Bearer ${token}`)));
  }
  const proxied = PROXY_HEADERS.some((header) => request.headers[header] !== undefined);
  return !proxied && isLoopback(request.socket.remoteAddress ?? '') && isOwnHost(request.headers.host, baseUrl());
}

/**
 * Whether a request means this machine by a name of its own. A browser here may be led to this address by any name
 * (DNS rebinding), and would let the page of that name read the answer; the page cannot choose the `Host`.
 */
function isOwnHost(host: string | undefined, baseUrl: string): boolean {
  const name = URL.parse(`http://${host}`)?.hostname ?? '';
  return isLoopback(name) || name === new URL(baseUrl).hostname;
}
