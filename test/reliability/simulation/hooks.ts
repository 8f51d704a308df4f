import type { OccurrenceKind } from '../../../src/delivery/outbox/event-kinds.ts';
import { type Arrival, isRoleLoss, type Subscription } from '../checker/history.ts';
import type { ApiClient } from './api-client.ts';
import { FORBIDDEN_ADDRESSES } from './network.ts';
import { hookKinds } from './records.ts';
import type { SimulatedUser } from './seed-database.ts';

type ClientHook = {
  readonly path: string;
  readonly who: SimulatedUser;
  target: string;
  id: string | undefined;
  isEnabled: boolean;
  /** Number of targets that the hook has had. */
  targetCount: number;
  /** Life of the service that got a restore or a change without a response so far. */
  changedInLife: number | undefined;
};

/** A random subscription: as a request body, and as the history of the checker stores it. */
type SubscriptionRequest = {
  readonly body: Readonly<Record<string, unknown>>;
  readonly subscription: Subscription;
};

/** A change of a hook; what is undefined stays as it is. */
type HookChange = {
  readonly subscribed?: SubscriptionRequest | undefined;
  /** Query of the new target. */
  readonly query?: string | undefined;
  readonly enabled?: boolean | undefined;
};

/** Kinds of hooks with several kinds. */
const severalKinds: readonly OccurrenceKind[] = [
  ...(['new_task', 'new_event', 'changed_event', 'changed_task', 'changed_project', 'changed_user'] as const),
  ...(['deleted_event', 'deleted_client', 'deleted_task', 'completed_task', 'completed_subtask'] as const),
  ...(['reopened_task', 'reopened_subtask', 'assigned_project', 'assigned_task', 'assigned_subtask'] as const),
];

/** An interval that contains every delivery. */
const ALWAYS = { from: '20200101', to: '20991231' };

/** Clients that create, change, end, restore, test and replay hooks. */
export class HookClients {
  readonly #client: ApiClient;
  readonly #projectIdsOf: (domain: string) => readonly string[];
  readonly #hooks: ClientHook[] = [];

  /** @param projectIdsOf returns the ids of the projects of an account */
  constructor(client: ApiClient, projectIdsOf: (domain: string) => readonly string[]) {
    this.#client = client;
    this.#projectIdsOf = projectIdsOf;
  }

  /** Whether a hook of a user is being created, changed or restored now. */
  isChanging(who: SimulatedUser): boolean {
    const life = this.#client.lifeNumber();
    return this.#hooks.some((hook) => hook.who === who && hook.changedInLife === life);
  }

  /** Returns the paths of the hooks of a user. */
  pathsOf(who: SimulatedUser): readonly string[] {
    return this.#hooks.filter((hook) => hook.who === who).map(({ path }) => path);
  }

