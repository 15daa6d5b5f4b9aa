import type { AuditLog } from '#access/audit-log'
import type { ByteAllowance } from '#access/byte-allowance'
import type { ImageUrls, UnsubscribeUrls } from '#access/signed-urls'
import type { Tickets } from '#access/tickets'
import type { WebhookSecrets } from '#access/webhook-secrets'
import type { MemoryLimits } from '#actors/device/memory'
import type { Hub } from '#events/hub'
import type { ImageDownloads } from '#firmware/image-downloads'
import type { ImageUses } from '#firmware/image-uses'
import type { UpdateChecks } from '#firmware/update-checks'
import type { UpdateServer } from '#firmware/update-server'
import type { Updater } from '#firmware/updater'
import type { HistoryRequests } from '#history/history-requests'
import type { Links } from '#link/links'
import type { Presence } from '#link/presence'
import type { Entry } from '#model/entry'
import type { InternShape } from '#model/shape'
import type { Deliveries } from '#notifications/deliveries'
import type { Mail } from '#notifications/mail'
import type { WebhookSender } from '#notifications/webhook-sender'
import type { DeviceSearch } from '#routes/device-search'
import type { BlobStore } from '#runtime/blobs'
import type { StreamReader } from '#runtime/journal'
import type { LocalTopics } from '#runtime/local-topics'
import type { Listing } from '#runtime/storage'
import type { System } from '#runtime/system'
import type { World } from '#runtime/world'
import type { ActionRunner } from '#workers/action-runner'

interface DeviceContext {
  readonly links: Links
  readonly presence: Presence
  readonly actions: Pick<ActionRunner, 'begin'>
  readonly search: DeviceSearch
  readonly intern: InternShape
  readonly memory: MemoryLimits
}

interface EventContext {
  readonly hub: Hub
  readonly reader: StreamReader<Entry>
  /** For clients that receive events over MQTT: the websocket server does not know their sockets. */
  readonly localTopics: LocalTopics
  readonly tickets: Tickets
  /** Charged before a change whose event contains a whole record. */
  readonly streamShare: ByteAllowance
}

/** Firmware parts that routes need. */
interface FirmwareContext {
  readonly updater: Updater
  readonly checks: UpdateChecks
  readonly server: UpdateServer
  readonly images: BlobStore
  /** Maximum size of an image. */
  readonly imageBytesMax: number
  readonly imageUses: Pick<ImageUses, 'isLost' | 'keepAll' | 'keepWhile'>
  readonly downloads: ImageDownloads
  readonly imageUrls: ImageUrls
  /** Verifies the calls of the update server. Absent: no call is accepted. */
  readonly hookSecret?: string
}

interface NotificationContext {
  readonly deliveries: Pick<Deliveries, 'countOf' | 'backlogOf' | 'transport'>
  readonly mail: Omit<Mail, 'open' | 'close'>
  /** For links in mails to users. */
  readonly publicUrls: readonly string[]
  readonly unsubscribeUrls: Pick<UnsubscribeUrls, 'isValid'>
  readonly webhookSender: Pick<WebhookSender, 'faultOf'>
  readonly webhookSecrets: Pick<WebhookSecrets, 'seal'>
}

/** Data and services for the routes. */
export interface RouteContext {
  readonly world: World
  readonly system: System<Entry>
  readonly listing: Listing
  readonly devices: DeviceContext
  readonly events: EventContext
  readonly firmware: FirmwareContext
  readonly notifications: NotificationContext
  /** The queries and imports of history. Undefined: history is off. */
  readonly history: HistoryRequests | undefined
  readonly audit: AuditLog
  /** Start of this process, Unix ms. */
  readonly startedAt: number
}
