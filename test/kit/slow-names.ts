import type { Resolve } from '../../src/delivery/transport/dns-resolver.ts';
import type { Answer, Person, TestService } from './service.ts';

/** Host names that resolve when `release` is called. A subscription that waits for its name occupies a slot. */
export type SlowNames = {
  readonly resolve: Resolve;
  /** The number of waiting subscriptions. */
  readonly waiting: () => number;
  /** Starts a subscription. Its response arrives after `release`. */
  subscribe(service: TestService, owner: Person): Promise<Answer>;
  release(): void;
};

export function slowNames(): SlowNames {
  const { promise, resolve } = Promise.withResolvers<{ addresses: string[] }>();
  let waiting = 0;
  let hooks = 0;
  return {
    resolve: () => {
      waiting += 1;
      return promise;
    },
    waiting: () => waiting,
    subscribe(service, owner) {
      hooks += 1;
      const hook = { target_url: `http://slow.example/${hooks}`, event: 'new_event' };
      return service.call(owner, 'POST', '/v2/hooks', hook);
    },
    release: () => resolve({ addresses: ['93.184.215.14'] }),
  };
}
