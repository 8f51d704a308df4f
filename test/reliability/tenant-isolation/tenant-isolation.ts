import { permissionsOf } from '../../../src/permissions.ts';
import { createResponseCheck } from '../../kit/api/openapi.ts';
import { startTarget, type Target } from '../../kit/network/target.ts';
import type { ApiResponse, ApiUser, Json, TestService } from '../../kit/service/service.ts';
import type { TestStore } from '../../kit/service/stores.ts';
import type { ReliabilityTest, RunParameters, RunResult } from '../reliability-test.ts';
import {
  containsMark,
  diffLines,
  hidden,
  missingLines,
  notPermitted,
  readAccountRows,
  ruleFor,
  shared,
} from './checks.ts';
import { checkPublicRoutes, findForeignContent, findForeignNotifications, watchBystander } from './endpoints.ts';
import {
  createRestrictedKeys,
  createTenant,
  createUnauthenticatedCallers,
  type DescribedCaller,
  sendOperation,
  type Tenant,
} from './fixture.ts';
import { checkHookMatrix } from './hook-matrix.ts';
import {
  createConditionPairs,
  createIdempotencyPairs,
  createIdPairs,
  createTextPairs,
  idsFor,
  NEVER_ISSUED,
  type RequestPair,
} from './id-probes.ts';
import {
  classifyRoutes,
  findUntestedIds,
  type Operation,
  operationName,
  placesOf,
  type RequestParts,
  recordMountedRoutes,
} from './operations.ts';

/** Reliability test R10: every operation, every place for an id, and every kind of caller who may not use it. */
export const tenants: ReliabilityTest = {
  id: 'R10',
  name: 'tenants',
  title: 'C1 C2 C3 C13 every id parameter of every operation gets ids that the caller may not access',
  promise: 'the response equals that for an unknown id, byte for byte, and nothing is read, changed or delivered',
  unit: 'run on each database',
  quick: 1,
  full: 1,
  execute,
};

