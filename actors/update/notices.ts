import type { StoredUpdate, UpdateContext } from '#actors/update/state'
import type { Trigger, TriggerOutcome } from '#model/firmware'

/** Notices about a turn of an update. Called as effects: after the commit, with the committed state. */
export interface UpdateNotices {
  /** Undefined: the record was deleted. */
  updateMoved(tenant: string, device: string, stored: StoredUpdate | undefined): void
  /** The update server has to be asked. */
  updateCheckWanted(tenant: string, device: string, context: UpdateContext): void
  /** The offer has to be sent to the device. */
  updateOfferWanted(tenant: string, device: string, context: UpdateContext): void
  /** For callers that wait for the outcome of a trigger. §3.2. */
  triggerSettled(tenant: string, device: string, outcome: TriggerOutcome): void
  /** The update may be tried again. */
  updateRetryDue(tenant: string, device: string): void
  /** An update is done; these indexes were not checked yet. */
  nextUpdateWanted(tenant: string, device: string, by: Trigger, rest: readonly number[]): void
}
