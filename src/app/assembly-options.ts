import type { IdentitySettings } from '#access/options'
import type { UpdateSettings } from '#firmware/options'
import type { NotificationSettings } from '#notifications/options'
import type { RedoLimits } from '#runtime/checkpoints'
import type { SocketPublisher } from '#runtime/socket'
import type { StoragePlace } from '#runtime/storage'
import type { World } from '#runtime/world'
import type { BulkWakeLimits } from '#store/bulk-wake'
import type { RetentionLimits } from '#store/retention'

export interface AssemblyOptions {
  readonly world: World
  readonly place: StoragePlace
  /** Where events go; told later, because the server that has the sockets is opened last. */
  readonly publisher: SocketPublisher
  readonly isSynced: boolean
  readonly retention: RetentionLimits
  /** What waits to be stored or to leave, above which more is refused; default: some seconds of a full flood. */
  readonly uncommittedBytesMax?: number
  /** Default: `redoLimits`. */
  readonly redo?: RedoLimits
  /** Default: when a start saves time by it. */
  readonly bulkWake?: BulkWakeLimits
  /** Default: that of the hub. */
  readonly highWaterBytes?: number
  readonly ticketLifetimeMs: number
  /** Event sockets that one user may have open. Default: `defaultSocketsPerUserMax`. */
  readonly socketsPerUserMax?: number | undefined
  /** Default: `defaultMemory`. */
  readonly memory?: { readonly deviceBytesMax: number; readonly tenantBytesMax: number }
  /** How long a device has to answer a write. Default 10 s. */
  readonly writeTimeoutMs?: number
  readonly updates: UpdateSettings
  readonly notifications: NotificationSettings
  /** Absent: IAM is off. Nobody signs in, and no key is asked for; what is stored about identity stays as it is. */
  readonly identity?: IdentitySettings
  readonly log: AssemblyLog
}

/** The part of a log that the server needs. */
export interface AssemblyLog {
  error(fields: object, message: string): void
  warn(fields: object, message: string): void
  info(fields: object, message: string): void
  debug(fields: object, message: string): void
}
