import { type Conversation, converse } from '../../kit/network/raw-http.ts';
import type { Answer } from '../../kit/service/service.ts';
import { type Case, corpus } from './corpus.ts';

/** Concurrent connections. */
const CONCURRENCY = 16;

type Caller = { readonly baseUrl: string; readonly headers: Readonly<Record<string, string>> };

/** Sends every request of the corpus; returns the unexpected responses. */
export async function sendMalformed(
  { baseUrl, headers }: Caller,
  seed: number,
): Promise<{ sent: number; broken: string[] }> {
  const ask = async (method: string, path: string, body?: string): Promise<Pick<Answer, 'status' | 'json'>> => {
    const answer = await fetch(baseUrl + path, {
      method,
      headers: { ...headers, 'content-type': 'application/json' },
      ...(body === undefined ? {} : { body }),
    });
    return { status: answer.status, json: await answer.json() };
  };
  const credentials = [`key: ${headers.key}`, `domain: ${headers.domain}`];
  // The record that the hidden requests would delete.
  const kept = await ask('POST', '/v2/clients', '{"client_name":"Kept"}');
  const id: string = kept.json.data.client_id;
  const cases = corpus(credentials, seed).map((one) => ({
    ...one,
    bytes: one.bytes.replaceAll('/v2/clients/1 ', `/v2/clients/${id} `),
  }));
  const made = async () => (await ask('GET', '/v2/clients?client_name=Corpus&limit=1')).json.paging.total_records;
  const before = await made();
  const broken: string[] = [];
  const waiting = [...cases];
  const queue = async () => {
    for (let next = waiting.shift(); next !== undefined; next = waiting.shift()) {
      const fault = faultIn(next, await converse(baseUrl, next.bytes));
      if (fault !== undefined) broken.push(`${next.what}: ${fault}`);
    }
  };
  await Promise.all(Array.from({ length: CONCURRENCY }, queue));
  const now = await ask('GET', `/v2/clients/${id}`);
  if (now.status !== 200 || now.json.data.client_name !== 'Kept') broken.push('a smuggled request was executed');
  const [more, taken] = [(await made()) - before, cases.filter(({ statuses }) => statuses.includes(201)).length];
  if (more !== taken) broken.push(`${more} clients were created by ${taken} requests`);
  return { sent: cases.length, broken };
}

/** Returns why a response does not match its case; undefined if it does. */
export function faultIn({ statuses }: Case, { text, closed, ...answered }: Conversation): string | undefined {
  if (answered.statuses.join() !== statuses.join())
    return `${answered.statuses.join() || 'nothing'} instead of ${statuses.join()}`;
  if (!closed) return 'the connection stays open';
  if (statuses[0] !== 400 || statuses.length > 1) return undefined;
  return /\r\ncontent-type: application\/problem\+json/i.test(text) ? undefined : `no problem: ${text}`;
}
