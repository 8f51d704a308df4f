import { permissionsOf } from '../../../src/permissions.ts';
import { judgeBy } from '../../kit/openapi.ts';
import type { Answer, Json, Person, TestService } from '../../kit/service.ts';
import type { TestStore } from '../../kit/stores.ts';
import { startTarget, type Target } from '../../kit/target.ts';
import type { ReliabilityTest, Run, RunResult } from '../reliability-test.ts';
import { type Caller, narrowed, unauthenticatedCallers } from './callers.ts';
import { createTenant, send, type Tenant } from './fixture.ts';
import { conditionPairs, idPairs, idsFor, NEVER_ISSUED, oncePairs, type Pair, wordPairs } from './id-probes.ts';
import { bystander, foreignNotifications, seenBy } from './list-endpoints.ts';
import { mountedBy, nameOf, type Operation, passedOver, placesOf, type Request, sorted } from './operations.ts';
import { ofAnother } from './ownership.ts';
import { openCells } from './public-endpoints.ts';
import { hidden, markIn, refused, shared } from './response-diff.ts';
import { changes, missing, rowsOf } from './snapshot.ts';

/** R10: every operation, every place for an id, every kind of caller who may not use it. */
export const tenants: ReliabilityTest = {
  id: 'R10',
  name: 'tenants',
  title: 'C1 C2 C3 C13 every place for an id in every operation, requested by every caller who may not',
  promise: 'the response is byte for byte that for an unknown id; nothing is read, changed or delivered',
  unit: 'matrix on each database',
  smoke: 1,
  full: 1,
  execute,
};

async function execute({ count, stores, context, log }: Run): Promise<RunResult> {
  const broken: string[] = [];
  const counts: Record<string, number> = {};
  for (let turn = 0; turn < count; turn += 1) {
    // Sequential start, since each records all routes mounted meanwhile.
    const matrices: (readonly [TestStore, Matrix])[] = [];
    for (const store of stores) matrices.push([store, await Matrix.of(store, context)]);
    await Promise.all(matrices.map(([, matrix]) => matrix.fill()));
    for (const [{ name }, matrix] of matrices) {
      broken.push(...matrix.broken.map((line) => `${name}: ${line}`));
      for (const [what, number] of matrix.counted) counts[what] = (counts[what] ?? 0) + number;
      log(`${name}: ${matrix.counted.get('cells')} cells`);
    }
  }
  return { counts: { ...counts, leaks: broken.length }, broken };
}

/** A response that does not end within this time is an event stream. */
const RESPONSE_TIMEOUT_MS = 5_000;

/** Additional feed entries of the other tenant, so that its cursors are unknown to ours. */
const CURSORS_AHEAD = 40;

/** Tables whose rows belong to one user of an account. */
const owned = ['hooks', 'targets', 'api_keys', 'calendars', 'sessions', 'finalized_deliveries', 'attempts'];

class Matrix {
  readonly broken: string[] = [];
  readonly counted = new Map<string, number>();
  readonly #carillon: TestService;
  readonly #operations: readonly Operation[];
  readonly #others: readonly string[];
  readonly #target: Target;
  readonly #filled = new Set<string>();
  readonly #documented: ReturnType<typeof judgeBy>;

  private constructor(carillon: TestService, mounted: readonly string[], target: Target, document: Json) {
    const { operations, others } = sorted(mounted);
    this.#carillon = carillon;
    this.#operations = operations;
    this.#others = others;
    this.#target = target;
    this.#documented = judgeBy(document);
  }

  static async of(store: TestStore, context: Run['context']): Promise<Matrix> {
    const target = await startTarget(context);
    const { started, mounted } = await mountedBy(() => store.testService(context, { options: { wrongKeys: 'off' } }));
    const { json } = await started.call(undefined, 'GET', '/openapi.json');
    return new Matrix(started, mounted, target, json);
  }

