import { type Behaviour, head, type Moment, type Seen } from '../behaviour.ts';

/** Where a connection can break: when it does, what was said before, what a sender knows then. */
type Stage = {
  readonly name: string;
  readonly where: string;
  readonly at?: Moment;
  readonly said?: string;
  readonly sees: Seen;
};

const STAGES: readonly Stage[] = [
  { name: 'on-connect', where: 'as soon as it is connected', at: 'connected', sees: 'reset' },
  { name: 'after-request-head', where: 'when the head of the request is here', at: 'head', sees: 'reset' },
  { name: 'mid-request-body', where: 'when the body of the request has begun', at: 'body', sees: 'reset' },
  { name: 'after-request', where: 'when the whole request is here', sees: 'reset' },
  { name: 'mid-status-line', where: 'in the middle of the status line', said: 'HTTP/1.1 2', sees: 'reset' },
  { name: 'after-status-line', where: 'behind the status line', said: 'HTTP/1.1 200 OK\r\n', sees: 'reset' },
  { name: 'mid-head', where: 'in the middle of a header', said: 'HTTP/1.1 200 OK\r\nContent-Le', sees: 'reset' },
  { name: 'mid-100', where: 'in the middle of a `100 Continue`', said: 'HTTP/1.1 100 Cont', sees: 'reset' },
  { name: 'after-100', where: 'behind a `100 Continue`', said: 'HTTP/1.1 100 Continue\r\n\r\n', sees: 'reset' },
  { name: 'after-head', where: 'behind the head of a 200', said: head('200 OK', 'Content-Length: 10'), sees: 200 },
  {
    name: 'mid-body',
    where: 'in the middle of the body of a 200',
    said: `${head('200 OK', 'Content-Length: 10')}12345`,
    sees: 200,
  },
];

const resets = STAGES.map(
  ({ name, where, at = 'asked', said, sees }): Behaviour => ({
    slug: `rst-${name}`,
    says: `Resets the connection (RST) ${where}.`,
    sees,
    at,
    act: (visit) => visit.reset(said),
  }),
);

const closes = STAGES.map(
  ({ name, where, at = 'asked', said, sees }): Behaviour => ({
    slug: `fin-${name}`,
    says: `Closes the connection (FIN) ${where}.`,
    sees,
    at,
    act: (visit) => visit.end(said),
  }),
);

const halves: readonly Behaviour[] = [
  {
    slug: 'half-close',
    says: 'Closes its own half of the connection at once, and goes on reading.',
    sees: 'reset',
    at: 'connected',
    async act(visit) {
      visit.end();
      await visit.left;
    },
  },
  {
    slug: 'half-close-after-answer',
    says: 'Answers 200, closes its own half of the connection, and goes on reading.',
    sees: 200,
    async act(visit) {
      visit.end(head('200 OK', 'Content-Length: 0'));
      await visit.left;
    },
  },
];

/** Connections that break, at every stage there is. */
export const endings: readonly Behaviour[] = [...resets, ...closes, ...halves];
