import type { Arrival } from '../checker/history.ts';
import type { ApiClient } from './api-client.ts';
import { FORBIDDEN } from './network.ts';
import { hookKinds } from './records.ts';
import type { Person } from './seed-database.ts';

type Hook = {
  readonly path: string;
  readonly who: Person;
  readonly target: string;
  id: string | undefined;
  isRestoring: boolean;
};

/** Clients that create, end, restore and test hooks. */
export class Hooks {
  readonly #client: ApiClient;
  readonly #hooks: Hook[] = [];

  constructor(client: ApiClient) {
    this.#client = client;
  }

  /** Returns the paths of the hooks of a user. */
  of(who: Person): readonly string[] {
    return this.#hooks.filter((hook) => hook.who === who).map(({ path }) => path);
  }

  /** Fetches the record that a notification names, as the owner of its account. */
  fetch(arrival: Arrival & { fetched?: number }): void {
    const client = this.#client;
    const hook = this.#hooks.find(({ path }) => path === arrival.path);
    const owner = hook && client.randomOwner(hook.who.domain);
    const url = /"(https:[^"]+)"/.exec(arrival.body)?.[1]?.slice(client.baseUrl.length);
    if (owner === undefined || url === undefined) return;
    client.put(owner, { method: 'GET', url }, ({ status }) => {
      if (status < 500) arrival.fetched = status;
    });
  }

  readonly subscribe = (): void => {
    const client = this.#client;
    const who = client.randomUser();
    const path = `/${this.#hooks.length + 1}`;
    const target = client.network.targetAt(path);
    const hook: Hook = { path, who, target, id: undefined, isRestoring: false };
    this.#hooks.push(hook);
    const kind = client.random.one(hookKinds);
    const body = { target_url: target, event: kind };
    const call = client.newCall({ did: 'subscribe', path, kind, userId: who.userId });
    client.request(who, { method: 'POST', url: '/v2/hooks', body }, [call], ({ json }) => {
      hook.id = String(json.id);
    });
  };

  readonly subscribeForbidden = (): void => {
    const client = this.#client;
    const literal = client.random.one(FORBIDDEN);
    const host = client.random.below(2) === 0 ? 'forbidden.test' : literal.includes(':') ? `[${literal}]` : literal;
    const body = { target_url: `http://${host}/never`, event: 'new_event' };
    client.put(client.randomUser(), { method: 'POST', url: '/v2/hooks', body }, ({ status }) => {
      if (status < 300) client.violations.push(`${host} was accepted as a target`);
    });
  };

  /** Subscribes a second hook with the target of a live hook, which must be rejected even for another account (C12). */
  readonly subscribeTaken = (): void => {
    const client = this.#client;
    const hook = client.pick(this.#hooks.filter(({ path, id }) => id !== undefined && !this.#mayHaveEnded(path)));
    if (hook === undefined) return;
    const body = { target_url: `${hook.target}#again`, event: 'new_event' };
    client.put(client.randomUser(), { method: 'POST', url: '/v2/hooks', body }, ({ status }) => {
      if (status < 300 && !this.#mayHaveEnded(hook.path)) client.violations.push(`${hook.target} was accepted twice`);
    });
  };

  readonly unsubscribe = (): void => {
    const client = this.#client;
    // Mostly a hook with deliveries in flight is chosen.
    const busyPaths = new Set(client.network.open.map(({ arrival }) => arrival.path));
    const busy = this.#known().filter(({ path }) => busyPaths.has(path));
    const hook = client.pick(client.random.below(4) > 0 ? busy : this.#known());
    if (hook === undefined) return;
    const who = client.random.below(4) > 0 ? hook.who : client.randomUser();
    const mayEnd = who === hook.who || (who.role === 'owner' && who.domain === hook.who.domain);
    const calls = mayEnd ? [client.newCall({ did: 'unsubscribe', path: hook.path })] : [];
    client.request(who, { method: 'DELETE', url: `/v2/hooks/${hook.id}` }, calls, () => {
      if (!mayEnd) client.violations.push(`${who.domain} ${who.userId} ended ${hook.path} of ${hook.who.userId}`);
      // Some deleted hooks are restored. Their deliveries in flight are then answered after the restore.
      if (client.random.below(3) === 0) return;
      client.network.hold(hook.path);
      this.#restore(hook);
    });
  };

  readonly restore = (): void => this.#restore(this.#client.pick(this.#known()));

  readonly test = (): void => {
    const hook = this.#client.pick(this.#known());
    if (hook === undefined) return;
    const call = this.#client.newCall({ did: 'test', path: hook.path });
    this.#client.request(hook.who, { method: 'POST', url: `/v2/hooks/${hook.id}/test` }, [call], ({ json }) => {
      Object.assign(call, { deliveryId: String(json.data.id) });
    });
  };

  readonly redeliver = (): void => {
    const client = this.#client;
    const delivered = client.pick(
      client.network.arrivals.filter(({ answer, body }) => answer === 200 && !body.includes('/hooks/')),
    );
    const hook = this.#known().find(({ path }) => path === delivered?.path);
    if (delivered === undefined || hook === undefined) return;
    const call = client.newCall({ did: 'redeliver', deliveryId: delivered.deliveryId });
    const url = `/v2/deliveries/${delivered.deliveryId}/redeliver`;
    client.request(hook.who, { method: 'POST', url }, [call], () => undefined);
  };

  #known(): readonly Hook[] {
    return this.#hooks.filter(({ id, who }) => id !== undefined && !this.#client.deletedUsers.includes(who));
  }

  /** Whether the hook may have ended, because of a response other than 200 or a request to end it. */
  #mayHaveEnded(path: string): boolean {
    const isEnding = this.#client.calls.some((call) => call.did === 'unsubscribe' && call.path === path);
    return isEnding || this.#client.network.arrivals.some((one) => one.path === path && one.answer !== 200);
  }

  #restore(hook: Hook | undefined): void {
    if (hook === undefined || hook.isRestoring) return;
    const client = this.#client;
    const url = `/v2/hooks/${hook.id}`;
    hook.isRestoring = true;
    client.put(hook.who, { method: 'GET', url }, ({ json }) => {
      hook.isRestoring = false;
      if (json?.data?.state !== 'ended') return;
      hook.isRestoring = true;
      const call = client.newCall({ did: 'restore', path: hook.path });
      const over = () => {
        hook.isRestoring = false;
        client.network.release(hook.path);
      };
      client.request(hook.who, { method: 'POST', url: `${url}/restore` }, [call], over, over);
    });
  }
}
