import type { HookQueue } from './hook-queue.ts';
import { firstMembersOf } from './work-loop.ts';

/**
 * The state of one hook on this node. A hook without a slot has no pending work here. The table shows the transitions; –
 * means none. The result of a claim is used only for hooks that are still in the state `claiming` (`finishClaim`).
 *
 * | Event | no slot | unclaimed | claiming | foreign | leased |
 * | --- | --- | --- | --- | --- | --- |
 * | a commit of a node adds deliveries | unclaimed | – | – | – | the queue takes them |
 * | a commit, the poll or a fenced result reports work to be read | unclaimed | – | `mayBeReleased` is set | unclaimed | the queue reads it |
 * | the claim loop takes the hook | | claiming | | | |
 * | the claim gets the lease | | | leased | | |
 * | the claim does not get the lease | | | foreign; unclaimed if `mayBeReleased` | | |
 * | the claim fails | | | unclaimed | | |
 * | settings were changed | – | – | `hasChangedSettings` is set | – | the queue reads them again |
 * | the hook ends, or its lease is lost | – | no slot | no slot | – | no slot |
 * | this node is evicted and loses all leases | – | – | unclaimed | – | no slot |
 * | the lease is released, or a result was fenced | | | | | no slot |
 * | a poll begins | – | – | – | no slot | – |
 */
type HookSlot =
  /** The hook has pending work; its lease will be claimed. */
  | { readonly state: 'unclaimed' }
  /** The lease is being claimed. */
  | {
      readonly state: 'claiming';
      /** Whether the node that had the lease may have released it since the claim began. */
      mayBeReleased: boolean;
      /** Whether the settings that the claim returns may be outdated. */
      hasChangedSettings: boolean;
    }
  /** The claim did not get the lease: another node has it, or the hook had ended, also on a single node. */
  | { readonly state: 'foreign' }
  /** This node has the lease. */
  | { readonly state: 'leased'; readonly queue: HookQueue };

/** A finished claim of a hook whose lease this node got. `areSettingsStale`: they were changed during the claim. */
type ClaimedSlot = { readonly hookId: number; readonly areSettingsStale: boolean };

/** The slots of all hooks that this node knows. A state machine without I/O: the claim loop tells it what happened. */
export class HookSlots {
  readonly #slots = new Map<number, HookSlot>();
  /** The hooks in the state `unclaimed`, in the order in which they are claimed. */
  readonly #unclaimedHookIds = new Set<number>();
  #leasedCount = 0;

  get leasedCount(): number {
    return this.#leasedCount;
  }

  get hasUnclaimed(): boolean {
    return this.#unclaimedHookIds.size > 0;
  }

  /** Returns the queue of a leased hook. */
  findQueue(hookId: number): HookQueue | undefined {
    const slot = this.#slots.get(hookId);
    return slot?.state === 'leased' ? slot.queue : undefined;
  }

  *queues(): Generator<HookQueue, void> {
    for (const slot of this.#slots.values()) if (slot.state === 'leased') yield slot.queue;
  }

  /** Whether the hook is leased, or its lease is claimed or will be. */
  isKnown(hookId: number): boolean {
    const state = this.#slots.get(hookId)?.state;
    return state !== undefined && state !== 'foreign';
  }

  /** Records that a commit has added deliveries of a hook that this node does not lease. */
  onDeliveriesCommitted(hookId: number): void {
    // The node that leases a foreign hook gets the same commit event. A claim per commit would cost more than a
    // delivery. A hook that is being claimed reads its deliveries after the claim.
    if (!this.#slots.has(hookId)) this.#setUnclaimed(hookId);
  }

  /** Records that a hook that this node does not lease has work, and that its lease may be free. */
  onWorkFound(hookId: number): void {
    const slot = this.#slots.get(hookId);
    if (slot?.state === 'claiming') slot.mayBeReleased = true;
    else this.#setUnclaimed(hookId);
  }

  /** Takes the next unclaimed hooks for a claim. */
  beginClaim(maxHooks: number): number[] {
    const hookIds = firstMembersOf(this.#unclaimedHookIds, maxHooks);
    for (const hookId of hookIds) {
      this.#unclaimedHookIds.delete(hookId);
      this.#slots.set(hookId, { state: 'claiming', mayBeReleased: false, hasChangedSettings: false });
    }
    return hookIds;
  }

  /**
   * Finishes the claim of these hooks. Returns those of `claimedHookIds` that are still being claimed: `addLeased` must
   * be called for each.
   */
  finishClaim(hookIds: readonly number[], claimedHookIds: ReadonlySet<number>): ClaimedSlot[] {
    const claimedSlots: ClaimedSlot[] = [];
    for (const hookId of hookIds) {
      const slot = this.#slots.get(hookId);
      // The hook has ended, or this node was evicted. If the hook has work again, the next batch claims it.
      if (slot?.state !== 'claiming') continue;
      if (claimedHookIds.has(hookId)) claimedSlots.push({ hookId, areSettingsStale: slot.hasChangedSettings });
      else if (slot.mayBeReleased) this.#setUnclaimed(hookId);
      else this.#slots.set(hookId, { state: 'foreign' });
    }
    return claimedSlots;
  }

  /** Records that the claim of these hooks has failed: they will be claimed again. */
  onClaimFailed(hookIds: readonly number[]): void {
    for (const hookId of hookIds) if (this.#slots.get(hookId)?.state === 'claiming') this.#setUnclaimed(hookId);
  }

  addLeased(queue: HookQueue): void {
    this.#slots.set(queue.hookId, { state: 'leased', queue });
    this.#leasedCount += 1;
  }

  onSettingsChanged(hookId: number): void {
    const slot = this.#slots.get(hookId);
    if (slot?.state === 'claiming') slot.hasChangedSettings = true;
  }

  /** Removes a hook that is leased, or whose lease is claimed or will be. Returns its queue. */
  remove(hookId: number): HookQueue | undefined {
    const queue = this.findQueue(hookId);
    if (queue !== undefined) this.#leasedCount -= 1;
    if (this.isKnown(hookId)) this.#slots.delete(hookId);
    this.#unclaimedHookIds.delete(hookId);
    return queue;
  }

  /** Records that this node was evicted: the result of the running claim is not valid any more. */
  onEvicted(): void {
    this.onClaimFailed([...this.#slots.keys()]);
  }

  /** Forgets which leases other nodes had at the last claim. */
  forgetForeign(): void {
    for (const [hookId, { state }] of this.#slots) if (state === 'foreign') this.#slots.delete(hookId);
  }

  #setUnclaimed(hookId: number): void {
    this.#slots.set(hookId, { state: 'unclaimed' });
    this.#unclaimedHookIds.add(hookId);
  }
}
