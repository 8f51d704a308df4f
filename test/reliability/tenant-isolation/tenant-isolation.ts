import { permissionsOf } from '../../../src/permissions.ts';
import { responseValidator } from '../../kit/api/openapi.ts';
import { startTarget, type Target } from '../../kit/network/target.ts';
import type { Answer, Json, Person, TestService } from '../../kit/service/service.ts';
import type { TestStore } from '../../kit/service/stores.ts';
import type { ReliabilityTest, Run, RunResult } from '../reliability-test.ts';
import { changes, hidden, markIn, missing, notPermitted, rowsOf, ruleFor, shared } from './checks.ts';
import { checkPublicRoutes, foreignContentSeenBy, foreignNotifications, watchBystander } from './endpoints.ts';
import { type Caller, createTenant, restrictedKeys, send, type Tenant, unauthenticatedCallers } from './fixture.ts';
import { conditionPairs, idempotencyPairs, idPairs, idsFor, NEVER_ISSUED, type Pair, textPairs } from './id-probes.ts';
import { mountedBy, nameOf, type Operation, placesOf, type Request, sorted, untestedIds } from './operations.ts';

/** Reliability test R10: every operation, every place for an id, and every kind of caller who may not use it. */
export const tenants: ReliabilityTest = {
  id: 'R10',
  name: 'tenants',
  title: 'C1 C2 C3 C13 every id parameter of every operation, with ids that the caller may not access',
  promise: 'the response equals that for an unknown id, byte for byte; nothing is read, changed or delivered',
  unit: 'matrix on each database',
  smoke: 1,
  full: 1,
  execute,
};

