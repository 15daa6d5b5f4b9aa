import type { IdentitySettings } from '#access/options'
import type { UpdateSettings } from '#firmware/options'
import type { HistoryService } from '#history/history'
import type { NotificationSettings } from '#notifications/options'
import type { RedoLimits } from '#runtime/checkpoints'
import type { Log } from '#runtime/log'
import type { SocketPublisher } from '#runtime/socket'
import type { StorageBackend } from '#runtime/storage'
import type { World } from '#runtime/world'
import type { BulkActivationLimits } from '#store/bulk-activation'
import type { RetentionLimits } from '#store/retention'
import type { StoreJournal } from '#store/store-journal'

export interface AssemblyOptions {
  readonly world: World
  readonly storage: StorageOptions
  /** Receives the events. Connected later, because the server with the sockets is opened last. */
  readonly publisher: SocketPublisher
  readonly limits?: AssemblyLimits
  readonly updates: UpdateSettings
  readonly notifications: NotificationSettings
  /** If absent, authentication is off, and no key is needed. Stored accounts stay as they are. */
  readonly identity?: IdentitySettings
  /** If absent, history is off. */
  readonly history?: (journal: StoreJournal) => HistoryService
  /** Whether the audit is also written to the log. Default: false. */
  readonly isAuditLogged?: boolean
  readonly log: Log
}

interface StorageOptions {
  readonly backend: StorageBackend
  readonly isSynced: boolean
  readonly retention: RetentionLimits
  /** Default: `redoLimits`. */
  readonly redo?: RedoLimits
  /** By default, bulk activation is used if it makes the start faster. */
  readonly bulkActivation?: BulkActivationLimits
}

interface AssemblyLimits {
  /** How long a ticket for the event websocket is valid. Default 30 s. */
  readonly ticketLifetimeMs?: number
  /** The time a device has to answer a write. Default 10 s. */
  readonly writeTimeoutMs?: number
  /**
   * The limit of bytes that wait to be stored or published, above which requests are refused. Default: some seconds of
   * maximum load.
   */
  readonly uncommittedBytesMax?: number
  /** Default: the default of `Hub`. */
  readonly highWaterBytes?: number
  /** Event sockets that one user may have open. Default: `defaultSocketsPerUserMax`. */
  readonly socketsPerUserMax?: number | undefined
  /** Default: `defaultMemory`. */
  readonly memory?: { readonly deviceBytesMax: number; readonly tenantBytesMax: number }
}
