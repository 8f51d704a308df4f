import type { IncomingMessage, RequestListener, ServerResponse } from 'node:http';
import type { Duplex } from 'node:stream';
import { ambiguityOf } from './broken.ts';

export type ConnectionsPorts = {
  /** Takes a request that can be read in one way alone. */
  readonly begin: RequestListener;
  /** Answers one that might be read in two. */
  readonly refuse: (request: IncomingMessage, response: ServerResponse, why: string) => void;
};

/** The answer to what was asked for last over a connection, and to what was asked for before that. */
type Answers = { readonly last: ServerResponse; readonly before: ServerResponse | undefined };

/** What is remembered of every connection: that nothing more of it is believed, and its last answers. */
export class Connections {
  readonly #ports: ConnectionsPorts;
  readonly #refused = new WeakSet<Duplex>();
  readonly #answers = new WeakMap<Duplex, Answers>();

  constructor(ports: ConnectionsPorts) {
    this.#ports = ports;
  }

  readonly take = (request: IncomingMessage, response: ServerResponse): void => {
    const { socket } = request;
    // To another reader, what came behind it may have been a part of it.
    if (this.#refused.has(socket)) return;
    this.#answers.set(socket, { last: response, before: this.#answers.get(socket)?.last });
    const ambiguity = ambiguityOf(request);
    if (ambiguity === undefined) {
      this.#ports.begin(request, response);
      return;
    }
    this.#refused.add(socket);
    this.#ports.refuse(request, response, ambiguity);
  };

  /**
   * Goes on when whatever was asked for in full over a connection has its answer: nobody is to be given another's. What
   * breaks off in the middle of a body is about the last of them.
   */
  afterAnswers(socket: Duplex, goOn: () => void): void {
    // It has had its answer, and ends with it.
    if (this.#refused.has(socket)) return;
    const { last, before } = this.#answers.get(socket) ?? {};
    const answer = last?.req.complete ? last : before;
    if (answer === undefined || answer.writableFinished || answer.destroyed) goOn();
    else answer.once('close', goOn);
  }
}