async function execute({ count, stores, context, log }: Run): Promise<RunResult> {
  const broken: string[] = [];
  const counts: Record<string, number> = {};
  for (let turn = 0; turn < count; turn += 1) {
    // The services start sequentially, because each matrix records all routes that are mounted meanwhile.
    const matrices: (readonly [TestStore, Matrix])[] = [];
    for (const store of stores) matrices.push([store, await Matrix.of(store, context)]);
    await Promise.all(matrices.map(([, matrix]) => matrix.run()));
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

/** Number of additional feed entries of the other tenant, so that its cursors are unknown in the feed of our tenant. */
const CURSORS_AHEAD = 40;

/** Tables whose rows belong to one user of an account. */
const owned = ['hooks', 'targets', 'api_keys', 'calendars', 'sessions', 'finalized_deliveries', 'attempts'];

/** Calls every operation of one service, as every kind of caller, with values of another tenant or user. */
class Matrix {
  readonly broken: string[] = [];
  readonly counted = new Map<string, number>();
  readonly #carillon: TestService;
  readonly #operations: readonly Operation[];
  readonly #others: readonly string[];
  readonly #target: Target;
  readonly #tested = new Set<string>();
  readonly #checkDocument: ReturnType<typeof responseValidator>;

  private constructor(carillon: TestService, mounted: readonly string[], target: Target, document: Json) {
    const { operations, others } = sorted(mounted);
    this.#carillon = carillon;
    this.#operations = operations;
    this.#others = others;
    this.#target = target;
    this.#checkDocument = responseValidator(document);
  }

  static async of(store: TestStore, context: Run['context']): Promise<Matrix> {
    const target = await startTarget(context);
    const { started, mounted } = await mountedBy(() => store.testService(context, { options: { wrongKeys: 'off' } }));
    const { json } = await started.call(undefined, 'GET', '/openapi.json');
    return new Matrix(started, mounted, target, json);
  }

  async run(): Promise<void> {
    const carillon = this.#carillon;
    const furnish = (mark: string, more: Omit<Parameters<typeof createTenant>[2], 'mark'> = {}) =>
      createTenant(carillon, this.#target, { mark, ...more });
    const bystanders = [await watchBystander(carillon, await carillon.account('zqalone.test'), true)];
    const addMember = async (owner: Person) =>
      void bystanders.push(await watchBystander(carillon, await carillon.user(owner, 'member'), false));
    const foreign = await furnish('zqtheirs', { busy: CURSORS_AHEAD });
    const [ours, common] = [await furnish('zqours'), await furnish('zqcommon', { first: addMember })];
    const unauthenticated = await unauthenticatedCallers(carillon, foreign, ours);
    const narrow = await restrictedKeys(carillon, foreign);

    await this.#unchanged(foreign, [], () => this.#otherAccount(ours, foreign));
    // Rejected keys and replaced links change the audit log and the invitations, so these tables are not compared.
    await this.#unchanged(foreign, ['audit', 'invitations'], async () => {
      await this.#unauthenticated(unauthenticated, foreign);
      for (const operation of this.#operations.filter(({ door }) => door === '/v2')) {
        const key = operation.row.permission && narrow.get(operation.row.permission);
        if (key) await this.#restrictedKey(operation, { description: 'a narrowed key', headers: key.headers }, foreign);
      }
      await this.#publicRoutes(foreign);
    });
    await this.#otherUser(common);
    this.#checkCoverage(foreign);
    for (const different of bystanders) this.broken.push(...(await different()));
    this.broken.push(...(await foreignContentSeenBy(carillon, ours, foreign.mark)));
    this.broken.push(...(await foreignNotifications([foreign, ours, common], this.#target.received)));
  }

  /** Makes calls with a valid key and session of another account. */
  async #otherAccount(ours: Tenant, foreign: Tenant): Promise<void> {
    for (const operation of this.#operations) {
      const pairs = [
        ...idPairs(operation, ours, foreign),
        ...conditionPairs(operation, ours, foreign),
        ...textPairs(operation, ours, foreign),
      ];
      for (const pair of pairs) await this.#pair(operation, callerAt(operation, ours), pair, foreign.mark);
    }
    // These requests come last, because they create records.
    for (const operation of this.#operations.filter(isIdempotencyKeyUsed))
      for (const pair of idempotencyPairs(operation, ours, foreign))
        await this.#pair(operation, callerAt(operation, ours), pair, foreign.mark);
  }

  /** Makes calls without valid credentials. */
  async #unauthenticated(unauthenticated: Readonly<Record<string, readonly Caller[]>>, foreign: Tenant): Promise<void> {
    for (const operation of this.#operations) {
      const method = operation.method === 'HEAD' ? 'HEAD' : 'GET';
      const callers = unauthenticated[operation.door] ?? [];
      const expected = await this.#carillon.call(callers[0], method, `${operation.door}/nowhere`);
      const request = foreign.requestFor(operation.row);
      const places = placesOf(operation);
      // The requests are a normal request of the tenant, requests with an id of the tenant in each place, and a
      // request with unknown ids in all places.
      const asked: (readonly [string, Request])[] = [['what stands in it', request]];
      for (const place of places.filter(
        ({ where, description }) => where !== 'path' && !description.endsWith(': [id]'),
      ))
        asked.push([place.description, place.put(request, idsFor(operation, place, foreign)[0] ?? '')]);
      if (places.length > 0)
        asked.push(['never issued', places.reduce((one, place) => place.put(one, NEVER_ISSUED), request)]);
      const each = callers.map(async (caller) => {
        for (const [description, one] of asked)
          this.#check(operation, caller, description, hidden(await this.#ask(operation, caller, one), expected));
      });
      await Promise.all(each);
    }
  }

  /** Makes calls with a key that lacks the permission of the route. The response must be the same for every id. */
  async #restrictedKey(operation: Operation, caller: Caller, foreign: Tenant): Promise<void> {
    const request = foreign.requestFor(operation.row);
    const expected = await this.#ask(operation, caller, request);
    this.#check(operation, caller, 'nothing', notPermitted(expected, expected));
    for (const place of placesOf(operation))
      for (const id of [...idsFor(operation, place, foreign), NEVER_ISSUED]) {
        const answer = await this.#ask(operation, caller, place.put(request, id));
        this.#check(operation, caller, place.description, hidden(answer, expected));
      }
  }

  /** Makes calls as a member, about records of the owner. */
  async #otherUser(tenant: Tenant): Promise<void> {
    const member = await this.#carillon.user(tenant.owner, 'member');
    const session = await this.#carillon.signIn(member);
    const before = await this.#owned(tenant);
    const as = { owner: member, session };
    for (const operation of this.#operations) await this.#asMember(operation, as, tenant);
    for (const operation of this.#operations.filter(isIdempotencyKeyUsed))
      for (const pair of idempotencyPairs(operation, tenant, tenant))
        await this.#pair(operation, { ...callerAt(operation, as), description: 'another user' }, pair, undefined);
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
      const rule = mayNot ? 'refused' : ruleFor(row, place);
      if (rule === undefined)
        this.broken.push(`${nameOf(operation)}: ownership.ts has no rule for ${place.description}`);
      // With the permission, every user may change every shared record (C2). Event streams are left out, because they
      // do not end.
      if (rule === undefined || (rule === 'shared' && (!isRead || place.where === 'header'))) continue;
      const check = { hidden, refused: notPermitted, shared }[rule];
      const caller = { ...callerAt(operation, member), description: 'another user' };
      const request = tenant.requestFor(row);
      const [usual = '', ...others] = idsFor(operation, place, tenant);
      // Deleted records are hidden from all users, and a record may keep its present user, so these ids are left out.
      const ids =
        rule === 'shared' ? [usual] : place.description === 'user_id in the body' ? others : [usual, ...others];
      for (const id of ids) {
        const pair = {
          description: place.description,
          check,
          foreign: place.put(request, id),
          unknown: place.put(request, NEVER_ISSUED),
        };
        await this.#pair(operation, caller, pair, rule === 'shared' ? undefined : tenant.mark);
      }
    }
  }

  /** Makes calls to the public routes. */
  async #publicRoutes(foreign: Tenant): Promise<void> {
    const { results, untested } = await checkPublicRoutes(this.#carillon, foreign, this.#others);
    for (const name of untested) this.broken.push(`${name} is mounted, but not tested`);
    for (const { description, violation } of results) {
      this.#count('cells', 1);
      if (violation !== undefined) this.broken.push(`${description} ${violation}`);
    }
  }

  async #pair(operation: Operation, caller: Caller, pair: Pair, mark: string | undefined): Promise<void> {
    const answer = await this.#ask(operation, caller, pair.foreign);
    const other = await this.#ask(operation, caller, pair.unknown);
    const isSaid = mark !== undefined && JSON.stringify(pair.foreign).includes(mark);
    const leak = mark !== undefined && !isSaid && markIn(mark, answer) ? `shows ${answer.text}` : undefined;
    this.#check(operation, caller, pair.description, pair.check(answer, other) ?? leak);
  }

  async #ask(operation: Operation, caller: Caller, request: Request): Promise<Answer> {
    this.#count('responses', 1);
    const answered = send(this.#carillon, operation, caller, request);
    if (request.headers.accept === undefined) return this.#checkDocumented(operation, await answered);
    const late = Promise.withResolvers<Answer>();
    const opened = { status: 0, headers: new Headers(), text: 'a stream', json: undefined };
    const giveUp = setTimeout(() => late.resolve(opened), RESPONSE_TIMEOUT_MS);
    return Promise.race([answered, late.promise]).finally(() => clearTimeout(giveUp));
  }

  /** Checks responses of the API group against the OpenAPI document. */
  #checkDocumented({ door, method, row }: Operation, answer: Answer): Answer {
    const { status, headers, json: body } = answer;
    const contentType = headers.get('content-type');
    const fault =
      door !== '/v2' || method === 'HEAD' || status === 304
        ? undefined
        : this.#checkDocument({ method, path: `/v2${row.path}`, status, contentType, body });
    if (fault !== undefined) this.broken.push(`${method} ${row.path} does not match the OpenAPI document: ${fault}`);
    return answer;
  }

  #check(operation: Operation, { description: who }: Caller, what: string, fault: string | undefined): void {
    this.#tested.add(nameOf(operation));
    this.#count('cells', 1);
    if (fault !== undefined) this.broken.push(`${nameOf(operation)}, ${what}, with ${who}: ${fault}`);
  }

  /** Checks that `work` changes no row of the account and delivers nothing to its hooks. */
  async #unchanged({ owner, mark }: Tenant, but: readonly string[], work: () => Promise<void>): Promise<void> {
    const countNotifications = () => this.#target.received.filter(({ path }) => path.startsWith(`/${mark}-`)).length;
    const [before, notificationsBefore] = [await rowsOf(this.#carillon, owner.domain, but), countNotifications()];
    await work();
    const after = await rowsOf(this.#carillon, owner.domain, but);
    for (const line of changes(before, after)) this.broken.push(`a row of the other account changed: ${line}`);
    if (countNotifications() !== notificationsBefore)
      this.broken.push('hooks of the other account received notifications');
    this.#count('rows compared', before.size);
  }

  #checkCoverage(foreign: Tenant): void {
    for (const row of new Set(this.#operations.map((one) => one.row)))
      for (const name of untestedIds(row))
        this.broken.push(`${row.method} ${row.path}: ${name} looks like an id, but is not tested`);
    for (const operation of this.#operations)
      if (!this.#tested.has(nameOf(operation))) this.broken.push(`${nameOf(operation)} is not tested`);
    for (const line of this.#carillon.logged.map((one) => JSON.stringify(one)))
      if (line.includes(`${foreign.mark}-`)) this.broken.push(`the log contains ${line}`);
    this.#count('operations', this.#operations.length);
    this.#count('log lines', this.#carillon.logged.length);
  }

  #count(what: string, more: number): void {
    this.counted.set(what, (this.counted.get(what) ?? 0) + more);
  }
}

/** Whether an operation accepts an Idempotency-Key, which is a POST with an API key (X4). */
const isIdempotencyKeyUsed = ({ door, method }: Operation) => door === '/v2' && method === 'POST';

/** Returns the owner of a tenant as a caller, with the credentials of the route group. */
function callerAt({ door }: Operation, { owner, session }: Pick<Tenant, 'owner' | 'session'>): Caller {
  return { description: 'another account', headers: door === '/v2' ? owner.headers : session.headers };
}