  /** Fetches the record that a notification names, as the owner of its account. */
  fetch(arrival: Arrival & { fetched?: number }): void {
    const client = this.#client;
    const hook = this.#hooks.find(({ path }) => path === arrival.path);
    const owner = hook && client.randomOwner(hook.who.domain);
    const url = /"(https:[^"]+)"/.exec(arrival.body)?.[1]?.slice(client.baseUrl.length);
    if (owner === undefined || url === undefined) return;
    client.sendUnrecorded(owner, { method: 'GET', url }, ({ status }) => {
      if (status < 500) arrival.fetched = status;
    });
  }

  readonly subscribe = (): void => {
    const client = this.#client;
    const who = client.randomUser();
    const path = `/${this.#hooks.length + 1}`;
    const target = client.network.targetAt(path);
    if (client.isChangingRole(who)) return;
    const { body, subscription } = this.#randomSubscription(who);
    const changedInLife = client.lifeNumber();
    const hook: ClientHook = { path, who, target, id: undefined, isEnabled: true, targetCount: 1, changedInLife };
    this.#hooks.push(hook);
    const call = client.newCall({ did: 'subscribe', path, userId: who.userId, ...subscription });
    const request = { method: 'POST', url: '/v2/hooks', body: { target_url: target, ...body } } as const;
    client.sendRecorded(who, request, [call], ({ json }) => {
      hook.id = String(json.id);
      hook.changedInLife = undefined;
    });
  };

  /** Returns what a hook of a user reports: mostly one kind, as the specification has it (C11, X11). */
  #randomSubscription(who: SimulatedUser): SubscriptionRequest {
    const client = this.#client;
    const { random } = client;
    const first = random.pick(hookKinds);
    if (random.integerBelow(2) === 0) return { body: { event: first }, subscription: { kind: first } };
    const several = new Set([first, random.pick(severalKinds), random.pick(severalKinds), random.pick(severalKinds)]);
    const events = random.integerBelow(2) === 0 ? ['*'] : [...several];
    const kind = events.join();
    const projectId = client.pick(this.#projectIdsOf(who.domain));
    const isAdmin = client.mayBeAdmin(who);
    const scopes = [
      ...(['own'] as const),
      ...(projectId === undefined ? [] : (['project', 'project'] as const)),
      // A member who asks for the scope of admins is rejected.
      ...(isAdmin || random.integerBelow(10) === 0 ? (['account', 'account'] as const) : []),
    ];
    const scope = random.pick(scopes);
    return scope === 'project' && projectId !== undefined
      ? { body: { events, scope, project_id: projectId }, subscription: { kind, scope, projectId } }
      : { body: { events, scope }, subscription: { kind, scope, projectId: '0' } };
  }

  /** Changes what a hook reports, its target, or whether it is enabled (X13). */
  readonly change = (): void => {
    const client = this.#client;
    const hook = client.pick(this.#knownHooks().filter((one) => this.#isSettled(one)));
    if (hook === undefined) return;
    const drawn = client.random.integerBelow(9);
    const subscribed = drawn < 3 ? this.#randomSubscription(hook.who) : undefined;
    const query = drawn >= 2 && drawn <= 4 ? `?target=${hook.targetCount + 1}` : undefined;
    const enabled = drawn > 4 || drawn === 1 ? !hook.isEnabled : undefined;
    this.#change(hook, { subscribed, query, enabled });
  };

  #change(hook: ClientHook, { subscribed, query, enabled }: HookChange): void {
    const client = this.#client;
    const target = query === undefined ? undefined : new URL(query, hook.target).href;
    const { event, ...body } = subscribed?.body ?? {};
    const call = client.newCall({
      ...{ did: 'change', path: hook.path },
      ...(subscribed === undefined
        ? {}
        : { subscription: { scope: 'own', projectId: '0', ...subscribed.subscription } }),
      ...(query === undefined ? {} : { query }),
      ...(enabled === undefined ? {} : { enabled }),
    });
    const changes = {
      ...(event === undefined ? body : { events: [event], scope: 'own' }),
      ...(target === undefined ? {} : { target_url: target }),
      ...(enabled === undefined ? {} : { enabled: enabled ? 1 : 0 }),
    };
    hook.changedInLife = client.lifeNumber();
    const onRejected = () => {
      hook.changedInLife = undefined;
    };
    const onDone = () => {
      hook.changedInLife = undefined;
      if (target !== undefined) [hook.target, hook.targetCount] = [target, hook.targetCount + 1];
      hook.isEnabled = enabled ?? hook.isEnabled;
    };
    client.sendRecorded(
      hook.who,
      { method: 'PUT', url: `/v2/hooks/${hook.id}`, body: changes },
      [call],
      onDone,
      onRejected,
    );
  }

  /** Enables all hooks, also those whose last change got no response. */
  enableAll(): void {
    // The request to delete a user may have been lost.
    for (const hook of this.#hooks.filter(({ id }) => id !== undefined))
      if (!hook.isEnabled || hook.changedInLife !== undefined) this.#change(hook, { enabled: true });
  }

  readonly replay = (): void => {
    const client = this.#client;
    const hook = client.pick(this.#knownHooks());
    if (hook === undefined) return;
    const call = client.newCall({ did: 'replay', path: hook.path });
    const request = { method: 'POST', url: `/v2/hooks/${hook.id}/replay`, body: ALWAYS } as const;
    client.sendRecorded(hook.who, request, [call], () => undefined);
  };

  readonly subscribeForbidden = (): void => {
    const client = this.#client;
    const literal = client.random.pick(FORBIDDEN_ADDRESSES);
    const host =
      client.random.integerBelow(2) === 0 ? 'forbidden.test' : literal.includes(':') ? `[${literal}]` : literal;
    const body = { target_url: `http://${host}/never`, event: 'new_event' };
    client.sendUnrecorded(client.randomUser(), { method: 'POST', url: '/v2/hooks', body }, ({ status }) => {
      if (status < 300) client.violations.push(`${host} was accepted as a target`);
    });
  };

  /** Subscribes a second hook with the target of a live hook, which must be rejected even for another account (C12). */
  readonly subscribeTaken = (): void => {
    const client = this.#client;
    const isTaken = (hook: ClientHook) => hook.id !== undefined && this.#isSettled(hook) && !this.#mayHaveEnded(hook);
    const hook = client.pick(this.#hooks.filter(isTaken));
    if (hook === undefined) return;
    const { target } = hook;
    const body = { target_url: `${target}#again`, event: 'new_event' };
    client.sendUnrecorded(client.randomUser(), { method: 'POST', url: '/v2/hooks', body }, ({ status }) => {
      const isStillTaken = this.#isSettled(hook) && hook.target === target && !this.#mayHaveEnded(hook);
      if (status < 300 && isStillTaken) client.violations.push(`${target} was accepted twice`);
    });
  };

  readonly unsubscribe = (): void => {
    const client = this.#client;
    // Mostly a hook with deliveries in flight is chosen.
    const busyPaths = new Set(client.network.open.map(({ arrival }) => arrival.path));
    const busy = this.#knownHooks().filter(({ path }) => busyPaths.has(path));
    const hook = client.pick(client.random.integerBelow(4) > 0 ? busy : this.#knownHooks());
    if (hook === undefined) return;
    const who = client.random.integerBelow(4) > 0 ? hook.who : client.randomUser();
    const mayEnd = who === hook.who || (client.mayBeAdmin(who) && who.domain === hook.who.domain);
    const calls = mayEnd ? [client.newCall({ did: 'unsubscribe', path: hook.path })] : [];
    client.sendRecorded(who, { method: 'DELETE', url: `/v2/hooks/${hook.id}` }, calls, () => {
      if (!mayEnd) client.violations.push(`${who.domain} ${who.userId} ended ${hook.path} of ${hook.who.userId}`);
      // Some deleted hooks are restored. Their deliveries in flight are then answered after the restore.
      if (client.random.integerBelow(3) === 0) return;
      client.network.holdDeliveries(hook.path);
      this.#restore(hook);
    });
  };

  readonly restore = (): void => this.#restore(this.#client.pick(this.#knownHooks()));

  readonly test = (): void => {
    const hook = this.#client.pick(this.#knownHooks());
    if (hook === undefined) return;
    const call = this.#client.newCall({ did: 'test', path: hook.path });
    this.#client.sendRecorded(hook.who, { method: 'POST', url: `/v2/hooks/${hook.id}/test` }, [call], ({ json }) => {
      Object.assign(call, { deliveryId: String(json.data.id) });
    });
  };

  readonly redeliver = (): void => {
    const client = this.#client;
    const delivered = client.pick(
      client.network.arrivals.filter(({ answer, body }) => answer === 200 && !body.includes('/hooks/')),
    );
    const hook = this.#knownHooks().find(({ path }) => path === delivered?.path);
    if (delivered === undefined || hook === undefined) return;
    const call = client.newCall({ did: 'redeliver', deliveryId: delivered.deliveryId });
    const url = `/v2/deliveries/${delivered.deliveryId}/redeliver`;
    client.sendRecorded(hook.who, { method: 'POST', url }, [call], () => undefined);
  };

  #knownHooks(): readonly ClientHook[] {
    return this.#hooks.filter(({ id, who }) => id !== undefined && !this.#client.deletedUsers.includes(who));
  }

  /** Whether the hook may have ended, because of a response other than 200 or a request to end it. */
  #mayHaveEnded({ path, who }: ClientHook): boolean {
    const isEnding = this.#client.calls.some(
      (call) => (call.did === 'unsubscribe' && call.path === path) || isRoleLoss(call, who.userId),
    );
    return isEnding || this.#client.network.arrivals.some((one) => one.path === path && one.answer !== 200);
  }

  /** Whether no change of the hook or of the role of its user is in progress or got lost. */
  #isSettled({ who, changedInLife }: ClientHook): boolean {
    return changedInLife === undefined && !this.#client.isChangingRole(who);
  }

  #restore(hook: ClientHook | undefined): void {
    if (hook === undefined || !this.#isSettled(hook)) return;
    const client = this.#client;
    const url = `/v2/hooks/${hook.id}`;
    hook.changedInLife = client.lifeNumber();
    client.sendUnrecorded(hook.who, { method: 'GET', url }, ({ json }) => {
      hook.changedInLife = undefined;
      if (json?.data?.state !== 'ended' || client.isChangingRole(hook.who)) return;
      hook.changedInLife = client.lifeNumber();
      const call = client.newCall({ did: 'restore', path: hook.path });
      const onFinished = () => {
        hook.changedInLife = undefined;
        client.network.releaseDeliveries(hook.path);
      };
      client.sendRecorded(hook.who, { method: 'POST', url: `${url}/restore` }, [call], onFinished, onFinished);
    });
  }
}
