/**
 * The reason why a queue starts no attempt, or that it can. The first row that holds is the status:
 *
 * | status | holds when | ends with |
 * | --- | --- | --- |
 * | `ended` | the hook has ended, or the lease is lost or released (C13) | – |
 * | `prefetching` | settings or deliveries are being read | the end of the read |
 * | `unread` | an attempt could start, but its settings or its delivery have to be read (X8) | a prefetch |
 * | `ready` | an attempt can start | – |
 * | `busy` | attempts are in flight or results are not committed | an outcome or a commit |
 * | `waiting` | the target has failed (backoff, C18), or a local error occurred (pause, C19) | the retry timer |
 * | `idle` | nothing is pending, or the hook is disabled (X13); the lease may be released | a commit event or a poll |
 */
export type QueueStatus = 'ended' | 'prefetching' | 'unread' | 'ready' | 'busy' | 'waiting' | 'idle';
