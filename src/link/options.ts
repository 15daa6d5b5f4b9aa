import type { MemoryLimits } from '#actors/device/memory'
import type { OfferUrl } from '#link/offers'
import type { Presence } from '#link/presence'
import type { Entry } from '#model/entry'
import type { Problem } from '#model/problem'
import type { InternShape } from '#model/shape'
import type { System } from '#runtime/system'

export interface LinksOptions {
  readonly system: System<Entry>
  readonly intern: InternShape
  readonly memory: MemoryLimits
  readonly presence: Presence
  /** The time limit for the RESULT of a WRITE. */
  readonly writeTimeoutMs: number
  /** Default: no image URLs on this server, so only firmware on other servers can be offered. */
  readonly offerUrl?: OfferUrl
  /** Whether another node can take over the devices. Default: false. */
  readonly hasOtherNodes?: boolean
  readonly log: LinksLog
}

interface LinksLog {
  /** A device skipped numbers: reports were lost on its side, or it miscounted. */
  gap(tenant: string, device: string, after: number, seq: number): void
  refused(tenant: string, problem: Problem): void
  bug(error: unknown): void
}
