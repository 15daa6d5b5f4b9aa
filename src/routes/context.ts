import type { Hub } from '#events/hub'
import type { Tickets } from '#iam/tickets'
import type { Links } from '#link/links'
import type { Presence } from '#link/presence'
import type { ActionStarter } from '#model/action'
import type { Entry } from '#model/entry'
import type { InternShape } from '#model/shape'
import type { Listing } from '#runtime/listing'
import type { StreamReader } from '#runtime/stream'
import type { System } from '#runtime/system'
import type { World } from '#runtime/world'

/** What routes answer from. */
export interface RouteContext {
  readonly world: World
  readonly system: System<Entry>
  readonly reader: StreamReader<Entry>
  readonly listing: Listing
  readonly intern: InternShape
  readonly hub: Hub
  readonly links: Links
  readonly actions: ActionStarter
  readonly presence: Presence
  readonly tickets: Tickets
  /** When this process began, Unix ms. */
  readonly startedAt: number
}
