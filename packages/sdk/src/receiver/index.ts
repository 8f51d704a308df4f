/** A receiver of notifications. It misses no occurrence, and calls the handlers in order. */
export type { FastifyHandler, FastifyReply, FastifyRequest, NodeHandler, NodeRequest, NodeResponse } from './node.ts';
export type {
  HandledKind,
  HandlersByKind,
  OccurrenceContext,
  OccurrenceHandler,
  RecordsByKind,
} from './occurrence-handlers.ts';
export { createReceiver, type Receiver, type ReceiverOptions } from './receiver.ts';
export { type FileSystem, fileState, memoryState, type ReceiverState } from './state.ts';
export type { WebHandler } from './web.ts';
