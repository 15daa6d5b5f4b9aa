import type { StoredUpdate, UpdateContext } from '#actors/update/state'
import type { Trigger, TriggerOutcome } from '#model/firmware'

/** What follows from a turn of an update. Called as effects: after the commit, with what that commit holds. */
export interface UpdateNotices {
  /** Undefined: nothing is left of it. */
  moved(tenant: string, device: string, stands: StoredUpdate | undefined): void
  /** The update server is to be asked. */
  ask(tenant: string, device: string, context: UpdateContext): void
  /** The device is to be offered what was found. */
  offer(tenant: string, device: string, context: UpdateContext): void
  /** For whoever waits to hear what became of asking for it. §3.2. */
  outcome(tenant: string, device: string, outcome: TriggerOutcome): void
  /** It is time to try once more. */
  retry(tenant: string, device: string): void
  /** One is done; these indexes were not looked at yet. */
  next(tenant: string, device: string, by: Trigger, rest: readonly number[]): void
}

/** Notices for who is made later than the actors. Before `listen` nobody is told: what goes on is then read from the store. */
export class LateUpdateNotices implements UpdateNotices {
  #listener: UpdateNotices | undefined

  listen(listener: UpdateNotices): void {
    this.#listener = listener
  }

  moved(tenant: string, device: string, stands: StoredUpdate | undefined): void {
    this.#listener?.moved(tenant, device, stands)
  }

  ask(tenant: string, device: string, context: UpdateContext): void {
    this.#listener?.ask(tenant, device, context)
  }

  offer(tenant: string, device: string, context: UpdateContext): void {
    this.#listener?.offer(tenant, device, context)
  }

  outcome(tenant: string, device: string, outcome: TriggerOutcome): void {
    this.#listener?.outcome(tenant, device, outcome)
  }

  retry(tenant: string, device: string): void {
    this.#listener?.retry(tenant, device)
  }

  next(tenant: string, device: string, by: Trigger, rest: readonly number[]): void {
    this.#listener?.next(tenant, device, by, rest)
  }
}
