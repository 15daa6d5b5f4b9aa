import type { Trigger, TriggerOutcome } from '#model/firmware'

/** Begins updates, and tells what became of them. */
export interface Updater {
  /**
   * By hand: the device is asked whatever it refuses to do by itself. Joins the update that is under way.
   * @throws Problem `not_found`, `overloaded`, `storage`
   */
  trigger(request: TriggerRequest): Promise<TriggerOutcome>
  /**
   * By itself: begins an update if there is one for the device, and it is meant. Settled when it was begun, waits for its
   * turn, or needs nothing: whoever goes through many devices waits for it. `only`: these indexes.
   */
  consider(tenant: string, device: string, by: Trigger, only?: readonly number[]): Promise<void>
  readonly counts: { readonly offered: number; readonly done: number; readonly failed: number }
  readonly underWay: number
}

export interface TriggerRequest {
  readonly tenant: string
  readonly device: string
  /** 16 bytes: asked for again with the same, it is the same update. */
  readonly seed: Uint8Array
  readonly signal: AbortSignal
}
