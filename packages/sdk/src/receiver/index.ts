/** A receiver of notifications. It misses no occurrence, and calls the handlers in order. */
export type { Context, Handler, Handlers, RecordOf } from './handle-notification.ts';
export type { FastifyHandler, FastifyReply, FastifyRequest, NodeHandler, NodeRequest, NodeResponse } from './node.ts';
export { createReceiver, type Receiver, type ReceiverOptions } from './receiver.ts';
export { type Files, fileState, memoryState, type State } from './state.ts';
export type { WebHandler } from './web.ts';
