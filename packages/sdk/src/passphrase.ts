import { recordOf } from './response-body.ts';
import type { SignedIn } from './sessions.ts';
import type { CallOptions, Send } from './transport.ts';

/** What setting another passphrase takes. */
export type PassphraseInput = {
  /** The passphrase as it is. */
  readonly current: string;
  /** As it is to be: 12 to 256 characters, neither the e-mail address nor the domain. */
  readonly passphrase: string;
};

/** The caller's own passphrase. */
export interface Passphrase {
  /** Sets another one and ends the user's other sessions. Errors: `invalid_input` naming the field, `too_many_tries`. */
  set(input: PassphraseInput, options?: CallOptions): Promise<SignedIn>;
}

/** The passphrase at `/passphrase`. */
export function passphrase(send: Send): Passphrase {
  return {
    set: async (input, options) =>
      recordOf(await send({ ...options, method: 'PUT', path: ['passphrase'], body: input })),
  };
}
