import type { MemoryLimits } from '#actors/device/memory'
import type { OfferUrl } from '#link/offers'
import type { Presence } from '#link/presence'
import type { Entry } from '#model/entry'
import type { Problem } from '#model/problem'
import type { InternShape } from '#model/shape'
import type { System } from '#runtime/system'

/** What links are made with. */
export interface LinksOptions {
  readonly system: System<Entry>
  readonly intern: InternShape
  readonly memory: MemoryLimits
  readonly presence: Presence
  /** How long a device has to answer a WRITE. */
  readonly writeTimeoutMs: number
  /** Default: images have no address, and only firmware that lies on another server can be offered. */
  readonly offerUrl?: OfferUrl
  readonly log: LinksLog
}

interface LinksLog {
  /** A device left out numbers: they are lost on its side, or never were. */
  gap(tenant: string, device: string, after: number, seq: number): void
  refused(tenant: string, problem: Problem): void
  bug(error: unknown): void
}
