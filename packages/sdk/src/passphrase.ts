import { recordOf } from './response-body.ts';
import type { SignedIn } from './sessions.ts';
import type { CallOptions, Send } from './transport.ts';

/** Input for changing the passphrase. */
export type PassphraseInput = {
  /** The current passphrase. */
  readonly current: string;
  /** The new one: 12 to 256 characters, neither the e-mail address nor the domain. */
  readonly passphrase: string;
};

/** The caller's own passphrase. */
export interface Passphrase {
  /**
   * Changes the passphrase and ends the user's other sessions. Errors: `invalid_input` with the field,
   * `too_many_tries`.
   *
   * @example
   * ```ts
   * await console.passphrase.set({ current: passphrase, passphrase: newPassphrase });
   * ```
   */
  set(input: PassphraseInput, options?: CallOptions): Promise<SignedIn>;
}

/** The passphrase at `/passphrase`. */
export function passphrase(send: Send): Passphrase {
  return {
    set: async (input, options) =>
      recordOf(await send({ ...options, method: 'PUT', path: ['passphrase'], body: input })),
  };
}
