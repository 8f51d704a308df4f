import { recordOf } from './resource.ts';
import type { CallOptions, Send } from './transport.ts';
import type { DateText } from './wire.ts';

/** The account as it is read. C35. */
export type Company = {
  readonly company_id: string;
  readonly company_name: string;
  readonly domain: string;
  readonly address1: string;
  readonly address2: string;
  readonly city: string;
  readonly state: string;
  readonly postcode: string;
  readonly country: string;
  readonly currency: string;
  readonly phone: string;
  readonly date_created: DateText;
};

/** The account. */
export interface Account {
  /** The account that the key belongs to. Errors: `not_permitted`. C35. */
  get(options?: CallOptions): Promise<Company>;
}

/** The account at `/company`. */
export function company(send: Send): Account {
  return { get: async (options) => recordOf(await send({ ...options, method: 'GET', path: ['company'] })) };
}
