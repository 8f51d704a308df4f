import { permissionsOf } from '../src/access.ts';
import { idNames, type Route } from '../src/http/route.ts';
import type { Answer, SignedIn, TestService } from '../test/harness/service.ts';
import type { TestStore } from '../test/harness/stores.ts';
import { startTarget, type Target } from '../test/harness/target.ts';
import type { Figure, Proof, Run } from './proof.ts';
import { type Caller, narrowed, strangersTo } from './tenants/callers.ts';
import { furnishHouse, type House, idName, send } from './tenants/house.ts';
import { hidden, type Judge, markIn, refused, shared, unheardOf } from './tenants/judged.ts';
import { openCells } from './tenants/open.ts';
import {
  mountedBy,
  nameOf,
  type Operation,
  passedOver,
  type Place,
  placesOf,
  properties,
  type Request,
  sorted,
} from './tenants/operations.ts';
import { ofAnother } from './tenants/ownership.ts';
import { seenOf } from './tenants/seen.ts';
import { changes, rowsOf } from './tenants/snapshot.ts';

/** Every operation, every place of it that an id can stand in, every kind of caller whose it is not. */
export const tenants: Proof = {
  id: 'R10',
  name: 'tenants',
  title: 'every place an id can stand in, asked by everybody whose it is not',
  promise: 'answered byte for byte as what was never issued; nothing of others is read, changed or told',
  unit: 'whole matrices, on each store',
  quick: 1,
  long: 1,
  prove,
};

async function prove({ count, stores, context, say }: Run): Promise<Figure> {
  const broken: string[] = [];
  const totals = new Map<string, number>();
  for (const store of stores) {
    for (let turn = 0; turn < count; turn += 1) {
      const matrix = await Matrix.of(store, context);
      await matrix.fill();
      broken.push(...matrix.broken.map((line) => `${store.name}: ${line}`));
      for (const [what, number] of matrix.counted) totals.set(what, (totals.get(what) ?? 0) + number);
      say(`${store.name}: ${matrix.counted.get('cells')} cells`);
    }
  }
  return { counts: { ...Object.fromEntries(totals), leaks: broken.length }, broken };
}

/** No id of any noun, and no cursor: none of them counts so far. */
const NEVER_ISSUED = '9007199254740991';
const NEVER_TAGGED = `"${'A'.repeat(22)}"`;

/** What does not answer within this time is a stream that was opened. */
const LONGEST_ANSWER_MS = 5_000;

class Matrix {
  readonly broken: string[] = [];
  readonly counted = new Map<string, number>();
  readonly #carillon: TestService;
  readonly #operations: readonly Operation[];
  readonly #others: readonly string[];
  readonly #target: Target;
  readonly #filled = new Set<string>();
  #words = 0;

  private constructor(
    carillon: TestService,
    { operations, others }: ReturnType<typeof sorted>,
    target: Target,
  ) {
    this.#carillon = carillon;
    this.#operations = operations;
    this.#others = others;
    this.#target = target;
  }

  static async of(store: TestStore, context: Run['context']): Promise<Matrix> {
    const target = await startTarget(context);
    const { started, mounted } = await mountedBy(() => store.testService(context));
    return new Matrix(started, sorted(mounted), target);
  }

