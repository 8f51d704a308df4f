import type { ServiceProcess } from '../../kit/service/service-process.ts';

/** Raw requests, in rotation: a creation and a list. */
export function requestsOf({ headers }: Pick<ServiceProcess, 'headers'>): readonly string[] {
  const known = ['host: carillon.test', ...Object.entries(headers).map(([name, value]) => `${name}: ${value}`)];
  const body = JSON.stringify({ event_name: 'Tick', start_date: '20270101', due_date: '20270101' });
  const typed = ['content-type: application/json', `content-length: ${body.length}`];
  return [
    `${['POST /v2/events HTTP/1.1', ...known, ...typed].join('\r\n')}\r\n\r\n${body}`,
    `${['GET /v2/events?start_from=20260601&start_to=20260630 HTTP/1.1', ...known].join('\r\n')}\r\n\r\n`,
  ];
}
