import type { UpdateServer } from '#firmware/update-server'
import type { BlobStore } from '#runtime/blobs'

/** Options of automatic updates. Contract 6, Options. */
export interface UpdateOptions {
  /** True: a new connection is not a trigger. */
  readonly isConnectUpdateDisabled: boolean
  /** Whether the hook, and scans for rollouts, update pinned devices only. */
  readonly isHookForPinsOnly: boolean
  /** When all devices are checked: a cron pattern of five or six fields, UTC. */
  readonly autoUpdate: string | undefined
  /** Maximum number of automatic updates at the same time that have not finished their download. */
  readonly underWayMax: number
}

export const defaultUpdateOptions: UpdateOptions = {
  isConnectUpdateDisabled: false,
  isHookForPinsOnly: false,
  autoUpdate: undefined,
  underWayMax: 64,
}

/** Firmware settings. Missing settings have their defaults. */
export interface UpdateSettings {
  readonly images: BlobStore
  /** Default: 256 MiB. */
  readonly imageBytesMax?: number
  /** Default: the embedded update server. */
  readonly server?: UpdateServer
  readonly options?: Partial<UpdateOptions>
  /** How long a device has to answer an offer. Default 10 s. */
  readonly offerTimeoutMs?: number
  /** The key with which the update server signs its calls. Default: none, so no call is accepted. */
  readonly hookSecret?: string
  /** The public URLs of images for devices. Default: a URL with the host of the device connection. */
  readonly publicUrls?: readonly string[]
}

export const defaultImageBytesMax = 256 * 1024 * 1024
export const defaultOfferTimeoutMs = 10_000
