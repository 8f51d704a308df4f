/** A receiver of notifications. It misses no occurrence, and calls the handlers in order. */
export type {
  HandlersByKind as Handlers,
  OccurrenceContext as Context,
  OccurrenceHandler as Handler,
  RecordsByKind as RecordOf,
} from './handle-notification.ts';
export type { FastifyHandler, FastifyReply, FastifyRequest, NodeHandler, NodeRequest, NodeResponse } from './node.ts';
export { createReceiver, type Receiver, type ReceiverOptions } from './receiver.ts';
export { type FileSystem as Files, fileState, memoryState, type ReceiverState as State } from './state.ts';
export type { WebHandler } from './web.ts';
