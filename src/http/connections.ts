import type { IncomingMessage, RequestListener, ServerResponse } from 'node:http';
import type { Duplex } from 'node:stream';
import { ambiguityOf } from './broken.ts';

/** What is dropped behind a refused request while that waits for its turn to be answered; whoever sends more is cut off. */
const MOST_DROPPED = 100;

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
  /** Those of which nothing more is believed, and how many requests of each were dropped since. */
  readonly #refused = new WeakMap<Duplex, number>();
  readonly #answers = new WeakMap<Duplex, Answers>();
  readonly #heldBack = new WeakSet<ServerResponse>();

  constructor(ports: ConnectionsPorts) {
    this.#ports = ports;
  }

  readonly take = (request: IncomingMessage, response: ServerResponse): void => {
    const { socket } = request;
    // To another reader, what came behind it may have been a part of it.
    const dropped = this.#refused.get(socket);
    if (dropped !== undefined) {
      this.#refused.set(socket, dropped + 1);
      // Node keeps each of them until those before it are answered.
      if (dropped === MOST_DROPPED) socket.destroy();
      return;
    }
    const before = this.#answers.get(socket)?.last;
    if (before !== undefined && this.#isHeldBack(before)) {
      socket.destroy();
      return;
    }
    this.#answers.set(socket, { last: response, before });
    const ambiguity = ambiguityOf(request);
    if (ambiguity === undefined) {
      this.#ports.begin(request, response);
      return;
    }
    this.#refused.set(socket, 0);
    this.#ports.refuse(request, response, ambiguity);
  };

  /**
   * An answer is held back: whoever sends more over its connection meanwhile, or has already, is cut off. It would pile
   * up behind it.
   */
  holdBack(response: ServerResponse): void {
    const { socket } = response.req;
    if (this.#answers.get(socket)?.last !== response || this.#refused.has(socket)) socket.destroy();
    else this.#heldBack.add(response);
  }

  /**
   * Goes on when whatever was asked for in full over a connection has its answer: nobody is to be given another's. What
   * breaks off in the middle of a body is about the last of them.
   */
  afterAnswers(socket: Duplex, goOn: () => void): void {
    // It has had its answer, or waits for it, and ends with it.
    if (this.#refused.has(socket)) return;
    this.#refused.set(socket, 0);
    // Node would go on to read, and tell of each piece.
    socket.pause();
    const { last, before } = this.#answers.get(socket) ?? {};
    const answer = last?.req.complete ? last : before;
    if (answer === undefined || answer.writableFinished || answer.destroyed) goOn();
    else if (this.#isHeldBack(answer)) socket.destroy();
    else answer.once('close', goOn);
  }

  #isHeldBack(response: ServerResponse): boolean {
    return this.#heldBack.has(response) && !response.writableEnded;
  }
}
