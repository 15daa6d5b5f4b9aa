import type { ImageUrls } from '#access/signed-urls'
import { defaultTenant } from '#actors/tenant/state'
import { publicOriginOf } from '#http/origins'
import type { DeviceLinks } from '#link/device-links'
import type { Link, LinkedDevice, LinkOpening } from '#link/link'
import type { Firmware } from '#model/entry'
import type { FirmwareStatusMessage } from '#model/link-message'
import { tenantKey } from '#model/tenant'
import type { OfferedFirmware } from '#model/update-offer'
import type { World } from '#runtime/world'

/** No firmware is offered on a link with more unsent bytes: half of the limit that closes the link. */
const unsentBytesMax = 512 * 1024

export interface OffersOptions {
  readonly deviceLinks: DeviceLinks
  readonly urlOf: OfferUrl
}

/** An offer that the device has not answered. */
interface OpenOffer {
  readonly tenant: string
  readonly device: string
  readonly id: string
  readonly offer: OfferedFirmware
  /** The link that the offer was or will be sent on. */
  readonly link: Link
  /** Whether the offer waits until the unsent bytes of the link are sent. */
  readonly isWaiting: boolean
}

/**
 * Open firmware offers by link. Contract 7, FIRMWARE.
 *
 * An offer is not repeated automatically: after another HELLO, the caller of `send` offers it again. If a link has too
 * many unsent bytes, the offer waits until they are sent.
 */
export class Offers {
  readonly #options: OffersOptions
  /** By link, then by tenant and device, so that closing a link is cheap. */
  readonly #open = new Map<Link, Map<string, OpenOffer>>()
  /** The link of the open offer of each device. */
  readonly #links = new Map<string, Link>()
  /** FIRMWARE messages sent, including repeated ones. */
  sentCount = 0

  constructor(options: OffersOptions) {
    this.#options = options
  }

  /**
   * The image URL for a device on its present link; undefined if the device is offline or the server's address is
   * unknown.
   */
  urlOf(tenant: string, device: string, offer: OfferedFirmware): string | undefined {
    const linked = this.#options.deviceLinks.get(tenant, device)
    return linked && this.#options.urlOf(linked.link.opening, device, offer)
  }

  /**
   * Offers firmware, and replaces an earlier offer. A device without WELCOME gets nothing yet: the caller offers again
   * after WELCOME. Returns false if no link can deliver the offer.
   */
  send(tenant: string, device: string, id: string, offer: OfferedFirmware): boolean {
    this.forget(tenant, device)
    const linked = this.#options.deviceLinks.get(tenant, device)
    if (!linked?.link.isOpen) return false
    const { link } = linked
    const { isWelcomed } = linked
    if (isWelcomed && this.urlOf(tenant, device, offer) === undefined) return false
    const isWaiting = isWelcomed && link.socket.bufferedBytes() > unsentBytesMax
    const open: OpenOffer = { tenant, device, id, offer, link, isWaiting }
    this.#add(open)
    if (isWelcomed && !isWaiting) this.#sendOffer(linked, open)
    return true
  }

  /** Offers that would be lost with this link. Excludes devices that are on another link by now. */
  offeredOn(link: Link): readonly { readonly tenant: string; readonly device: string; readonly id: string }[] {
    const { deviceLinks } = this.#options
    return [...(this.#open.get(link)?.values() ?? [])].filter(({ tenant, device }) => {
      const current = deviceLinks.get(tenant, device)?.link
      return current === undefined || current === link
    })
  }

  /** The offer was answered or withdrawn. */
  forget(tenant: string, device: string): void {
    const key = tenantKey(tenant, device)
    const link = this.#links.get(key)
    if (!link) return
    this.#links.delete(key)
    const open = this.#open.get(link)
    open?.delete(key)
    if (open?.size === 0) this.#open.delete(link)
  }

  /** The unsent bytes of a link were sent. */
  drained(link: Link): void {
    if (!link.isOpen) return
    const waiting = [...(this.#open.get(link)?.values() ?? [])].filter(({ isWaiting }) => isWaiting)
    for (const { tenant, device, id, offer } of waiting) {
      // A device that is on another link by now gets its offer there.
      if (this.#options.deviceLinks.get(tenant, device)?.link === link) this.send(tenant, device, id, offer)
    }
  }

  closed(link: Link): void {
    for (const { tenant, device } of [...(this.#open.get(link)?.values() ?? [])]) this.forget(tenant, device)
  }

  #add(open: OpenOffer): void {
    const key = tenantKey(open.tenant, open.device)
    this.#links.set(key, open.link)
    const offers = this.#open.get(open.link)
    if (offers) offers.set(key, open)
    else this.#open.set(open.link, new Map([[key, open]]))
  }

  /** Sends FIRMWARE, with an absolute `url` of the image. Contract 7. */
  #sendOffer({ link, device, flakeAddress }: LinkedDevice, { id, offer }: OpenOffer): void {
    const url = this.#options.urlOf(link.opening, device, offer)
    if (url === undefined) return
    this.sentCount++
    const { firmware, hardware, index, sha256, size } = offer
    link.send({
      type: 'FIRMWARE',
      flakeAddress,
      id,
      firmware,
      ...(hardware !== undefined && { hardware }),
      index,
      url,
      sha256,
      size,
    })
  }
}

/** Receives events of links that concern firmware. */
export interface FirmwareListener {
  /** The device may receive messages from now on. `firmwares`: those in its HELLO, or none. */
  welcomed(linked: LinkedDevice, firmwares: readonly Firmware[]): void
  /** Called only for the link that the device is on. */
  statusReceived(linked: LinkedDevice, message: FirmwareStatusMessage): void
  /** The device sent BYE, or its link is no longer permitted to carry it. */
  left(linked: LinkedDevice): void
  /** A link closed, with all its devices. */
  closed(link: Link): void
}

export const noopFirmwareListener: FirmwareListener = { welcomed() {}, statusReceived() {}, left() {}, closed() {} }

/** Returns the image URL of an offer; undefined if the server's own address is unknown. */
export type OfferUrl = (opening: LinkOpening, device: string, offer: OfferedFirmware) => string | undefined

/** A URL is valid for a day, so that a device can resume the download of a large image on a slow network. */
export const imageUrlLifetimeMs = 86_400_000

const imagesPath = '/api/v1/updates/images/'

export interface OfferUrlParts {
  readonly world: World
  readonly imageUrls: ImageUrls
  /** Scheme and host, possibly with a path. The first URL is sent to devices. */
  readonly publicUrls: readonly string[]
}

/**
 * Returns the URL of an image on another server unchanged. A URL on this server is signed for the device, and begins
 * with the first public URL or with the host of the link. Contract 6.
 */
export function offerUrl({ world, imageUrls, publicUrls }: OfferUrlParts): OfferUrl {
  const publicOrigin = publicUrls.flatMap(publicOriginOf)[0]
  return ({ tenant, origin }, device, { url, sha256 }) => {
    if (url !== null) return url
    const from = publicOrigin ?? origin
    if (from === '') return undefined
    const query = imageUrls.queryOf(sha256, deviceName(tenant, device), world.now() + imageUrlLifetimeMs)
    return `${from}${imagesPath}${sha256}?${query}`
  }
}

/** Device names repeat across tenants. The tenant `default` is omitted, as in credentials of links. Contract 7. */
function deviceName(tenant: string, device: string): string {
  return tenant === defaultTenant ? device : `${tenant}/${device}`
}
