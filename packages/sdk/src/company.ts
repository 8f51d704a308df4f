import type { DateText } from './api-types.ts';
import { recordOf } from './response-body.ts';
import type { CallOptions, Send } from './transport.ts';

/** The account as returned by the service. C35. */
export type Company = {
  /** Identifier of the company. */
  readonly company_id: string;
  /** Name of the company. */
  readonly company_name: string;
  /** The account's host name, as in the header domain. */
  readonly domain: string;
  /** Address, first line. */
  readonly address1: string;
  /** Address, second line. */
  readonly address2: string;
  /** City. */
  readonly city: string;
  /** State or region. */
  readonly state: string;
  /** Postcode. */
  readonly postcode: string;
  /** Country. */
  readonly country: string;
  /** Currency. */
  readonly currency: string;
  /** Telephone. */
  readonly phone: string;
  /** When the account was created, UTC. */
  readonly date_created: DateText;
};

/** The account. */
export interface Account {
  /**
   * The account that the key belongs to. Errors: `not_permitted`. C35.
   *
   * @example
   * ```ts
   * const { company_name } = await carillon.company.get();
   * ```
   */
  get(options?: CallOptions): Promise<Company>;
}

/** The account at `/company`. */
export function company(send: Send): Account {
  return { get: async (options) => recordOf(await send({ ...options, method: 'GET', path: ['company'] })) };
}
