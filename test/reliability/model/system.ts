import assert from 'node:assert/strict';
import type { SendAttempt } from '../../../src/delivery/transport/attempt.ts';
import type { TestClock } from '../../kit/clock.ts';
import { eventually } from '../../kit/eventually.ts';
import type { ApiResponse, TestService } from '../../kit/service/service.ts';
import type { CallerKey, World } from './model.ts';

/** A rejection: its status, its code, and the fields that it names. */
export type Rejection = { readonly status: number; readonly code: string; readonly fields?: readonly string[] };

export const rejection = (status: number, code: string, fields?: readonly string[]): Rejection =>
  fields === undefined ? { status, code } : { status, code, fields };

/** Targets that respond immediately as the model says, and record what they accepted. */
export class SimulatedTargets {
  world: World | undefined;
  readonly accepted = new Map<string, string[]>();

  readonly attempt: SendAttempt = async ({ target, body }) => {
    // Targets of earlier worlds respond with 401, which ends their hooks.
    const status =
      this.world === undefined || !target.includes(this.world.urlMark) ? 401 : this.world.targetStatus(target);
    if (status === 200) {
      const before = this.accepted.get(target) ?? [];
      this.accepted.set(target, [...before, JSON.parse(body).resource_url]);
    }
    return { kind: 'answered', status, durationMs: 1 };
  };
}

/** The service under test. */
export class ServiceUnderTest {
  readonly carillon: TestService;
  readonly clock: TestClock;
  readonly targets: SimulatedTargets;
  /** Known ETags by path, with the representation of each. */
  readonly #etags = new Map<string, Map<string, string>>();

  constructor(carillon: TestService, clock: TestClock, targets: SimulatedTargets) {
    this.carillon = carillon;
    this.clock = clock;
    this.targets = targets;
  }

  get base(): string {
    return `${this.carillon.baseUrl}/v2`;
  }

  call(
    key: CallerKey,
    method: string,
    path: string,
    body?: unknown,
    headers: Record<string, string> = {},
  ): Promise<ApiResponse> {
    return this.carillon.call(key, method, `/v2${path}`, body, headers);
  }

  /** Checks a problem response completely (C6). */
  assertRejected({ status, json, headers }: ApiResponse, { status: expectedStatus, code, fields }: Rejection): void {
    assert.deepEqual(
      [status, json?.code],
      [expectedStatus, code],
      `${JSON.stringify(json)} instead of ${expectedStatus} ${code}`,
    );
    assert.match(String(headers.get('content-type')), /^application\/problem\+json/);
    assert.equal(json.status, expectedStatus);
    assert.equal(json.message, json.detail);
    assert.ok(json.type.endsWith(`/problems/${code}`) && json.title.length > 0);
    if (status === 401) assert.ok(headers.has('www-authenticate'));
    const named = (json.errors ?? []).map((error: { field: string }) => error.field);
    if (fields !== undefined) assert.deepEqual(named.sort(), [...fields].sort());
  }

  /** Checks that each representation has exactly one ETag, and each ETag one representation (X5). */
  checkEtag(path: string, { headers }: ApiResponse, shown: unknown): void {
    const tag = headers.get('etag') ?? '';
    assert.match(tag, /^"[^"]+"$/, `${path} has no tag`);
    const text = canonicalJson(shown);
    const known = this.#etags.get(path) ?? new Map<string, string>();
    this.#etags.set(path, known);
    const before = known.get(tag);
    if (before !== undefined) assert.equal(before, text, `${path}: two representations of one tag`);
    const twin = [...known].find(([, one]) => one === text);
    if (twin !== undefined) assert.equal(tag, twin[0], `${path}: two tags of one representation`);
    known.set(tag, text);
  }

  /**
   * Returns a known ETag of a record, of its current representation or of an earlier one. Undefined if none is
   * known.
   */
  etagOf(path: string, shown: unknown, which: 'current' | 'stale'): string | undefined {
    const text = canonicalJson(shown);
    return [...(this.#etags.get(path) ?? [])].findLast(([, one]) => (one === text) === (which === 'current'))?.[0];
  }

  /** Waits until nothing is pending for any live hook that is not in backoff. */
  async waitUntilIdle(): Promise<void> {
    const { read } = this.carillon.store;
    await eventually(
      () =>
        read
          .selectFrom('pending_deliveries')
          .innerJoin('hooks', 'hooks.hook_id', 'pending_deliveries.hook_id')
          .where('hooks.date_ended', 'is', null)
          .where(({ or, eb }) => or([eb('hooks.due_at', 'is', null), eb('hooks.due_at', '<=', this.clock.now())]))
          .select('pending_deliveries.delivery_id')
          .execute(),
      (pending) => pending.length === 0,
    );
  }
}

/** Returns a representation as text, independent of the order of its fields. */
function canonicalJson(shown: unknown): string {
  return JSON.stringify(shown, (_, value) =>
    typeof value === 'object' && value !== null && !Array.isArray(value)
      ? Object.fromEntries(Object.entries(value).sort(([a], [b]) => (a < b ? -1 : 1)))
      : value,
  );
}