  async fill(): Promise<void> {
    const carillon = this.#carillon;
    const furnish = (mark: string, more: Omit<Parameters<typeof createTenant>[2], 'mark'> = {}) =>
      createTenant(carillon, this.#target, { mark, ...more });
    const bystanders = [await bystander(carillon, await carillon.account('zqalone.test'), true)];
    const addMember = async (owner: Person) =>
      void bystanders.push(await bystander(carillon, await carillon.user(owner, 'member'), false));
    const theirs = await furnish('zqtheirs', { busy: CURSORS_AHEAD });
    const [ours, common] = [await furnish('zqours'), await furnish('zqcommon', { first: addMember })];
    const unauthenticated = await unauthenticatedCallers(carillon, theirs, ours);
    const narrow = await narrowed(carillon, theirs);

    await this.#unchanged(theirs, [], () => this.#otherAccount(ours, theirs));
    // The audit log records rejected keys of the account and replaced links.
    await this.#unchanged(theirs, ['audit', 'invitations'], async () => {
      await this.#unauthenticated(unauthenticated, theirs);
      for (const operation of this.#operations.filter(({ door }) => door === '/v2')) {
        const key = operation.row.permission && narrow.get(operation.row.permission);
        if (key) await this.#narrowed(operation, { says: 'a narrowed key', headers: key.headers }, theirs);
      }
      await this.#open(theirs);
    });
    await this.#otherUser(common);
    this.#judgeWhole(theirs);
    for (const different of bystanders) this.broken.push(...(await different()));
    this.broken.push(...(await seenBy(carillon, ours, theirs.mark)));
    this.broken.push(...(await foreignNotifications([theirs, ours, common], this.#target.received)));
  }

  /** Calls with a valid key and session of another account. */
  async #otherAccount(ours: Tenant, theirs: Tenant): Promise<void> {
    for (const operation of this.#operations) {
      const pairs = [
        ...idPairs(operation, ours, theirs),
        ...conditionPairs(operation, ours, theirs),
        ...wordPairs(operation, ours, theirs),
      ];
      for (const pair of pairs) await this.#pair(operation, callerAt(operation, ours), pair, theirs.mark);
    }
    // Last, because these requests create records.
    for (const operation of this.#operations.filter(isOnce))
      for (const pair of oncePairs(operation, ours, theirs))
        await this.#pair(operation, callerAt(operation, ours), pair, theirs.mark);
  }

  /** Calls without valid credentials. */
  async #unauthenticated(unauthenticated: Readonly<Record<string, readonly Caller[]>>, theirs: Tenant): Promise<void> {
    for (const operation of this.#operations) {
      const method = operation.method === 'HEAD' ? 'HEAD' : 'GET';
      const callers = unauthenticated[operation.door] ?? [];
      const wanted = await this.#carillon.call(callers[0], method, `${operation.door}/nowhere`);
      const request = theirs.requestFor(operation.row);
      const places = placesOf(operation);
      // A normal request of the tenant; one with an id of the tenant in each place; one with unknown ids in
      // all places.
      const asked: (readonly [string, Request])[] = [['what stands in it', request]];
      for (const place of places.filter(({ where, says }) => where !== 'path' && !says.endsWith(': [id]')))
        asked.push([place.says, place.put(request, idsFor(operation, place, theirs)[0] ?? '')]);
      if (places.length > 0)
        asked.push(['never issued', places.reduce((one, place) => place.put(one, NEVER_ISSUED), request)]);
      const each = callers.map(async (caller) => {
        for (const [says, one] of asked)
          this.#judge(operation, caller, says, hidden(await this.#ask(operation, caller, one), wanted));
      });
      await Promise.all(each);
    }
  }

  /** Calls with a key that lacks the permission of the route: the response is the same for every id. */
  async #narrowed(operation: Operation, caller: Caller, theirs: Tenant): Promise<void> {
    const request = theirs.requestFor(operation.row);
    const wanted = await this.#ask(operation, caller, request);
    this.#judge(operation, caller, 'nothing', refused(wanted, wanted));
    for (const place of placesOf(operation))
      for (const id of [...idsFor(operation, place, theirs), NEVER_ISSUED]) {
        const answer = await this.#ask(operation, caller, place.put(request, id));
        this.#judge(operation, caller, place.says, hidden(answer, wanted));
      }
  }

  /** Calls as a member, about records of the owner. */
  async #otherUser(tenant: Tenant): Promise<void> {
    const member = await this.#carillon.user(tenant.owner, 'member');
    const session = await this.#carillon.signIn(member);
    const before = await this.#owned(tenant);
    const as = { owner: member, session };
    for (const operation of this.#operations) await this.#asMember(operation, as, tenant);
    for (const operation of this.#operations.filter(isOnce))
      for (const pair of oncePairs(operation, tenant, tenant))
        await this.#pair(operation, { ...callerAt(operation, as), says: 'another user' }, pair, undefined);
    const after = await this.#owned(tenant);
    for (const line of missing(before, after)) this.broken.push(`a row of the owner changed: ${line}`);
  }

  async #owned({ owner }: Tenant): Promise<Set<string>> {
    const rows = await rowsOf(this.#carillon, owner.domain);
    return new Set([...rows].filter((line) => owned.includes(line.split(' ', 1)[0] ?? '')));
  }

  async #asMember(operation: Operation, member: Pick<Tenant, 'owner' | 'session'>, tenant: Tenant): Promise<void> {
    const { row, method } = operation;
    const isRead = method === 'GET' || method === 'HEAD';
    const mayNot = row.permission !== undefined && !permissionsOf('member').includes(row.permission);
    for (const place of placesOf(operation)) {
      const rule = mayNot ? 'refused' : ofAnother(row, place);
      if (rule === undefined) this.broken.push(`${nameOf(operation)}: ownership.ts has no rule for ${place.says}`);
      // C2: with the permission, every user may change every shared record. Streams do not end.
      if (rule === undefined || (rule === 'shared' && (!isRead || place.where === 'header'))) continue;
      const judge = { hidden, refused, shared }[rule];
      const caller = { ...callerAt(operation, member), says: 'another user' };
      const request = tenant.requestFor(row);
      const [usual = '', ...others] = idsFor(operation, place, tenant);
      // Deleted records are hidden from all; setting the present user changes nothing.
      const ids = rule === 'shared' ? [usual] : place.says === 'user_id in the body' ? others : [usual, ...others];
      for (const id of ids) {
        const pair = {
          says: place.says,
          judge,
          theirs: place.put(request, id),
          nobodys: place.put(request, NEVER_ISSUED),
        };
        await this.#pair(operation, caller, pair, rule === 'shared' ? undefined : tenant.mark);
      }
    }
  }

