import type { Arrival } from '../checker/history.ts';
import type { ApiClient } from './api-client.ts';
import { FORBIDDEN_ADDRESSES } from './network.ts';
import { hookKinds } from './records.ts';
import type { SimulatedUser } from './seed-database.ts';

type ClientHook = {
  readonly path: string;
  readonly who: SimulatedUser;
  readonly target: string;
  id: string | undefined;
  isRestoring: boolean;
};

/** Clients that create, end, restore and test hooks. */
export class HookClients {
  readonly #client: ApiClient;
  readonly #hooks: ClientHook[] = [];

  constructor(client: ApiClient) {
    this.#client = client;
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
    const hook: ClientHook = { path, who, target, id: undefined, isRestoring: false };
    this.#hooks.push(hook);
    const kind = client.random.pick(hookKinds);
    const body = { target_url: target, event: kind };
    const call = client.newCall({ did: 'subscribe', path, kind, userId: who.userId });
    client.sendRecorded(who, { method: 'POST', url: '/v2/hooks', body }, [call], ({ json }) => {
      hook.id = String(json.id);
    });
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
    const hook = client.pick(this.#hooks.filter(({ path, id }) => id !== undefined && !this.#mayHaveEnded(path)));
    if (hook === undefined) return;
    const body = { target_url: `${hook.target}#again`, event: 'new_event' };
    client.sendUnrecorded(client.randomUser(), { method: 'POST', url: '/v2/hooks', body }, ({ status }) => {
      if (status < 300 && !this.#mayHaveEnded(hook.path)) client.violations.push(`${hook.target} was accepted twice`);
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
    const mayEnd = who === hook.who || (who.role === 'owner' && who.domain === hook.who.domain);
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
  #mayHaveEnded(path: string): boolean {
    const isEnding = this.#client.calls.some((call) => call.did === 'unsubscribe' && call.path === path);
    return isEnding || this.#client.network.arrivals.some((one) => one.path === path && one.answer !== 200);
  }

  #restore(hook: ClientHook | undefined): void {
    if (hook === undefined || hook.isRestoring) return;
    const client = this.#client;
    const url = `/v2/hooks/${hook.id}`;
    hook.isRestoring = true;
    client.sendUnrecorded(hook.who, { method: 'GET', url }, ({ json }) => {
      hook.isRestoring = false;
      if (json?.data?.state !== 'ended') return;
      hook.isRestoring = true;
      const call = client.newCall({ did: 'restore', path: hook.path });
      const onFinished = () => {
        hook.isRestoring = false;
        client.network.releaseDeliveries(hook.path);
      };
      client.sendRecorded(hook.who, { method: 'POST', url: `${url}/restore` }, [call], onFinished, onFinished);
    });
  }
}
