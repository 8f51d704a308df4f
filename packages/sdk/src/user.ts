import { recordOf } from './response-body.ts';
import type { CallOptions, Send } from './transport.ts';
import type { User } from './users.ts';

/** The caller. */
export interface Caller {
  /**
   * The user whose key is used. Needs no permission. C2, C35.
   *
   * @example
   * ```ts
   * const { user_id, role } = await carillon.user.get();
   * ```
   */
  get(options?: CallOptions): Promise<User>;
}

/** The caller at `/user`. */
export function user(send: Send): Caller {
  return { get: async (options) => recordOf(await send({ ...options, method: 'GET', path: ['user'] })) };
}