  /** Calls the public routes. */
  async #open(theirs: Tenant): Promise<void> {
    const { cells, unknown } = await openCells(this.#carillon, theirs, this.#others);
    for (const name of unknown) this.broken.push(`${name} is mounted, but not tested`);
    for (const { says, judged } of cells) {
      this.#count('cells', 1);
      if (judged !== undefined) this.broken.push(`${says} ${judged}`);
    }
  }

  async #pair(operation: Operation, caller: Caller, pair: Pair, mark: string | undefined): Promise<void> {
    const answer = await this.#ask(operation, caller, pair.theirs);
    const other = await this.#ask(operation, caller, pair.nobodys);
    const isSaid = mark !== undefined && JSON.stringify(pair.theirs).includes(mark);
    const leak = mark !== undefined && !isSaid && markIn(mark, answer) ? `shows ${answer.text}` : undefined;
    this.#judge(operation, caller, pair.says, pair.judge(answer, other) ?? leak);
  }

  async #ask(operation: Operation, caller: Caller, request: Request): Promise<Answer> {
    this.#count('responses', 1);
    const answered = send(this.#carillon, operation, caller, request);
    if (request.headers.accept === undefined) return this.#held(operation, await answered);
    const late = Promise.withResolvers<Answer>();
    const opened = { status: 0, headers: new Headers(), text: 'a stream', json: undefined };
    const giveUp = setTimeout(() => late.resolve(opened), RESPONSE_TIMEOUT_MS);
    return Promise.race([answered, late.promise]).finally(() => clearTimeout(giveUp));
  }

  /** Checks responses of the API group against the OpenAPI document. */
  #held({ door, method, row }: Operation, answer: Answer): Answer {
    const { status, headers, json: body } = answer;
    const contentType = headers.get('content-type');
    const fault =
      door !== '/v2' || method === 'HEAD' || status === 304
        ? undefined
        : this.#documented({ method, path: `/v2${row.path}`, status, contentType, body });
    if (fault !== undefined) this.broken.push(`${method} ${row.path} does not match the OpenAPI document: ${fault}`);
    return answer;
  }

  #judge(operation: Operation, { says: who }: Caller, says: string, fault: string | undefined): void {
    this.#filled.add(nameOf(operation));
    this.#count('cells', 1);
    if (fault !== undefined) this.broken.push(`${nameOf(operation)}, ${says}, with ${who}: ${fault}`);
  }

  /** Checks that `work` changes no row of the account and delivers nothing to its hooks. */
  async #unchanged({ owner, mark }: Tenant, but: readonly string[], work: () => Promise<void>): Promise<void> {
    const told = () => this.#target.received.filter(({ path }) => path.startsWith(`/${mark}-`)).length;
    const [before, toldBefore] = [await rowsOf(this.#carillon, owner.domain, but), told()];
    await work();
    const after = await rowsOf(this.#carillon, owner.domain, but);
    for (const line of changes(before, after)) this.broken.push(`a row of the other account changed: ${line}`);
    if (told() !== toldBefore) this.broken.push('hooks of the other account received notifications');
    this.#count('rows compared', before.size);
  }

  #judgeWhole(theirs: Tenant): void {
    for (const row of new Set(this.#operations.map((one) => one.row)))
      for (const name of passedOver(row)) this.broken.push(`${row.method} ${row.path}: ${name} looks like an id, but is not tested`);
    for (const operation of this.#operations)
      if (!this.#filled.has(nameOf(operation))) this.broken.push(`${nameOf(operation)} is not tested`);
    for (const line of this.#carillon.logged.map((one) => JSON.stringify(one)))
      if (line.includes(`${theirs.mark}-`)) this.broken.push(`the log contains ${line}`);
    this.#count('operations', this.#operations.length);
    this.#count('log lines', this.#carillon.logged.length);
  }

  #count(what: string, more: number): void {
    this.counted.set(what, (this.counted.get(what) ?? 0) + more);
  }
}

/** X4: Idempotency-Keys apply to POST with an API key. */
const isOnce = ({ door, method }: Operation) => door === '/v2' && method === 'POST';

/** The owner of a tenant, with the credentials of the route group. */
function callerAt({ door }: Operation, { owner, session }: Pick<Tenant, 'owner' | 'session'>): Caller {
  return { says: 'another account', headers: door === '/v2' ? owner.headers : session.headers };
}
