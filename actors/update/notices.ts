import type { StoredUpdate, UpdateContext } from '#actors/update/state'
import type { Trigger, TriggerOutcome } from '#model/firmware'

/** What follows from a turn of an update. Called as effects: after the commit, with what that commit holds. */
export interface UpdateNotices {
  /** Undefined: nothing is left of it. */
  updateMoved(tenant: string, device: string, stands: StoredUpdate | undefined): void
  /** The update server is to be asked. */
  updateCheckWanted(tenant: string, device: string, context: UpdateContext): void
  /** The device is to be offered what was found. */
  updateOfferWanted(tenant: string, device: string, context: UpdateContext): void
  /** For whoever waits to hear what became of asking for it. §3.2. */
  triggerSettled(tenant: string, device: string, outcome: TriggerOutcome): void
  /** It is time to try once more. */
  updateRetryDue(tenant: string, device: string): void
  /** One is done; these indexes were not looked at yet. */
  nextUpdateWanted(tenant: string, device: string, by: Trigger, rest: readonly number[]): void
}
