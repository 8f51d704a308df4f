import { execFile } from 'node:child_process';
import { cpSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { basename, join } from 'node:path';
import { fileURLToPath } from 'node:url';

const root = fileURLToPath(new URL('../..', import.meta.url));

/** A test, identified by its file and full name. */
type TestReference = { readonly file: string; readonly name: string };

/** A plausible mistake, as a change of the source, and the test that must fail with it. */
export type Mutation = {
  readonly description: string;
  readonly file: string;
  /** Text replacements. `from` must occur exactly once in the file. */
  readonly changes: readonly (readonly [from: string, to: string])[];
  readonly caughtBy: TestReference;
  /**
   * Marks a seeded bug: the reliability test that must find it too, the count to run it with, and the report
   * that proves it, so that an unrelated fault does not count. See `test/reliability/seeded-bugs.ts`.
   */
  readonly planted?: { readonly proof: string; readonly count: number; readonly expectedFault: RegExp };
};

export const mutations: readonly Mutation[] = [
  {
    description: '204 counts as success',
    file: 'src/delivery/dispatcher/retry-policy.ts',
    changes: [['outcome.status === 200)', '(outcome.status === 200 || outcome.status === 204))']],
    caughtBy: {
      file: 'src/delivery/dispatcher/retry-policy.test.ts',
      name: 'C17 no other status counts as 200 or 401, neither one with a similar number nor one with a similar meaning',
    },
  },
  ...[2, 4].map((failures) => ({
    description: `a hook is removed at failure ${failures}`,
    file: 'src/delivery/dispatcher/retry-policy.ts',
    changes: [['MAX_FAILURES = 3', `MAX_FAILURES = ${failures}`]] as const,
    caughtBy: {
      file: 'test/stories/delivery/notifications.test.ts',
      name: 'C17 C18 a hook is ended at exactly the third failure in a row',
    },
    planted: { proof: 'simulation', count: 20, expectedFault: /C17 hook state differs from the state table/ },
  })),
  {
    description: 'a 200 does not reset the failure count',
    file: 'src/delivery/dispatcher/hook-health.ts',
    changes: [
      ['{ failures: 0, dueAt: null, retryDeliveryId: null,', '{ ...stored, dueAt: null, retryDeliveryId: null,'],
    ],
    caughtBy: {
      file: 'test/stories/delivery/retries.test.ts',
      name: 'C17 C18 a 200 resets the count: repeated sequences of two failures and a 200 do not end the hook',
    },
    planted: { proof: 'simulation', count: 50, expectedFault: /C17 hook state differs from the state table/ },
  },
  {
    description: 'a query is not restricted to the account',
    file: 'src/store/account-scope.ts',
    changes: [
      [
        '#select(table: string): DynamicQuery<object> {',
        "#select(table: string): DynamicQuery<object> { if (table !== '') return withDynamicTables(this.#queries).selectFrom(table);",
      ],
    ],
    caughtBy: {
      file: 'src/http/fields/dates.test.ts',
      name: 'C3 records of another account cannot be referenced in a path, a body or a filter',
    },
    planted: { proof: 'tenants', count: 1, expectedFault: /with another account: got 200/ },
  },
  {
    description: 'a commit to a database file that was removed is acknowledged',
    file: 'src/store/sqlite/group-commit.ts',
    changes: [['if (this.#rejectIfLost(writes)) return;', '']],
    caughtBy: {
      file: 'src/store/sqlite/open.test.ts',
      name: 'C20 the database is removed while it is open: no further write is acknowledged, and onFatal is called',
    },
  },
  {
    description: '/readyz writes only one page',
    file: 'src/store/sqlite/open.ts',
    changes: [['PROBE_BYTES = 64 * 1_024', 'PROBE_BYTES = 2']],
    caughtBy: {
      file: 'test/stories/operations/disk-faults.test.ts',
      name: 'C20 X6 with a full disk writes and /readyz are 503, reads work, nothing acknowledged is lost, and writes work again after space is freed',
    },
  },
  {
    description: '/metrics accepts any Host header',
    file: 'src/http/server/health.ts',
    changes: [[' && isOwnHost(request.headers.host, baseUrl())', '']],
    caughtBy: {
      file: 'src/http/auth/route-groups.test.ts',
      name: 'X6 /metrics requires a Host of this machine, which prevents DNS rebinding',
    },
  },
  {
    description: 'a line is printed without escaping control characters',
    file: 'src/cli/output/screen.ts',
    changes: [["return typeof line === 'string' ? toPrintable(line)", "return typeof line === 'string' ? line"]],
    caughtBy: {
      file: 'test/stories/operations/observability.test.ts',
      name: 'no response of a service can control the terminal of its client, neither a record nor an error',
    },
  },
  {
    description: 'a cursor may contain a text that no database stores',
    file: 'src/resources/core/sorting.ts',
    changes: [["typeof value === 'string' && isStorable(value)", "typeof value === 'string'"]],
    caughtBy: {
      file: 'test/stories/api/bad-input.test.ts',
      name: 'C4 C7 a cursor that holds NUL, a lone surrogate or a value of another type is rejected by name in every order of every list',
    },
  },
  {
    description: 'a database file with a second hard link is opened',
    file: 'src/store/sqlite/file-lock.ts',
    changes: [['nlink > 1n', 'nlink > 9n']],
    caughtBy: {
      file: 'src/store/sqlite/open.test.ts',
      name: 'C20 a database file with a hard link is rejected under both names, for services and commands',
    },
  },
  {
    description: 'the occurrence and its pending deliveries are written in a second transaction, after the record',
    file: 'src/store/sqlite/group-commit.ts',
    changes: [
      [
        '        await group.beforeCommitActions.runAll(',
        "        this.#connection.exec('commit');\n        this.#connection.exec('begin immediate');\n        await group.beforeCommitActions.runAll(",
      ],
    ],
    caughtBy: {
      file: 'test/stories/delivery/transaction.test.ts',
      name: 'C16 C20 when pending deliveries cannot be written, nothing else is written, and the call fails',
    },
    planted: { proof: 'simulation', count: 200, expectedFault: /C20 acknowledged and lost: new|, and no occurrence/ },
  },
  {
    description: 'a write is answered before its commit',
    file: 'src/store/sqlite/group-commit.ts',
    changes: [
      [
        "      this.#connection.exec('commit');",
        "      for (const one of finishedWrites) if ('value' in one) one.waitingWrite.resolve(one.value);\n      await new Promise<void>((resolve) => setImmediate(resolve));\n      this.#connection.exec('commit');",
      ],
    ],
    caughtBy: {
      file: 'src/store/sqlite/group-commit.test.ts',
      name: 'C13 C20 commit events are published after the commit is durable and before its writes resolve',
    },
    planted: {
      proof: 'simulation',
      count: 20,
      expectedFault: /exists 0 times, acknowledged|C20 acknowledged and lost/,
    },
  },
  {
    description: 'a commit is not flushed to the disk',
    file: 'src/store/sqlite/open.ts',
    changes: [['pragma synchronous = full', 'pragma synchronous = normal']],
    caughtBy: {
      file: 'src/store/sqlite/group-commit.test.ts',
      name: 'C20 a resolved write is durable: WAL with synchronous=FULL, visible to other connections',
    },
    planted: { proof: 'power', count: 10, expectedFault: /C20 acknowledged and lost/ },
  },
  {
    description: 'a late result is not fenced',
    file: 'src/delivery/dispatcher/complete-deliveries.ts',
    changes: [
      [
        'currentGenerations.get(completion.hookId) !== completion.generation) continue;',
        '!currentGenerations.has(completion.hookId)) continue;',
      ],
    ],
    caughtBy: {
      file: 'test/stories/operations/restore.test.ts',
      name: 'C13 X1 a response from before the end does not change a hook that was restored meanwhile',
    },
    planted: { proof: 'simulation', count: 100, expectedFault: /C17 hook state differs from the state table/ },
  },
  {
    description: 'restoring a hook enqueues again the last occurrence before its end',
    file: 'src/delivery/outbox/restore-hook.ts',
    changes: [['firstPosition: endedPosition + 1', 'firstPosition: endedPosition']],
    caughtBy: {
      file: 'test/stories/operations/restore.test.ts',
      name: 'X1 a hook can be restored after any reason, and ended again',
    },
    // The last occurrence may be older than the hook, so either report is possible.
    planted: {
      proof: 'simulation',
      count: 200,
      expectedFault: /C20 unexplained duplicate|X11 differs from the feed/,
    },
  },
  {
    description: 'an attempt in flight is stored as a failure until its result is known',
    file: 'src/delivery/dispatcher/attempt-runner.ts',
    changes: [
      [
        '    const attempt = queue.beginAttempt(pendingDelivery, clock.now());\n',
        "    const attempt = queue.beginAttempt(pendingDelivery, clock.now());\n    const { store } = this.#deps as unknown as { store: import('../../store/store.ts').Store };\n    const count = (tx: import('../../store/store.ts').Tx) =>\n      tx.queries.updateTable('hooks').set((is) => ({ failures: is('failures', '+', 1) })).where('hook_id', '=', queue.hookId).execute();\n    store.write(count).catch(() => undefined);\n",
      ],
    ],
    caughtBy: {
      file: 'test/stories/delivery/local-errors.test.ts',
      name: 'C19 an attempt in progress is not stored as a failure: nothing counts, however the service ends meanwhile',
    },
    planted: { proof: 'simulation', count: 20, expectedFault: /C17 hook state differs from the state table/ },
  },
  {
    description: 'a local error counts as a failure of the target',
    file: 'src/delivery/dispatcher/retry-policy.ts',
    changes: [
      ["if (outcome.kind === 'local_error') {", "if (outcome.kind === 'local_error' && outcome.code === 'stopped') {"],
    ],
    caughtBy: {
      file: 'src/delivery/dispatcher/retry-policy.test.ts',
      name: 'C19 a local error is never a failure: the attempt is made again',
    },
    planted: { proof: 'simulation', count: 60, expectedFault: /C17 hook state differs from the state table/ },
  },
  {
    description: 'a pause of the process counts as a failure of the target',
    file: 'src/delivery/dispatcher/retry-policy.ts',
    changes: [['  if (pausedMs < Math.max(', '  if (pausedMs >= 0 || pausedMs < Math.max(']],
    caughtBy: {
      file: 'src/delivery/transport/attempt-paused.test.ts',
      name: 'C19 a process pause until after the deadline does not count against the target, over TCP',
    },
    planted: { proof: 'simulation', count: 100, expectedFault: /C17 hook state differs from the state table/ },
  },
  {
    description: 'a late deadline is evaluated before the received data is read',
    file: 'src/clock.ts',
    changes: [['setImmediate(() => setImmediate(expireUnlessCancelled));', 'expireUnlessCancelled();']],
    caughtBy: {
      file: 'src/delivery/transport/attempt-paused.test.ts',
      name: 'C19 a response that arrived during a process pause counts, over TCP: it is read before the deadline fires',
    },
    planted: { proof: 'simulation', count: 100, expectedFault: /C19 timed out before its response was read/ },
  },
  {
    description: 'a retry time stored while the clock was far ahead is honored',
    file: 'src/delivery/dispatcher/retry-policy.ts',
    changes: [['return waitMs > maxRetryDelayMs ? 0 : waitMs;', 'return waitMs;']],
    caughtBy: {
      file: 'test/stories/operations/clock-set.test.ts',
      name: 'C18 a hook that failed while the clock was ahead is retried after a restart with the corrected clock',
    },
    planted: {
      proof: 'simulation',
      count: 100,
      expectedFault: /pending deliveries are never delivered|C20 still pending at the end/,
    },
  },
  {
    description: 'retention trusts a clock that has jumped ahead',
    file: 'src/delivery/maintenance/retention.ts',
    changes: [['const trustedNow = await retentionClock.observeTrustedTime();', 'const trustedNow = clock.now();']],
    caughtBy: {
      file: 'test/stories/operations/clock-set.test.ts',
      name: 'C23 X2 X3 X4 a clock that jumps 400 days ahead drops no row of any table, nor does a start with the wrong clock',
    },
    planted: { proof: 'simulation', count: 100, expectedFault: /and its occurrences are at/ },
  },
  {
    description: 'a change does not record its occurrence',
    file: 'src/resources/core/define-resource.ts',
    changes: [
      [
        '      recordOccurrences(write, [\n        ...cascadedOccurrences,',
        '      if (changeOccurrences) recordOccurrences(write, [\n        ...cascadedOccurrences,',
      ],
    ],
    caughtBy: {
      file: 'test/stories/delivery/walk.test.ts',
      name: 'C8 PUT /clients/{client_id} changes and records exactly the stated occurrences',
    },
  },
  {
    description: 'a limit above 1000 is not clamped',
    file: 'src/http/routes/pagination.ts',
    changes: [['Math.min(limit, MAX_RECORDS_PER_PAGE)', 'limit']],
    caughtBy: {
      file: 'src/http/routes/pagination.test.ts',
      name: 'C7 a limit above 1000 is treated as 1000 in events, also in paging',
    },
  },
  {
    description: 'a page has no limit in bytes',
    file: 'src/http/routes/list-response.ts',
    changes: [['this.recordCount > 0 && this.pageBytes + recordBytes > MAX_PAGE_BYTES', 'false']],
    caughtBy: {
      file: 'src/http/routes/list-response.test.ts',
      name: 'C7 a page ends before the record that does not fit, and the next one begins with it',
    },
  },
  {
    description: 'all records of a page are loaded in one slice',
    file: 'src/resources/core/sliced-page.ts',
    changes: [['item.size <= remainingBytes && lastSlice.length < MAX_SLICE_ROWS', 'item.size <= MAX_SLICE_BYTES']],
    caughtBy: {
      file: 'test/stories/api/large-data.test.ts',
      name: 'C7 no page of /clients is larger than the limit, Link leads to every record, and no event-loop iteration reads too much',
    },
  },
  {
    description: 'due_to excludes its own day',
    file: 'src/resources/core/filters.ts',
    changes: [[' 23:59:59', '']],
    caughtBy: {
      file: 'src/resources/events/events.test.ts',
      name: 'C25 due_to=20270309 is inclusive of the whole day',
    },
  },
  {
    description: 'a redirect is followed',
    file: 'src/delivery/transport/attempt.ts',
    changes: [
      [
        '        const retryAfterMs = parseRetryAfterMs(',
        `        const { location } = headers;
        if (status >= 300 && status < 400 && typeof location === 'string') {
          const onward = { ...request, target: new URL(location, request.target).href };
          createAttemptSender(deps)(onward).then(resolve, reject);
          closeConnection();
          return;
        }
        const retryAfterMs = parseRetryAfterMs(`,
      ],
      [
        '  { userAgent, clock }: AttemptDeps,\n  { request, getRemainingMs }: TimedAttempt,\n  connection: Connection,',
        '  deps: AttemptDeps,\n  { request, getRemainingMs }: TimedAttempt,\n  connection: Connection,',
      ],
      [
        '  const { promise, resolve, reject } = Promise.withResolvers<OutcomeWithoutDuration | typeof STALE_CONNECTION>();',
        '  const { userAgent, clock } = deps;\n  const { promise, resolve, reject } = Promise.withResolvers<OutcomeWithoutDuration | typeof STALE_CONNECTION>();',
      ],
    ],
    caughtBy: {
      file: 'src/delivery/transport/attempt.test.ts',
      name: 'C15 a redirect is not followed: its status is the outcome',
    },
  },
  {
    description: 'the guard checks resolved addresses, but not literal ones',
    file: 'src/delivery/transport/ssrf-guard.ts',
    changes: [
      [
        '      const resolveResult = isIP(host) === 0 ?',
        `      if (isIP(host) !== 0) return { allowed: true, addresses: [{ address: host, family: isIP(host) === 4 ? 4 : 6 }] };
      const resolveResult = isIP(host) === 0 ?`,
      ],
    ],
    caughtBy: {
      file: 'src/delivery/transport/ssrf-guard.test.ts',
      name: 'C11 every spelling of a forbidden address is rejected because of its address',
    },
    planted: { proof: 'ssrf', count: 1, expectedFault: /the oracle forbids it, the guard does not/ },
  },
  {
    description: 'any key authenticates for the account of the domain header',
    file: 'src/resources/keys/authenticate.ts',
    changes: [["    .where('api_keys.key_hash', '=', hash)\n", '']],
    caughtBy: { file: 'src/http/auth/authenticate.test.ts', name: 'C1 an unknown key: 401, byte for byte the same' },
  },
  {
    description: 'the key is not checked when a hook is deleted',
    file: 'src/resources/hooks/routes.ts',
    changes: [
      [
        "After the answer no new attempt begins.',\n      permission: 'hooks:write'",
        "After the answer no new attempt begins.',\n      permission: undefined",
      ],
    ],
    caughtBy: {
      file: 'test/stories/delivery/walk.test.ts',
      name: 'C2 every route with a permission returns 401 not_permitted to a key without it',
    },
  },
  {
    description: 'any user may delete any hook',
    file: 'src/resources/hooks/read-hooks.ts',
    changes: [['row.user_id !== caller.userId && !isAdmin(caller)) {', 'row.user_id < 0) {']],
    caughtBy: {
      file: 'test/stories/delivery/subscribing.test.ts',
      name: "C13 another user's hook of the account is 401 for a member, and an admin can end it",
    },
  },
  {
    description: 'a deleted hook still delivers its loaded queue',
    file: 'src/delivery/dispatcher/claim-loop.ts',
    changes: [['    for (const hookId of hookIds) this.#discard(hookId);\n    await', '    await']],
    caughtBy: {
      file: 'test/stories/delivery/subscribing.test.ts',
      name: 'C13 after the 200 neither pending nor later deliveries are sent, however long one waits',
    },
    planted: { proof: 'deletion', count: 100, expectedFault: /arrived after the end/ },
  },
  {
    description: 'the feed accepts a cursor although entries after it have been dropped',
    file: 'src/resources/notifications/notifications.ts',
    changes: [['firstOccurrence?.position !== lastScannedPosition + 1', 'lastScannedPosition < 0']],
    caughtBy: {
      file: 'src/resources/notifications/notifications.test.ts',
      name: 'X2 a cursor is 410 if later entries were deleted, or if it was never issued',
    },
  },
  {
    description: 'the response for an Idempotency-Key is stored outside the transaction',
    file: 'src/http/routes/idempotency.ts',
    changes: [['  tx.sendWithCommit(storePromise);', '  storePromise.catch(() => undefined);']],
    caughtBy: {
      file: 'test/stories/api/idempotency.test.ts',
      name: 'X4 the record and the stored response are written in one transaction: neither exists without the other',
    },
  },
  {
    description: 'a change ignores If-Match',
    file: 'src/http/routes/execute.ts',
    changes: [['requirePreconditions(preconditions, etagOf(JSON.stringify(body)));', 'etagOf(JSON.stringify(body));']],
    caughtBy: {
      file: 'src/http/routes/respond.test.ts',
      name: 'X5 of concurrent changes with the same ETag, exactly one succeeds',
    },
  },
  {
    description: 'a completed task keeps its recurrence',
    file: 'src/resources/core/recurring-tasks.ts',
    changes: [
      [
        "await write.updateDynamic(table).set({ recurring: '' })",
        'await write.updateDynamic(table).set({ recurring: period })',
      ],
    ],
    caughtBy: {
      file: 'src/resources/core/recurring-tasks.test.ts',
      name: 'C41 completing a recurring task creates an open copy one period later, which recurs in turn',
    },
  },
  {
    description: 'a request occupies a caller slot before its body has arrived',
    file: 'src/http/routes/mount.ts',
    changes: [
      [
        "      const body = route.method === 'GET' ?",
        "      deps.requestSlots.acquireCallerSlot(request, reply, caller);\n      const body = route.method === 'GET' ?",
      ],
    ],
    caughtBy: {
      file: 'test/stories/api/responses.test.ts',
      name: 'C4 a body that is announced and never sent occupies no slot on any route, and every response that needs no body arrives',
    },
  },
  {
    description: 'the console accepts changes from every page of the same site',
    file: 'src/http/auth/session-cookie.ts',
    changes: [["return site === 'same-origin' ||", "return site.startsWith('same') ||"]],
    caughtBy: {
      file: 'test/stories/api/console-api.test.ts',
      name: 'requests that change something must come from the console, by Sec-Fetch-Site or Origin',
    },
  },
  {
    description: 'a session is not checked again inside the write transaction',
    file: 'src/resources/sessions/authenticate.ts',
    changes: [
      [
        'return row !== undefined && !hasEnded(row.expires_at, row.last_used);',
        'return row !== undefined || caller.sessionId > 0;',
      ],
    ],
    caughtBy: {
      file: 'test/stories/api/credentials.test.ts',
      name: 'C1 a session that ends while its request is arriving writes nothing more',
    },
  },
  {
    description: 'an invitation can be used twice',
    file: 'src/resources/invitations/invitations.ts',
    changes: [
      [
        "    .where('invitations.invitation_id', '=', invitationId)\n    .where('invitations.used_at', 'is', null)\n    .where('invitations.expires_at', '>', write.now)\n",
        "    .where('invitations.invitation_id', '=', invitationId)\n",
      ],
    ],
    caughtBy: {
      file: 'test/stories/api/sign-in.test.ts',
      name: 'of two concurrent uses of a link one succeeds',
    },
  },
  {
    description: 'no passphrase is hashed for an unknown user',
    file: 'src/secrets.ts',
    changes: [
      [
        '    const { cost, salt, hash: expectedHash } = storedHash',
        '    if (storedHash === undefined) return false;\n    const { cost, salt, hash: expectedHash } = storedHash',
      ],
    ],
    caughtBy: {
      file: 'test/stories/api/sign-in.test.ts',
      name: 'every failed sign-in gets the same response after the same amount of work',
    },
  },
  {
    description: 'a flood of sign-ins from one network fills the whole queue',
    file: 'src/secrets.ts',
    changes: [['maxWaiting: 32, maxWaitingPerGroup: 8', 'maxWaiting: 32, maxWaitingPerGroup: 32']],
    caughtBy: {
      file: 'src/secrets.test.ts',
      name: 'one network has a quarter of the queue of 32, and networks are served round-robin',
    },
  },
  {
    description: 'calendar files of one account fill the whole queue',
    file: 'src/ical/parse-in-child-process.ts',
    changes: [['maxWaitingPerGroup: 2,', 'maxWaitingPerGroup: 8,']],
    caughtBy: {
      file: 'src/ical/parse.test.ts',
      name: 'X9 ten files of one account leave a parser and most of the queue to other accounts',
    },
  },
  {
    description: 'imported times in another time zone are not converted',
    file: 'src/ical/times.ts',
    changes: [['return toLocal(this.#targetZone, toUtc(zone, time.wallMs));', 'return time.wallMs;']],
    caughtBy: {
      file: 'src/resources/imports/imports.test.ts',
      name: 'X9 only the unreadable line is left out and reported with number, property and reason; times are in the zone of the account',
    },
  },
  {
    description: 'an invitation stays valid when the role of its user changes',
    file: 'src/resources/users/users.ts',
    changes: [['    await revokeInvitationsAfterRoleChange(write, userId);\n', '']],
    caughtBy: {
      file: 'test/stories/api/credentials.test.ts',
      name: 'C2 a changed role takes effect immediately in open sessions, and revokes the links of and by the user',
    },
  },
  {
    description: 'the scope of a hook is ignored',
    file: 'src/delivery/outbox/subscriptions.ts',
    changes: [["if (scope === 'account') return 'account';", "if (scope !== 'project') return 'account';"]],
    caughtBy: {
      file: 'test/stories/delivery/team-hooks.test.ts',
      name: 'X11 a hook with scope own receives what its user caused, a hook with kinds only these',
    },
    planted: {
      proof: 'simulation',
      count: 5,
      expectedFault: /X11 differs from the feed: .*, which it does not report/,
    },
  },
  {
    description: 'a user who was an admin is still notified of the whole account',
    file: 'src/resources/users/users.ts',
    changes: [["    if (input.role === 'member') await endHooksAfterRoleLoss(write, userId, enqueueAlerts);\n", '']],
    caughtBy: {
      file: 'test/stories/delivery/team-hooks.test.ts',
      name: 'X11 who loses the admin role is notified of nothing more, also not of what the hook misses until it is restored',
    },
    planted: {
      proof: 'simulation',
      count: 40,
      expectedFault: /X11 differs from the feed: .*, which it does not report/,
    },
  },
  {
    description: 'Webhook-Fields are those of the change before',
    file: 'src/delivery/dispatcher/attempt-runner.ts',
    changes: [
      [
        "...(fields === null ? [] : ['webhook-fields', fields]),",
        "...(fields === null ? [] : ['webhook-fields', fieldsBefore.splice(0, 1, fields)[0] ?? fields]),",
      ],
      [
        '/** Returns the headers that describe the occurrence',
        'const fieldsBefore: string[] = [];\n\n/** Returns the headers that describe the occurrence',
      ],
    ],
    caughtBy: {
      file: 'test/stories/delivery/team-hooks.test.ts',
      name: 'X11 a hook for a whole account receives exactly the feed, with kind, cursor and changed fields',
    },
    planted: {
      proof: 'simulation',
      count: 5,
      expectedFault: /X11 differs from the feed: .* with the fields /,
    },
  },
  {
    description: 'a hook that is enabled loses what it held back',
    file: 'src/delivery/outbox/change-settings.ts',
    changes: [
      [
        '  if (settings.enabled === 1) events.addPendingHooks([hookId]);',
        "  if (settings.enabled === 1) await write.deleteFrom('pending_deliveries').where('hook_id', '=', hookId).execute();",
      ],
    ],
    caughtBy: {
      file: 'test/stories/delivery/team-hooks.test.ts',
      name: 'X13 a disabled hook sends nothing and loses nothing, and sends everything in order when it is enabled',
    },
    planted: { proof: 'team', count: 3, expectedFault: /X11 differs from the feed: \/paused/ },
  },
  {
    description: 'a failure of a replay counts, and ends the hook',
    file: 'src/delivery/dispatcher/hook-queue.ts',
    changes: [['      isManual,\n      localErrorCount', '      isManual: false,\n      localErrorCount']],
    caughtBy: {
      file: 'test/stories/delivery/team-hooks.test.ts',
      name: 'X13 a replay sends the deliveries of an interval again under their ids, and its failures end nothing',
    },
    planted: { proof: 'simulation', count: 20, expectedFault: /C17 hook state differs from the state table/ },
  },
  {
    description: 'a hook with a new target goes on with the old one',
    file: 'src/delivery/outbox/change-settings.ts',
    changes: [['retry_delivery_id: null, generation: sql<number>`generation + 1` }),', 'retry_delivery_id: null }),']],
    caughtBy: {
      file: 'test/stories/delivery/team-hooks.test.ts',
      name: 'X13 a hook gets a new target: failures go back to 0, and the old target receives nothing more',
    },
    planted: {
      proof: 'simulation',
      count: 60,
      expectedFault: /X13 delivered against the settings: .*, its former target/,
    },
  },
  {
    description: 'a record that leaves a project is not reported to the hooks of the project',
    file: 'src/delivery/outbox/subscriptions.ts',
    changes: [
      [
        "'project:' || facts.project_id,\n    'project:' || facts.previous_project_id`",
        "'project:' || facts.project_id`",
      ],
    ],
    caughtBy: {
      file: 'test/stories/delivery/team-hooks.test.ts',
      name: 'X11 a hook with scope project receives what anybody does in the project, and what leaves it',
    },
  },
  {
    description: 'hooks report a silent import',
    file: 'src/delivery/outbox/subscriptions.ts',
    changes: [['join subscriptions on facts.is_silent = 0 and', 'join subscriptions on']],
    caughtBy: {
      file: 'src/resources/imports/imports.test.ts',
      name: 'X9 an import notifies the hooks of its user; a silent import never does, not even after a hook is restored',
    },
  },
  {
    description: '* holds kinds that the key of the hook may not read',
    file: 'src/delivery/outbox/subscriptions.ts',
    changes: [
      [
        "? permissions.split(',').map(",
        "? 'events:read,clients:read,projects:read,tasks:read,users:read'.split(',').map(",
      ],
    ],
    caughtBy: {
      file: 'test/stories/delivery/team-hooks.test.ts',
      name: 'X11 * holds only kinds that the key of the hook may read',
    },
  },
  ...(
    [
      [
        'a hook with a new subscription keeps the former one',
        "  await write.deleteFrom('subscriptions').where('hook_id', '=', hook_id).execute();\n",
        '',
      ],
      [
        'a restored hook with * reports what its key may not read',
        'events === ALL_KINDS ? readable.has(permissionFor(kind)) : names.has(kind)',
        'events === ALL_KINDS || readable.size < 0 || names.has(kind)',
      ],
      [
        'a restored hook reports what happened outside of its project',
        "if (columns.scope === 'account') return kindCondition;",
        "if (columns.scope !== 'own') return kindCondition;",
      ],
    ] as const
  ).map(([description, from, to]) => ({
    description,
    file: 'src/delivery/outbox/subscriptions.ts',
    changes: [[from, to]] as const,
    caughtBy: {
      file: 'test/stories/delivery/team-hooks.test.ts',
      name: 'X11 X13 a hook with a new subscription reports only that, also of what it misses until it is restored',
    },
  })),
  {
    description: 'the beginning of a header value is shown',
    file: 'src/delivery/dispatcher/redact-headers.ts',
    changes: [['const length = Math.min(WINDOW_LENGTH, letters.length);', 'const { length } = letters;']],
    caughtBy: {
      file: 'test/reliability/secret-leaks/secret-leaks.test.ts',
      name: 'X11 a response that repeats header values in part, in another case, escaped or decoded shows none',
    },
  },
  {
    description: 'a header value that is escaped differently is shown',
    file: 'src/delivery/dispatcher/redact-headers.ts',
    changes: [['|&(?:amp;)*#?', '|&#?']],
    caughtBy: {
      file: 'test/reliability/secret-leaks/secret-leaks.test.ts',
      name: 'X11 a response shows no header value, however its characters are escaped',
    },
  },
];

/** A copy of the source and its tests that can be modified safely. */
export type SourceCopy = { readonly folder: string; remove(): void };

export function copySource(): SourceCopy {
  const folder = mkdtempSync(join(tmpdir(), 'carillon-mutations-'));
  for (const part of ['src', 'packages', 'test', 'demo', 'package.json']) {
    const filter = (path: string) => !['node_modules', 'dist'].includes(basename(path));
    cpSync(join(root, part), join(folder, part), { recursive: true, filter });
  }
  for (const part of ['node_modules', 'test/node_modules']) symlinkSync(join(root, part), join(folder, part));
  return { folder, remove: () => rmSync(folder, { recursive: true, force: true }) };
}

/** Result of one test; `report` is the part of the output about it, or the end of the output if it did not run. */
export type TestRun = { readonly result: 'passed' | 'failed' | 'did not run'; readonly report: string };

/** Applies a mutation to a copy, runs its test, and reverts it. Throws if the change no longer fits the source. */
export function runMutation(mutation: Mutation, copy: SourceCopy): Promise<TestRun> {
  return withMutation(mutation, copy, () => runTest(mutation.caughtBy, copy.folder));
}

/** Applies a mutation to a copy, runs `work`, and reverts it. Throws if the change no longer fits the source. */
export async function withMutation<T>(
  { description, file, changes }: Mutation,
  { folder }: SourceCopy,
  work: () => Promise<T>,
): Promise<T> {
  const path = join(folder, file);
  const original = readFileSync(path, 'utf8');
  writeFileSync(path, applyChanges(original, changes, `${file}: ${description}`));
  try {
    return await work();
  } finally {
    writeFileSync(path, original);
  }
}

function applyChanges(original: string, changes: Mutation['changes'], where: string): string {
  return changes.reduce((text, [from, to]) => {
    const places = text.split(from).length - 1;
    if (places !== 1) throw new Error(`${where}: the change fits ${places} places, not one; bring it up to date`);
    return text.replace(from, () => to);
  }, original);
}

/**
 * Runs a test file and returns the result of one of its tests. The whole file runs: if all other tests were filtered
 * out, the runner would stop the services of the file while the file still uses them to define its tests.
 */
export function runTest({ file, name }: TestReference, folder: string): Promise<TestRun> {
  const environment = Object.fromEntries(
    Object.entries(process.env).filter(([variable]) => !variable.startsWith('NODE_')),
  );
  return new Promise((resolve) => {
    execFile(
      process.execPath,
      ['--test-reporter=tap', join(folder, file)],
      { env: { ...environment, TEST_STORES: 'SQLite' }, timeout: 120_000, maxBuffer: 2 ** 26 },
      (_error, output, errors) => {
        const isAboutTest = (report: string) => report.slice(0, report.indexOf('\n')).replaceAll('\\', '') === name;
        const report = output.split(/^# Subtest: /m).find(isAboutTest);
        if (report === undefined) resolve({ result: 'did not run', report: (output + errors).slice(-1_000) });
        else resolve({ result: /^ok /m.test(report) ? 'passed' : 'failed', report });
      },
    );
  });
}
