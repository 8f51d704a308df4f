import { execFile } from 'node:child_process';
import { cpSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { basename, join } from 'node:path';
import { fileURLToPath } from 'node:url';

const root = fileURLToPath(new URL('../..', import.meta.url));

/** A test, by its file and its whole name. */
type Catcher = { readonly file: string; readonly name: string };

/** A mistake that somebody could make, as a change of the source, and the test that must go red at it. */
export type Mutation = {
  readonly says: string;
  readonly file: string;
  /** What stands there, and what is put in its place. Each must stand there exactly once. */
  readonly changes: readonly (readonly [from: string, to: string])[];
  readonly caughtBy: Catcher;
  /**
   * One of the planted bugs: the proof that has to catch it as well, at which count, and what it has to say of it, so
   * that nothing that goes wrong beside it passes for that. See `test/reliability/seeded-bugs.ts`.
   */
  readonly planted?: { readonly proof: string; readonly count: number; readonly seenAs: RegExp };
};

export const mutations: readonly Mutation[] = [
  {
    says: '204 is taken as success',
    file: 'src/delivery/dispatcher/retry-policy.ts',
    changes: [['outcome.status === 200)', '(outcome.status === 200 || outcome.status === 204))']],
    caughtBy: {
      file: 'src/delivery/dispatcher/retry-policy.test.ts',
      name: 'C17 neither its neighbours among the numbers nor its relatives among the meanings pass for 200 or 401',
    },
  },
  ...[2, 4].map((failures) => ({
    says: `a hook is removed at failure ${failures}`,
    file: 'src/delivery/dispatcher/retry-policy.ts',
    changes: [['MAX_FAILURES = 3', `MAX_FAILURES = ${failures}`]] as const,
    caughtBy: {
      file: 'test/stories/notified.test.ts',
      name: 'C17 C18 a target that fails three times in a row is removed, at its third failure exactly',
    },
    planted: { proof: 'simulation', count: 20, seenAs: /C17 removed, or not, against the count/ },
  })),
  {
    says: 'the failures are not reset by a 200',
    file: 'src/delivery/dispatcher/hook-queue.ts',
    changes: [
      ['#recover(row: PendingDelivery): void {\n    this.#failures = 0;', '#recover(row: PendingDelivery): void {'],
    ],
    caughtBy: {
      file: 'test/stories/waiting.test.ts',
      name: 'C17 C18 a 200 starts the count anew: two failures, a 200, two failures, a 200, and so on, end nothing',
    },
    planted: { proof: 'simulation', count: 50, seenAs: /C17 removed, or not, against the count/ },
  },
  {
    says: 'what is read is not narrowed to the account',
    file: 'src/store/account-scope.ts',
    changes: [
      ['return query as unknown as SelectQueryBuilder', 'return query.clearWhere() as unknown as SelectQueryBuilder'],
    ],
    caughtBy: {
      file: 'src/http/fields/ids.test.ts',
      name: 'C3 what another account has cannot be named: in a path, in a body or in a filter',
    },
    planted: { proof: 'tenants', count: 1, seenAs: /with another account: is answered 200/ },
  },
  {
    says: 'a commit to a database file that was removed is acknowledged',
    file: 'src/store/sqlite/group-commit.ts',
    changes: [['if (this.#rejectIfLost(writes)) return;', '']],
    caughtBy: {
      file: 'src/store/sqlite/open.test.ts',
      name: 'C20 the database is removed while it is open: no write is acknowledged any more, and the process is told to end',
    },
  },
  {
    says: '/readyz writes no more than a page',
    file: 'src/store/sqlite/open.ts',
    changes: [['PROBE_BYTES = 64 * 1_024', 'PROBE_BYTES = 2']],
    caughtBy: {
      file: 'test/stories/full-disk.test.ts',
      name: 'C20 X6 a full disk: writes are answered 503, /readyz is 503, reads go on, nothing acknowledged is lost, and it works again with room',
    },
  },
  {
    says: '/metrics answers whatever name leads here',
    file: 'src/http/server/health.ts',
    changes: [[' && isOwnHost(request.headers.host, baseUrl())', '']],
    caughtBy: {
      file: 'src/http/auth/route-groups.test.ts',
      name: 'X6 /metrics is not for a page whose name leads to this machine: the Host must be one of its own',
    },
  },
  {
    says: 'a line is printed as it came',
    file: 'src/cli/output/screen.ts',
    changes: [["return typeof line === 'string' ? printable(line)", "return typeof line === 'string' ? line"]],
    caughtBy: {
      file: 'test/stories/terminal.test.ts',
      name: 'nothing that a service answers can steer the terminal of its client, as a record or as an error',
    },
  },
  {
    says: 'a cursor may hold a text that no database keeps',
    file: 'src/resources/core/sorting.ts',
    changes: [["typeof value === 'string' && isStorable(value)", "typeof value === 'string'"]],
    caughtBy: {
      file: 'test/stories/bad-query.test.ts',
      name: 'C4 C7 a place that holds NUL, a lone surrogate or another kind of value is refused by name in every order of every list',
    },
  },
  {
    says: 'a database file with a second name is opened',
    file: 'src/store/sqlite/file-identity.ts',
    changes: [['nlink > 1n', 'nlink > 9n']],
    caughtBy: {
      file: 'src/store/sqlite/open.test.ts',
      name: 'C20 a database file with a second name (a hard link) is refused under both, for services and commands',
    },
  },
  {
    says: 'what occurs and is pending is written in a transaction of its own, behind that of the record',
    file: 'src/store/sqlite/group-commit.ts',
    changes: [
      [
        '        await group.left.act(',
        "        this.#connection.exec('commit');\n        this.#connection.exec('begin immediate');\n        await group.left.act(",
      ],
    ],
    caughtBy: {
      file: 'test/stories/rolled-back.test.ts',
      name: 'C16 C20 where what is pending cannot be written, nothing else is there either, and nobody was answered',
    },
    planted: { proof: 'simulation', count: 200, seenAs: /C20 acknowledged and lost: new|, and no occurrence/ },
  },
  {
    says: 'a write is answered before its commit',
    file: 'src/store/sqlite/group-commit.ts',
    changes: [
      [
        "      this.#connection.exec('commit');",
        "      for (const one of done) if ('value' in one) one.waiting.resolve(one.value);\n      await new Promise<void>((resolve) => setImmediate(resolve));\n      this.#connection.exec('commit');",
      ],
    ],
    caughtBy: {
      file: 'src/store/sqlite/group-commit.test.ts',
      name: 'C13 C20 the news of a commit are heard before its writes are answered, and after it is durable',
    },
    planted: { proof: 'simulation', count: 20, seenAs: /is there 0 times, acknowledged|C20 acknowledged and lost/ },
  },
  {
    says: 'a commit is not flushed to the disk',
    file: 'src/store/sqlite/open.ts',
    changes: [['pragma synchronous = full', 'pragma synchronous = normal']],
    caughtBy: {
      file: 'src/store/sqlite/group-commit.test.ts',
      name: 'C20 what has resolved is on the disk: WAL with synchronous=FULL, seen by any other connection',
    },
    planted: { proof: 'power', count: 10, seenAs: /C20 acknowledged and lost/ },
  },
  {
    says: 'a late answer is not fenced off',
    file: 'src/delivery/dispatcher/complete-deliveries.ts',
    changes: [['current.get(one.hookId) !== one.generation) continue;', '!current.has(one.hookId)) continue;']],
    caughtBy: {
      file: 'test/stories/restoring.test.ts',
      name: 'C13 X1 an answer from before the end changes nothing of the hook that was restored since',
    },
    planted: { proof: 'simulation', count: 100, seenAs: /C17 removed, or not, against the count/ },
  },
  {
    says: 'a restored hook is pending once more what had occurred last before it ended',
    file: 'src/delivery/outbox/restore-hook.ts',
    changes: [['first: endedPosition + 1', 'first: endedPosition']],
    caughtBy: {
      file: 'test/stories/restoring.test.ts',
      name: 'X1 a hook can be restored whatever ended it, and ended again',
    },
    // What had occurred last may have been before there was a hook.
    planted: { proof: 'simulation', count: 200, seenAs: /C20 told again for no reason|C14 told to somebody else/ },
  },
  {
    says: 'an attempt counts as a failure until it is known that it was none, and so after a crash',
    file: 'src/delivery/dispatcher/dispatcher.ts',
    changes: [
      [
        '    const flight = queue.begin(row, clock.now());\n',
        "    const flight = queue.begin(row, clock.now());\n    const count = (tx: import('../../store/store.ts').Tx) =>\n      tx.queries.updateTable('hooks').set((is) => ({ failures: is('failures', '+', 1) })).where('hook_id', '=', queue.hookId).execute();\n    this.#ports.store.write(count).catch(() => undefined);\n",
      ],
    ],
    caughtBy: {
      file: 'test/stories/own-faults.test.ts',
      name: 'C19 an attempt under way stands nowhere as a failure: whatever ends the service meanwhile counts nothing',
    },
    planted: { proof: 'simulation', count: 20, seenAs: /C17 removed, or not, against the count/ },
  },
  {
    says: 'what went wrong on our side is counted against the target',
    file: 'src/delivery/dispatcher/retry-policy.ts',
    changes: [["if (outcome.kind === 'ours') {", "if (outcome.kind === 'ours' && outcome.fault === 'stopped') {"]],
    caughtBy: {
      file: 'src/delivery/dispatcher/retry-policy.test.ts',
      name: 'C19 a fault of ours is no failure, whenever it comes: the attempt is made again',
    },
    planted: { proof: 'simulation', count: 60, seenAs: /C17 removed, or not, against the count/ },
  },
  {
    says: 'a pause of the process is held against the target',
    file: 'src/delivery/dispatcher/retry-policy.ts',
    changes: [['  if (pausedMs < Math.max(', '  if (pausedMs >= 0 || pausedMs < Math.max(']],
    caughtBy: {
      file: 'src/delivery/transport/attempt-paused.test.ts',
      name: 'C19 a process that was paused until the deadline had passed holds it against no target, over TCP',
    },
    planted: { proof: 'simulation', count: 100, seenAs: /C17 removed, or not, against the count/ },
  },
  {
    says: 'a deadline that fires late is judged before what has arrived is read',
    file: 'src/delivery/transport/deadline.ts',
    changes: [['setImmediate(() => setImmediate(judge));', 'judge();']],
    caughtBy: {
      file: 'src/delivery/transport/attempt-paused.test.ts',
      name: 'C19 an answer that has arrived while the process was paused counts, over TCP: the deadline fires after it was read',
    },
    planted: { proof: 'simulation', count: 100, seenAs: /C19 given up before its answer was read/ },
  },
  {
    says: 'a retry that was stored by a clock far ahead is waited for',
    file: 'src/delivery/dispatcher/retry-policy.ts',
    changes: [['return waitMs > longestMs ? 0 : waitMs;', 'return waitMs;']],
    caughtBy: {
      file: 'test/stories/clock-set.test.ts',
      name: 'C18 a hook that failed while the clock was ahead is tried again after a restart with the right one',
    },
    planted: { proof: 'simulation', count: 100, seenAs: /what is pending is never told|C20 still pending at the end/ },
  },
  {
    says: 'old rows are dropped by what the clock says, whatever it said before',
    file: 'src/delivery/maintenance/retention.ts',
    changes: [['const now = await retention.now();', 'const now = clock.now();']],
    caughtBy: {
      file: 'test/stories/clock-set.test.ts',
      name: 'C23 X2 X3 X4 a clock that jumps 400 days ahead drops no row of any table, nor does a start while it is wrong',
    },
    planted: { proof: 'simulation', count: 100, seenAs: /and its occurrences are at/ },
  },
  {
    says: 'a change forgets to record what happened',
    file: 'src/resources/core/define-resource.ts',
    changes: [['      record(write, [\n        ...moved,', '      if (facts) record(write, [\n        ...moved,']],
    caughtBy: {
      file: 'test/stories/walk.test.ts',
      name: 'C8 PUT /clients/{client_id} changes and records exactly what it states',
    },
  },
  {
    says: 'a limit above 1000 is not clamped',
    file: 'src/http/routes/pagination.ts',
    changes: [['Math.min(limit, MAX_RECORDS)', 'limit']],
    caughtBy: {
      file: 'src/http/routes/pagination.test.ts',
      name: 'C7 a limit above 1000 is taken as 1000 in events, and paging says so',
    },
  },
  {
    says: 'a page has no limit in bytes',
    file: 'src/http/routes/list-response.ts',
    changes: [['this.count > 0 && this.bytes + bytes > MAX_PAGE_BYTES', 'false']],
    caughtBy: {
      file: 'src/http/routes/list-response.test.ts',
      name: 'C7 a page ends before the record that has no room, and the next one begins right behind the last',
    },
  },
  {
    says: 'all records of a page are loaded at once',
    file: 'src/resources/core/sized-pages.ts',
    changes: [['one.size <= room && piece.length < MAX_SLICE_ROWS', 'one.size <= MAX_SLICE_BYTES']],
    caughtBy: {
      file: 'test/stories/large-pages.test.ts',
      name: 'C7 no page of /clients is larger than the limit, Link leads to every record, and no turn reads much',
    },
  },
  {
    says: 'due_to leaves out its own day',
    file: 'src/resources/core/filters.ts',
    changes: [[' 23:59:59', '']],
    caughtBy: {
      file: 'src/resources/events/events-filters.test.ts',
      name: 'C25 due_to=20270309 is inclusive of the whole day',
    },
  },
  {
    says: 'a redirect is followed',
    file: 'src/delivery/transport/attempt.ts',
    changes: [
      [
        '        const retryAfterMs = parseRetryAfter(',
        `        const { location } = headers;
        if (status >= 300 && status < 400 && typeof location === 'string') {
          const onward = { ...order, target: new URL(location, order.target).href };
          createAttempt(ports)(onward).then(resolve, reject);
          end();
          return;
        }
        const retryAfterMs = parseRetryAfter(`,
      ],
      [
        '  { userAgent, clock }: Ports,\n  { order, leftMs }: Trying,\n  connection: Connection,',
        '  ports: Ports,\n  { order, leftMs }: Trying,\n  connection: Connection,',
      ],
      [
        '  const { promise, resolve, reject } = Promise.withResolvers<Result | typeof STALE>();',
        '  const { userAgent, clock } = ports;\n  const { promise, resolve, reject } = Promise.withResolvers<Result | typeof STALE>();',
      ],
    ],
    caughtBy: {
      file: 'src/delivery/transport/attempt.test.ts',
      name: 'C15 a redirect is an answer, and is not followed',
    },
  },
  {
    says: 'only what was resolved is judged, not an address that is written out',
    file: 'src/delivery/transport/ssrf-guard.ts',
    changes: [
      [
        '      const resolved = isIP(host) === 0 ?',
        `      if (isIP(host) !== 0) return { allowed: true, addresses: [{ address: host, family: isIP(host) === 4 ? 4 : 6 }] };
      const resolved = isIP(host) === 0 ?`,
      ],
    ],
    caughtBy: {
      file: 'src/delivery/transport/ssrf-guard.test.ts',
      name: 'C11 every spelling of a forbidden address is refused, and by nothing but its address',
    },
    planted: { proof: 'ssrf', count: 1, seenAs: /the oracle forbids it, the guard does not/ },
  },
  {
    says: 'any key opens the account that the domain names',
    file: 'src/resources/keys/authenticate.ts',
    changes: [["    .where('api_keys.key_hash', '=', hash)\n", '']],
    caughtBy: { file: 'src/http/auth/authenticate.test.ts', name: 'C1 an unknown key: 401, byte for byte the same' },
  },
  {
    says: 'the key is not checked when a hook is deleted',
    file: 'src/resources/hooks/routes.ts',
    changes: [
      [
        "After the answer no new attempt begins.',\n      permission: 'hooks:write'",
        "After the answer no new attempt begins.',\n      permission: undefined",
      ],
    ],
    caughtBy: {
      file: 'test/stories/walk.test.ts',
      name: 'C2 every row that names a permission answers 401 not_permitted to a key without it',
    },
  },
  {
    says: 'whose hook it is does not matter when it is deleted',
    file: 'src/resources/hooks/actions.ts',
    changes: [['row.user_id !== caller.userId && !isAdmin(caller)) {', 'row.user_id < 0) {']],
    caughtBy: {
      file: 'test/stories/unsubscribing.test.ts',
      name: 'C13 another user’s hook of the account is 401 for a member, and ends at an admin’s word',
    },
  },
  {
    says: 'a deleted hook goes on with what is in its lane',
    file: 'src/delivery/dispatcher/dispatcher.ts',
    changes: [['      if (queue !== undefined) this.#discard(queue);\n', '']],
    caughtBy: {
      file: 'test/stories/unsubscribing.test.ts',
      name: 'C13 what was pending and what happens later does not go out after the 200, however long one waits',
    },
    planted: { proof: 'deletion', count: 100, seenAs: /arrived after the end/ },
  },
  {
    says: 'the feed goes on behind a cursor although something behind it is not kept any more',
    file: 'src/resources/notifications/notifications.ts',
    changes: [['first?.position !== reached + 1', 'reached < 0']],
    caughtBy: {
      file: 'src/resources/notifications/notifications.test.ts',
      name: 'X2 a cursor is 410 if later entries were deleted, or if it was never issued',
    },
  },
  {
    says: 'the answer to a call with an Idempotency-Key is kept after the transaction',
    file: 'src/http/routes/idempotency.ts',
    changes: [['  tx.withCommit(keeping);', '  keeping.catch(() => undefined);']],
    caughtBy: {
      file: 'test/stories/idempotency.test.ts',
      name: 'X4 the record and what is kept are one transaction: neither is there without the other',
    },
  },
  {
    says: 'a change is made although the record is not as If-Match says',
    file: 'src/http/routes/mount.ts',
    changes: [['requirePreconditions(conditions, etagOf(JSON.stringify(body)));', 'tagOf(JSON.stringify(body));']],
    caughtBy: {
      file: 'src/http/routes/etag.test.ts',
      name: 'X5 of many changes that know the same record, exactly one is made',
    },
  },
  {
    says: 'a completed task goes on to recur',
    file: 'src/resources/core/recurrence.ts',
    changes: [
      [
        "const ending = write.updateTable(table).set({ recurring: '' } as never);",
        'const ending = write.updateTable(table).set({ recurring: period } as never);',
      ],
    ],
    caughtBy: {
      file: 'src/resources/core/recurrence.test.ts',
      name: 'C41 completing a recurring task creates an open copy one period later, which recurs in turn',
    },
  },
  {
    says: 'a request takes the place of a caller before its body has come',
    file: 'src/http/routes/mount.ts',
    changes: [
      [
        "      if (row.method === 'GET') return answer(request",
        "      ports.work.begin(request, reply, known(request, door));\n      if (row.method === 'GET') return answer(request",
      ],
    ],
    caughtBy: {
      file: 'test/stories/early-responses.test.ts',
      name: 'C4 a body that is announced and never sent takes no place of a caller on any route, and every response that needs no body comes',
    },
  },
  {
    says: 'the console takes changes from every page of its site',
    file: 'src/http/auth/csrf.ts',
    changes: [["return site === 'same-origin' ||", "return site.startsWith('same') ||"]],
    caughtBy: {
      file: 'test/stories/console-door.test.ts',
      name: 'what changes something comes from the console itself, by what the browser says of it',
    },
  },
  {
    says: 'a session is not looked at again inside the write',
    file: 'src/resources/sessions/authenticate.ts',
    changes: [
      [
        'return row !== undefined && !hasEnded(row.expires_at, row.last_used);',
        'return row !== undefined || caller.sessionId > 0;',
      ],
    ],
    caughtBy: {
      file: 'test/stories/ways-in.test.ts',
      name: 'C1 a session that ends while its request is still arriving writes nothing any more',
    },
  },
  {
    says: 'a link is used up after it was used',
    file: 'src/resources/invitations/invitations.ts',
    changes: [
      [
        "    .where('invitations.invitation_id', '=', invitationId)\n    .where('invitations.used_at', 'is', null)\n    .where('invitations.expires_at', '>', write.now)\n",
        "    .where('invitations.invitation_id', '=', invitationId)\n",
      ],
    ],
    caughtBy: {
      file: 'test/stories/signing-in.test.ts',
      name: 'used twice at the same moment, a link is used once',
    },
  },
  {
    says: 'a passphrase is not hashed for somebody who is nobody',
    file: 'src/secrets.ts',
    changes: [
      [
        '    const { cost, salt, hash: wanted } = stored',
        '    if (stored === undefined) return false;\n    const { cost, salt, hash: wanted } = stored',
      ],
    ],
    caughtBy: {
      file: 'test/stories/signing-in.test.ts',
      name: 'all that may be wrong at signing in has one answer, after the same work',
    },
  },
  {
    says: 'a flood of sign-ins from one network fills the queue of all',
    file: 'src/secrets.ts',
    changes: [['maxWaiting: 32, maxWaitingPerGroup: 8', 'maxWaiting: 32, maxWaitingPerGroup: 32']],
    caughtBy: {
      file: 'src/secrets.test.ts',
      name: 'one network has a quarter of the queue; those of others wait beside it, 32 in all, and are hashed in turn',
    },
  },
  {
    says: 'calendar files of one account fill the queue of all',
    file: 'src/ical/parse-in-child-process.ts',
    changes: [['maxWaiting: 8, maxWaitingPerGroup: 2', 'maxWaiting: 8, maxWaitingPerGroup: 8']],
    caughtBy: {
      file: 'src/ical/parse.test.ts',
      name: 'X9 ten files of one account leave a parser and most of the queue to other accounts',
    },
  },
  {
    says: 'times of a file that are in another zone keep their clock time',
    file: 'src/ical/times.ts',
    changes: [['return wallOf(this.#target, momentOf(zone, time.wallMs));', 'return time.wallMs;']],
    caughtBy: {
      file: 'src/resources/imports/imports.test.ts',
      name: 'X9 only the unreadable line is left out and reported with number, property and reason; times are in the zone of the account',
    },
  },
  {
    says: 'a link for a member stays open when the member becomes an admin',
    file: 'src/resources/users/users.ts',
    changes: [['    await revokeInvitationsOf(write, userId);\n', '']],
    caughtBy: {
      file: 'test/stories/ways-in.test.ts',
      name: 'C2 a changed role is in force at once in an open session, and ends the links around it',
    },
  },
];

/** A copy of the source and its tests that can be broken without harm. */
export type Copy = { readonly folder: string; remove(): void };

export function copySource(): Copy {
  const folder = mkdtempSync(join(tmpdir(), 'carillon-mutations-'));
  for (const part of ['src', 'packages', 'test', 'demo', 'package.json']) {
    const filter = (path: string) => !['node_modules', 'dist'].includes(basename(path));
    cpSync(join(root, part), join(folder, part), { recursive: true, filter });
  }
  for (const part of ['node_modules', 'test/node_modules']) symlinkSync(join(root, part), join(folder, part));
  return { folder, remove: () => rmSync(folder, { recursive: true, force: true }) };
}

/** What became of a mutation: the tests that went red, and what the run said. */
export type Run = { readonly red: readonly string[]; readonly output: string };

/** Applies a mutation to a copy, runs its catcher, and takes it back. Throws if the change no longer fits the source. */
export function runMutation(mutation: Mutation, copy: Copy): Promise<Run> {
  return withMutation(mutation, copy, () => runTest(mutation.caughtBy, copy.folder));
}

/** Does something with a copy that has the mistake in it, which is taken out again. Throws as above. */
export async function withMutation<T>(
  { says, file, changes }: Mutation,
  { folder }: Copy,
  work: () => Promise<T>,
): Promise<T> {
  const path = join(folder, file);
  const whole = readFileSync(path, 'utf8');
  writeFileSync(path, mutated(whole, changes, `${file}: ${says}`));
  try {
    return await work();
  } finally {
    writeFileSync(path, whole);
  }
}

function mutated(whole: string, changes: Mutation['changes'], where: string): string {
  return changes.reduce((text, [from, to]) => {
    const places = text.split(from).length - 1;
    if (places !== 1) throw new Error(`${where}: the change fits ${places} places, not one; bring it up to date`);
    return text.replace(from, () => to);
  }, whole);
}

/** Runs one test of a file; answers which went red. */
export function runTest({ file, name }: Catcher, folder: string): Promise<Run> {
  const exactly = `^${name.replace(/[.*+?^${}()|[\]\\]/g, '\\$&')}$`;
  const args = ['--test-reporter=tap', `--test-name-pattern=${exactly}`, join(folder, file)];
  const environment = Object.fromEntries(
    Object.entries(process.env).filter(([variable]) => !variable.startsWith('NODE_')),
  );
  return new Promise((resolve) => {
    execFile(
      process.execPath,
      args,
      { env: { ...environment, TEST_STORES: 'SQLite' }, timeout: 60_000, maxBuffer: 2 ** 26 },
      (_error, output, errors) => {
        const red = [...output.matchAll(/^not ok \d+ - (.*)$/gm)].map(([, text = '']) => text.replaceAll('\\', ''));
        resolve({ red, output: output + errors });
      },
    );
  });
}
