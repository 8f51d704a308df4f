import { type Account, headersOf } from '../accounts.ts';
import type { Call } from './connection.ts';

const json = { 'content-type': 'application/json' };

/** The body of every created event. */
const EVENT = JSON.stringify({ event_name: 'Release', start_date: '20270101', due_date: '20270102' });

export function createEvent(account: Account): Call {
  return { method: 'POST', path: '/v2/events', headers: { ...json, ...headersOf(account) }, body: EVENT, status: 201 };
}

/** The same request for a floor, without authentication. */
export const createBare: Call = { method: 'POST', path: '/', headers: json, body: EVENT, status: 201 };

export const fetchBare: Call = { method: 'GET', path: '/', headers: {}, status: 200 };

export function subscribe(account: Account, target: string): Call {
  const body = JSON.stringify({ target_url: target, event: 'new_event' });
  return { method: 'POST', path: '/v2/hooks', headers: { ...json, ...headersOf(account) }, body, status: 201 };
}

export function fetchEvent(account: Account, id: string): Call {
  return { method: 'GET', path: `/v2/events/${id}`, headers: headersOf(account), status: 200 };
}

export function listEvents(account: Account, query: string): Call {
  return { method: 'GET', path: `/v2/events?${query}`, headers: headersOf(account), status: 200 };
}