async function execute({ count, stores, context, log }: RunParameters): Promise<RunResult> {
  const broken: string[] = [];
  const counts: Record<string, number> = {};
  for (let turn = 0; turn < count; turn += 1) {
    // The services start sequentially, because each matrix records all routes that are mounted meanwhile.
    const matrices: (readonly [TestStore, IsolationMatrix])[] = [];
    for (const store of stores) matrices.push([store, await IsolationMatrix.of(store, context)]);
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
const ownedTables = ['hooks', 'targets', 'api_keys', 'calendars', 'sessions', 'finalized_deliveries', 'attempts'];

/** Calls every operation of one service, as every kind of caller, with values of another tenant or user. */
class IsolationMatrix {
  readonly broken: string[] = [];
  readonly counted = new Map<string, number>();
  readonly #carillon: TestService;
  readonly #operations: readonly Operation[];
  readonly #others: readonly string[];
  readonly #target: Target;
  readonly #tested = new Set<string>();
  readonly #checkDocument: ReturnType<typeof createResponseCheck>;

  private constructor(carillon: TestService, mounted: readonly string[], target: Target, document: Json) {
    const { operations, others } = classifyRoutes(mounted);
    this.#carillon = carillon;
    this.#operations = operations;
    this.#others = others;
    this.#target = target;
    this.#checkDocument = createResponseCheck(document);
  }

  static async of(store: TestStore, context: RunParameters['context']): Promise<IsolationMatrix> {
    const target = await startTarget(context);
    const { started, mounted } = await recordMountedRoutes(() =>
      store.testService(context, { options: { wrongKeys: 'off' } }),
    );
    const { json } = await started.call(undefined, 'GET', '/openapi.json');
    return new IsolationMatrix(started, mounted, target, json);
  }

  async run(): Promise<void> {
    const carillon = this.#carillon;
    const createNamedTenant = (mark: string, more: Omit<Parameters<typeof createTenant>[2], 'mark'> = {}) =>
      createTenant(carillon, this.#target, { mark, ...more });
    const bystanders = [await watchBystander(carillon, await carillon.createAccount('zqalone.test'), true)];
    const addMember = async (owner: ApiUser) =>
      void bystanders.push(await watchBystander(carillon, await carillon.createUser(owner, 'member'), false));
    const foreign = await createNamedTenant('zqtheirs', { busy: CURSORS_AHEAD });
    const [ours, common] = [
      await createNamedTenant('zqours'),
      await createNamedTenant('zqcommon', { first: addMember }),
    ];
    const unauthenticated = await createUnauthenticatedCallers(carillon, foreign, ours);
    const restricted = await createRestrictedKeys(carillon, foreign);

    await this.#expectUnchanged(foreign, [], () => this.#checkOtherAccount(ours, foreign));
    // Rejected keys and replaced links change the audit log and the invitations, so these tables are not compared.
    await this.#expectUnchanged(foreign, ['audit', 'invitations'], async () => {
      await this.#checkUnauthenticated(unauthenticated, foreign);
      for (const operation of this.#operations.filter(({ routeGroup }) => routeGroup === '/v2')) {
        const key = operation.row.permission && restricted.get(operation.row.permission);
        if (key)
          await this.#checkRestrictedKey(operation, { description: 'a narrowed key', headers: key.headers }, foreign);
      }
      await this.#checkPublicRoutes(foreign);
    });
    await this.#checkOtherUser(common);
    const { broken, cells } = await checkHookMatrix(carillon, this.#target, common, foreign);
    this.broken.push(...broken.map((line) => `user × scope × project × kind: ${line}`));
    this.#count('cells of user, scope, project and kind', cells);
    this.#checkCoverage(foreign);
    for (const different of bystanders) this.broken.push(...(await different()));
    this.broken.push(...(await findForeignContent(carillon, ours, foreign.mark)));
    this.broken.push(...(await findForeignNotifications([foreign, ours, common], this.#target.received)));
  }

  /** Makes calls with a valid key and session of another account. */
  async #checkOtherAccount(ours: Tenant, foreign: Tenant): Promise<void> {
    for (const operation of this.#operations) {
      const pairs = [
        ...createIdPairs(operation, ours, foreign),
        ...createConditionPairs(operation, ours, foreign),
        ...createTextPairs(operation, ours, foreign),
      ];
      for (const pair of pairs) await this.#checkPair(operation, callerFor(operation, ours), pair, foreign.mark);
    }
    // These requests come last, because they create records.
    for (const operation of this.#operations.filter(isIdempotencyKeyUsed))
      for (const pair of createIdempotencyPairs(operation, ours, foreign))
        await this.#checkPair(operation, callerFor(operation, ours), pair, foreign.mark);
  }

  /** Makes calls without valid credentials. */
  async #checkUnauthenticated(
    unauthenticated: Readonly<Record<string, readonly DescribedCaller[]>>,
    foreign: Tenant,
  ): Promise<void> {
    for (const operation of this.#operations) {
      const method = operation.method === 'HEAD' ? 'HEAD' : 'GET';
      const callers = unauthenticated[operation.routeGroup] ?? [];
      const expected = await this.#carillon.call(callers[0], method, `${operation.routeGroup}/nowhere`);
      const request = foreign.requestFor(operation.row);
      const places = placesOf(operation);
      // The requests are a normal request of the tenant, requests with an id of the tenant in each place, and a
      // request with unknown ids in all places.
      const asked: (readonly [string, RequestParts])[] = [['what stands in it', request]];
      for (const place of places.filter(
        ({ where, description }) => where !== 'path' && !description.endsWith(': [id]'),
      ))
        asked.push([place.description, place.put(request, idsFor(operation, place, foreign)[0] ?? '')]);
      if (places.length > 0)
        asked.push(['never issued', places.reduce((one, place) => place.put(one, NEVER_ISSUED), request)]);
      const each = callers.map(async (caller) => {
        for (const [description, one] of asked)
          this.#check(
            operation,
            caller,
            description,
            hidden(await this.#sendOperation(operation, caller, one), expected),
          );
      });
      await Promise.all(each);
    }
  }

  /** Makes calls with a key that lacks the permission of the route. The response must be the same for every id. */
  async #checkRestrictedKey(operation: Operation, caller: DescribedCaller, foreign: Tenant): Promise<void> {
    const request = foreign.requestFor(operation.row);
    const expected = await this.#sendOperation(operation, caller, request);
    this.#check(operation, caller, 'nothing', notPermitted(expected, expected));
    for (const place of placesOf(operation))
      for (const id of [...idsFor(operation, place, foreign), NEVER_ISSUED]) {
        const answer = await this.#sendOperation(operation, caller, place.put(request, id));
        this.#check(operation, caller, place.description, hidden(answer, expected));
      }
  }

  /** Makes calls as a member, about records of the owner. */
  async #checkOtherUser(tenant: Tenant): Promise<void> {
    const member = await this.#carillon.createUser(tenant.owner, 'member');
    const session = await this.#carillon.signIn(member);
    const before = await this.#ownedRows(tenant);
    const as = { owner: member, session };
    for (const operation of this.#operations) await this.#checkAsMember(operation, as, tenant);
    for (const operation of this.#operations.filter(isIdempotencyKeyUsed))
      for (const pair of createIdempotencyPairs(operation, tenant, tenant))
        await this.#checkPair(operation, { ...callerFor(operation, as), description: 'another user' }, pair, undefined);
    const after = await this.#ownedRows(tenant);
    for (const line of missingLines(before, after)) this.broken.push(`a row of the owner changed: ${line}`);
  }

  async #ownedRows({ owner }: Tenant): Promise<Set<string>> {
    const rows = await readAccountRows(this.#carillon, owner.domain);
    return new Set([...rows].filter((line) => ownedTables.includes(line.split(' ', 1)[0] ?? '')));
  }

  async #checkAsMember(operation: Operation, member: Pick<Tenant, 'owner' | 'session'>, tenant: Tenant): Promise<void> {
    const { row, method } = operation;
    const isRead = method === 'GET' || method === 'HEAD';
    const isForbidden = row.permission !== undefined && !permissionsOf('member').includes(row.permission);
    for (const place of placesOf(operation)) {
      const rule = isForbidden ? 'refused' : ruleFor(row, place);
      if (rule === undefined)
        this.broken.push(`${operationName(operation)}: checks.ts has no rule for ${place.description}`);
      // With the permission, every user may change every shared record (C2). Event streams are left out, because they
      // do not end.
      if (rule === undefined || (rule === 'shared' && (!isRead || place.where === 'header'))) continue;
      const check = { hidden, refused: notPermitted, shared }[rule];
      const caller = { ...callerFor(operation, member), description: 'another user' };
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
        await this.#checkPair(operation, caller, pair, rule === 'shared' ? undefined : tenant.mark);
      }
    }
  }

  /** Makes calls to the public routes. */
  async #checkPublicRoutes(foreign: Tenant): Promise<void> {
    const { results, untested } = await checkPublicRoutes(this.#carillon, foreign, this.#others);
    for (const name of untested) this.broken.push(`${name} is mounted, but not tested`);
    for (const { description, violation } of results) {
      this.#count('cells', 1);
      if (violation !== undefined) this.broken.push(`${description} ${violation}`);
    }
  }

  async #checkPair(
    operation: Operation,
    caller: DescribedCaller,
    pair: RequestPair,
    mark: string | undefined,
  ): Promise<void> {
    const answer = await this.#sendOperation(operation, caller, pair.foreign);
    const other = await this.#sendOperation(operation, caller, pair.unknown);
    const isSaid = mark !== undefined && JSON.stringify(pair.foreign).includes(mark);
    const leak = mark !== undefined && !isSaid && containsMark(mark, answer) ? `shows ${answer.text}` : undefined;
    this.#check(operation, caller, pair.description, pair.check(answer, other) ?? leak);
  }

  async #sendOperation(operation: Operation, caller: DescribedCaller, request: RequestParts): Promise<ApiResponse> {
    this.#count('responses', 1);
    const answered = sendOperation(this.#carillon, operation, caller, request);
    if (request.headers.accept === undefined) return this.#checkDocumented(operation, await answered);
    const late = Promise.withResolvers<ApiResponse>();
    const opened = { status: 0, headers: new Headers(), text: 'a stream', json: undefined };
    const giveUp = setTimeout(() => late.resolve(opened), RESPONSE_TIMEOUT_MS);
    return Promise.race([answered, late.promise]).finally(() => clearTimeout(giveUp));
  }

  /** Checks responses of the API group against the OpenAPI document. */
  #checkDocumented({ routeGroup, method, row }: Operation, answer: ApiResponse): ApiResponse {
    const { status, headers, json: body } = answer;
    const contentType = headers.get('content-type');
    const fault =
      routeGroup !== '/v2' || method === 'HEAD' || status === 304
        ? undefined
        : this.#checkDocument({ method, path: `/v2${row.path}`, status, contentType, body });
    if (fault !== undefined) this.broken.push(`${method} ${row.path} does not match the OpenAPI document: ${fault}`);
    return answer;
  }

  #check(operation: Operation, { description: who }: DescribedCaller, what: string, fault: string | undefined): void {
    this.#tested.add(operationName(operation));
    this.#count('cells', 1);
    if (fault !== undefined) this.broken.push(`${operationName(operation)}, ${what}, with ${who}: ${fault}`);
  }

  /** Checks that `work` changes no row of the account and delivers nothing to its hooks. */
  async #expectUnchanged({ owner, mark }: Tenant, but: readonly string[], work: () => Promise<void>): Promise<void> {
    const countNotifications = () => this.#target.received.filter(({ path }) => path.startsWith(`/${mark}-`)).length;
    const [before, notificationsBefore] = [
      await readAccountRows(this.#carillon, owner.domain, but),
      countNotifications(),
    ];
    await work();
    const after = await readAccountRows(this.#carillon, owner.domain, but);
    for (const line of diffLines(before, after)) this.broken.push(`a row of the other account changed: ${line}`);
    if (countNotifications() !== notificationsBefore)
      this.broken.push('hooks of the other account received notifications');
    this.#count('rows compared', before.size);
  }

  #checkCoverage(foreign: Tenant): void {
    for (const row of new Set(this.#operations.map((one) => one.row)))
      for (const name of findUntestedIds(row))
        this.broken.push(`${row.method} ${row.path}: ${name} looks like an id, but is not tested`);
    for (const operation of this.#operations)
      if (!this.#tested.has(operationName(operation))) this.broken.push(`${operationName(operation)} is not tested`);
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
const isIdempotencyKeyUsed = ({ routeGroup, method }: Operation) => routeGroup === '/v2' && method === 'POST';

/** Returns the owner of a tenant as a caller, with the credentials of the route group. */
function callerFor({ routeGroup }: Operation, { owner, session }: Pick<Tenant, 'owner' | 'session'>): DescribedCaller {
  return { description: 'another account', headers: routeGroup === '/v2' ? owner.headers : session.headers };
}
