import type { UpdateServer } from '#firmware/update-server'
import type { BlobStore } from '#runtime/blobs'

/** How devices are updated without anybody asking. Contract 6, Options. */
export interface UpdateOptions {
  /** Not because they come. */
  readonly isConnectUpdateDisabled: boolean
  /** By the hook only those that are held at a version. */
  readonly isHookForPinsOnly: boolean
  /** When all devices are gone through: five or six fields of cron, UTC. */
  readonly autoUpdate: string | undefined
  /** Updates that begin by themselves and have not downloaded yet, at once. */
  readonly underWayMax: number
}

export const defaultUpdateOptions: UpdateOptions = {
  isConnectUpdateDisabled: false,
  isHookForPinsOnly: false,
  autoUpdate: undefined,
  underWayMax: 64,
}

/** What is set about firmware. Whatever is left out is as by default. */
export interface UpdateSettings {
  readonly images: BlobStore
  /** Default: 256 MiB. */
  readonly imageBytesMax?: number
  /** Default: the embedded one. */
  readonly server?: UpdateServer
  readonly options?: Partial<UpdateOptions>
  /** How long a device has to answer an offer. Default 10 s. */
  readonly offerTimeoutMs?: number
  /** By which the update server signs its calls. Default: nobody can. */
  readonly hookSecret?: string
  /** Where devices find images. Default: where their link came to. */
  readonly publicUrls?: readonly string[]
}

export const defaultImageBytesMax = 256 * 1024 * 1024
export const defaultOfferTimeoutMs = 10_000