  async fill(): Promise<void> {
    const furnish = (mark: string) => furnishHouse(this.#carillon, mark, this.#target);
    const [theirs, ours, common] = [await furnish('zqtheirs'), await furnish('zqours'), await furnish('zqcommon')];
    // Their cursors are ahead of ours, so that ours are none of theirs.
    for (let more = 0; more < 40; more += 1)
      await theirs.owner.carillon.events.update(theirs.ids.event_id?.[0] ?? '', { due_date: '20270302' });
    const strangers = await strangersTo(this.#carillon, theirs, ours);
    const without = await narrowed(this.#carillon, theirs);
    const member = await this.#member(common);
    await this.#unchanged(theirs, [], () => this.#otherAccount(ours, theirs));
    // Whom the owner has let in, the audit log of the account may speak of.
    await this.#unchanged(theirs, ['audit'], async () => {
      await this.#strangers(strangers, theirs);
      for (const operation of this.#operations.filter(({ door }) => door === '/v2')) {
        const { permission } = operation.row;
        const caller = permission === undefined ? undefined : without.get(permission);
        if (caller !== undefined) await this.#narrowed(operation, { says: 'a narrowed key', ...caller }, theirs);
      }
      await this.#open(theirs);
    });
    const owned = ['hooks', 'targets', 'api_keys', 'calendars', 'sessions', 'settled', 'attempts'];
    await this.#keeps(common, owned, () => this.#otherUser(member, common));
    this.#judgeWhole(theirs);
    for (const line of await seenOf(this.#carillon, ours, theirs.mark)) this.#break(line);
    this.#judgeTold(theirs, ours);
  }

  // ——— who asks

  /** With a good key and a good session of another account. */
  async #otherAccount(ours: House, theirs: House): Promise<void> {
    for (const operation of this.#operations) {
      const caller = callerAt(operation, ours);
      for (const place of placesOf(operation)) {
        for (const id of this.#idsFor(operation, place, theirs)) {
          const request = ours.requestFor(operation.row);
          await this.#cell(operation, caller, place.says, hidden, theirs.mark, [
            place.put(request, id),
            place.put(request, NEVER_ISSUED),
          ]);
        }
      }
      for (const { says, pair } of conditionsOn(operation, ours, theirs))
        await this.#cell(operation, caller, says, hidden, theirs.mark, pair);
      for (const { says, judge, pair } of this.#words_(operation, ours, theirs))
        await this.#cell(operation, caller, says, judge, theirs.mark, pair);
    }
    // Last, since it makes something new.
    for (const operation of this.#operations.filter(({ door, method }) => door === '/v2' && method === 'POST')) {
      const caller = callerAt(operation, ours);
      for (const { says, judge, pair } of this.#once(operation, ours, theirs))
        await this.#cell(operation, caller, says, judge, theirs.mark, pair);
    }
  }

  /** With what opens no door, or not any more. */
  async #strangers(strangers: Readonly<Record<string, readonly Caller[]>>, theirs: House): Promise<void> {
    const wanted = new Map<string, Answer>();
    for (const [door, [nobody]] of Object.entries(strangers))
      for (const method of ['GET', 'HEAD'])
        wanted.set(`${door} ${method}`, await this.#carillon.call(nobody, method, `${door}/nowhere`));
    for (const operation of this.#operations) {
      const reference = wanted.get(`${operation.door} ${operation.method === 'HEAD' ? 'HEAD' : 'GET'}`);
      const request = theirs.requestFor(operation.row);
      const requests: (readonly [string, Request])[] = [['nothing', request]];
      for (const place of placesOf(operation))
        for (const id of [...(theirs.ids[idName(place.name)] ?? []), NEVER_ISSUED])
          requests.push([place.says, place.put(request, id)]);
      await Promise.all(
        (strangers[operation.door] ?? []).map(async (caller) => {
          for (const [says, asked] of requests) {
            const answer = await this.#ask(operation, caller, asked);
            this.#judge(operation, caller, says, reference === undefined ? 'no answer' : hidden(answer, reference));
          }
        }),
      );
    }
  }

  /** With a key of the account that lacks the permission of the row. */
  async #narrowed(operation: Operation, caller: Caller, theirs: House): Promise<void> {
    const request = theirs.requestFor(operation.row);
    const answer = await this.#ask(operation, caller, request);
    this.#judge(operation, caller, 'nothing', refused(answer, answer));
    for (const place of placesOf(operation)) {
      for (const id of [...this.#idsFor(operation, place, theirs), NEVER_ISSUED]) {
        const other = await this.#ask(operation, caller, place.put(request, id));
        this.#judge(operation, caller, place.says, hidden(other, answer));
      }
    }
  }

  /** As a member of the account, about what is its owner's. */
  async #otherUser(member: { key: Caller; session: SignedIn }, house: House): Promise<void> {
    const may = new Set(permissionsOf('member'));
    for (const operation of this.#operations) {
      const { row, door } = operation;
      const caller = door === '/v2' ? member.key : { says: 'another user', headers: member.session.headers };
      const mayNot = row.permission !== undefined && !may.has(row.permission);
      for (const place of placesOf(operation)) {
        const rule = mayNot ? 'refused' : ofAnother(row, place);
        if (rule === undefined) this.#break(`${nameOf(operation)}: nobody has said whether ${place.says} is shared`);
        const isWrite = operation.method !== 'GET' && operation.method !== 'HEAD';
        // C2: with the permission, every user changes every record of the account.
        if (rule === undefined || (rule === 'shared' && (isWrite || place.where === 'header'))) continue;
        const judge = { hidden, refused, shared }[rule];
        const [id = ''] = this.#idsFor(operation, place, house);
        const request = house.requestFor(row);
        const mark = rule === 'shared' ? undefined : house.mark;
        await this.#cell(operation, caller, place.says, judge, mark, [
          place.put(request, id),
          place.put(request, NEVER_ISSUED),
        ]);
      }
    }
  }

  /** At the addresses that are no row. */
  async #open(theirs: House): Promise<void> {
    const { cells, unknown } = await openCells(this.#carillon, theirs, this.#others);
    for (const name of unknown) this.#break(`${name} is mounted, and the matrix has no cell for it`);
    for (const { says, judged } of cells) {
      this.#count('cells', 1);
      if (judged !== undefined) this.#break(`${says} ${judged}`);
    }
  }

  // ——— what is asked beside ids

  /** Their words under ours: an Idempotency-Key is a key's own. */
  #once({ row }: Operation, ours: House, theirs: House): Pair[] {
    const asked = theirs.asked.get(row);
    if (asked === undefined) {
      this.#break(`POST ${row.path}: nobody has asked it with an Idempotency-Key`);
      return [];
    }
    const under = (request: Request, word: string): Request => ({
      ...request,
      headers: { ...request.headers, 'idempotency-key': word },
    });
    const own: Pair = {
      says: 'their Idempotency-Key',
      judge: unheardOf,
      pair: [under(ours.requestFor(row), asked.word), under(ours.requestFor(row), this.#newWord())],
    };
    const same = placesOf({ row }).length === 0 ? [] : [this.#theirVery(asked, under)];
    return [own, ...same];
  }

  #theirVery(
    { request, word }: { request: Request; word: string },
    under: (request: Request, word: string) => Request,
  ): Pair {
    return {
      says: 'their very request, with their Idempotency-Key',
      judge: hidden,
      pair: [under(request, word), under(request, this.#newWord())],
    };
  }

  /** What records are looked up by, beside ids. */
  #words_({ row, method }: Operation, ours: House, theirs: House): Pair[] {
    const said = [...theirs.asked.values()].map(({ request }) => request.body ?? {});
    const theirWord = (name: string) =>
      said.map((body) => body[name] ?? body[`${name}s`]).find((value) => typeof value === 'string') as string | undefined;
    const request = () => ours.requestFor(row);
    const pairs: Pair[] = [];
    for (const [name, { schema }] of Object.entries(row.parameters)) {
      if (schema.type !== 'string' || schema.pattern !== undefined || schema.enum !== undefined) continue;
      const word = theirWord(name);
      if (word === undefined) this.#break(`${method} ${row.path}: nobody has a ${name} to search for`);
      const searching = (value: string) => ({ ...request(), query: { [name]: value } });
      const judge = name === 'target_url' ? toldOf : hidden;
      pairs.push({ says: `their ${name} in the query`, judge, pair: [searching(word ?? ''), searching('nothing')] });
    }
    for (const [name] of properties(row)) {
      const word = lookedUp(name, theirs);
      if (word === undefined || method === 'GET' || method === 'HEAD' || ours.ids.user_id === undefined) continue;
      if (name === 'email' && !row.path.startsWith('/users')) continue;
      const judge = name === 'target_url' ? takenBySomebody : unheardOf;
      const theirs_ = request();
      pairs.push({
        says: `their ${name} in the body`,
        judge,
        pair: [{ ...theirs_, body: { ...theirs_.body, [name]: word(String(theirs_.body?.[name])) } }, request()],
      });
    }
    return pairs;
  }

  #newWord(): string {
    this.#words += 1;
    return `never-used-${this.#words}`;
  }

  // ——— what is found

  async #cell(
    operation: Operation,
    caller: Caller,
    says: string,
    judge: Judge,
    mark: string | undefined,
    [theirs, nobodys]: readonly [Request, Request],
  ): Promise<void> {
    const answer = await this.#ask(operation, caller, theirs);
    const other = await this.#ask(operation, caller, nobodys);
    const isSaid = mark !== undefined && JSON.stringify(theirs).includes(mark);
    const leak = mark !== undefined && !isSaid && markIn(mark, answer) ? `shows ${answer.text}` : undefined;
    this.#judge(operation, caller, says, judge(answer, other) ?? leak);
  }

  async #ask(operation: Operation, caller: Caller, request: Request): Promise<Answer> {
    this.#count('answers', 1);
    const answered = send(this.#carillon, operation, caller, request);
    if (request.headers.accept === undefined) return answered;
    const timer = Promise.withResolvers<Answer>();
    const late = { status: 0, headers: new Headers(), text: 'a stream', json: undefined };
    const giveUp = setTimeout(() => timer.resolve(late), LONGEST_ANSWER_MS);
    return Promise.race([answered, timer.promise]).finally(() => clearTimeout(giveUp));
  }

  #judge(operation: Operation, { says: who }: Caller, says: string, fault: string | undefined): void {
    this.#filled.add(nameOf(operation));
    this.#count('cells', 1);
    if (fault !== undefined) this.#break(`${nameOf(operation)}, ${says}, with ${who}: ${fault}`);
  }

  #idsFor(operation: Operation, place: Place, house: House): readonly string[] {
    const ids = house.ids[idName(place.name)] ?? [];
    if (ids.length === 0) this.#break(`${nameOf(operation)}: nobody knows a ${place.name} to put there`);
    return ids;
  }

  /** Nothing of an account is another one after than before. */
  async #unchanged(house: House, but: readonly string[], work: () => Promise<void>): Promise<void> {
    const before = await rowsOf(this.#carillon, house.owner.domain, but);
    await work();
    const after = await rowsOf(this.#carillon, house.owner.domain, but);
    for (const line of changes(before, after)) this.#break(`something of the other account changed: ${line}`);
    this.#count('rows compared', before.size);
  }

  /** Nothing that was there in these tables is gone, or another one. */
  async #keeps(house: House, tables: readonly string[], work: () => Promise<void>): Promise<void> {
    const of = async () => [...(await rowsOf(this.#carillon, house.owner.domain))].filter(isIn(tables));
    const before = await of();
    await work();
    const after = new Set(await of());
    for (const line of before.filter((one) => !after.has(one))) this.#break(`something of the owner changed: ${line}`);
    this.#count('rows compared', before.length);
  }

  #judgeWhole(theirs: House): void {
    const rows = new Set(this.#operations.map(({ row }) => row));
    for (const row of rows)
      for (const name of passedOver(row)) this.#break(`${row.method} ${row.path}: ${name} looks like an id, and is none`);
    for (const operation of this.#operations)
      if (!this.#filled.has(nameOf(operation))) this.#break(`${nameOf(operation)} has no cell`);
    for (const line of this.#carillon.logged)
      if (JSON.stringify(line).includes(`${theirs.mark}-`)) this.#break(`the log says ${JSON.stringify(line)}`);
    this.#count('operations', this.#operations.length);
    this.#count('log lines read', this.#carillon.logged.length);
  }

  /** What receivers heard is of their own account. */
  #judgeTold(theirs: House, ours: House): void {
    const heard = this.#target.received;
    const owners = { [theirs.mark]: theirs, [ours.mark]: ours };
    for (const { path, resourceUrl } of heard) {
      const [, mark = '', collection = ''] = `${path} ${resourceUrl}`.match(/^\/(\w+)-.*\/v2\/(\w+)\/\d+$/) ?? [];
      if (owners[mark] === undefined) continue;
      if (!['events', 'hooks'].includes(collection)) this.#break(`${path} was told of ${resourceUrl}`);
    }
    this.#count('notifications read', heard.length);
  }

  async #member(house: House): Promise<{ key: Caller; session: SignedIn }> {
    const person = await this.#carillon.user(house.owner, 'member');
    return { key: { says: 'another user', headers: person.headers }, session: await this.#carillon.signIn(person) };
  }

  #break(line: string): void {
    this.broken.push(line);
  }

  #count(what: string, more: number): void {
    this.counted.set(what, (this.counted.get(what) ?? 0) + more);
  }
}
