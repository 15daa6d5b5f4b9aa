import type { ImageUrls } from '#access/image-urls'
import { defaultTenant } from '#actors/tenant/address'
import { publicOriginOf } from '#http/forwarded'
import type { Link, LinkedDevice, LinkOpening } from '#link/link'
import type { Owners } from '#link/owners'
import type { Firmware } from '#model/entry'
import type { FirmwareStatusMessage } from '#model/link-message'
import { tenantKey } from '#model/tenant-key'
import type { OfferedFirmware } from '#model/update-offer'
import type { World } from '#runtime/world'

/** Unsent bytes of a link above which nothing is offered on it: half of what costs the link its connection. */
const unsentBytesMax = 512 * 1024

export interface OffersOptions {
  readonly owners: Owners
  readonly urlOf: OfferUrl
}

/** What a device was offered and has not answered. */
interface OpenOffer {
  readonly tenant: string
  readonly device: string
  readonly id: string
  readonly offer: OfferedFirmware
  /** Where it was said, or is about to be. */
  readonly link: Link
}

/**
 * Which firmware is offered on which link. Contract 7, FIRMWARE.
 *
 * Nothing is said again by itself: a device that says HELLO anew is offered it by whoever knows how far it came. What
 * cannot leave yet, because the link has too much unsent, leaves when it has room again.
 */
export class Offers {
  readonly #options: OffersOptions
  /** By link, then by tenant and device: a link that closes asks nobody else. */
  readonly #open = new Map<Link, Map<string, OpenOffer>>()
  /** On which link that of a device is. */
  readonly #links = new Map<string, Link>()
  /** Of links that have too much unsent. */
  readonly #held = new Map<Link, Set<OpenOffer>>()
  /** FIRMWAREs that were said, also those said again. */
  sentCount = 0

  constructor(options: OffersOptions) {
    this.#options = options
  }

  /** Where the device would find it on the link that speaks for it now; undefined when nobody can tell. */
  urlOf(tenant: string, device: string, offer: OfferedFirmware): string | undefined {
    const linked = this.#options.owners.get(tenant, device)
    return linked && this.#options.urlOf(linked.link.opening, device, offer)
  }

  /**
   * Offers a firmware in place of what was offered before. A device that was not told its address yet hears nothing: it is
   * welcomed next, and then it is for the caller to offer it anew. False: no link speaks for it that could say so.
   */
  send(tenant: string, device: string, id: string, offer: OfferedFirmware): boolean {
    this.forget(tenant, device)
    const linked = this.#options.owners.get(tenant, device)
    if (!linked?.link.isOpen) return false
    const { link } = linked
    const open: OpenOffer = { tenant, device, id, offer, link }
    if (!linked.isWelcomed) {
      this.#add(open)
      return true
    }
    if (this.urlOf(tenant, device, offer) === undefined) return false
    this.#add(open)
    if (link.socket.bufferedBytes() <= unsentBytesMax) this.#say(linked, open)
    else addTo(this.#held, link, open)
    return true
  }

  /**
   * Those that were offered on a link, or are about to be, and that nobody would answer if it were gone: not of devices
   * that another link speaks for by now.
   */
  offeredOn(link: Link): readonly { readonly tenant: string; readonly device: string; readonly id: string }[] {
    const { owners } = this.#options
    return [...(this.#open.get(link)?.values() ?? [])].filter(({ tenant, device }) => {
      const speaking = owners.get(tenant, device)?.link
      return speaking === undefined || speaking === link
    })
  }

  /** It was answered, or is not offered any more. */
  forget(tenant: string, device: string): void {
    const key = tenantKey(tenant, device)
    const link = this.#links.get(key)
    if (!link) return
    this.#links.delete(key)
    const open = this.#open.get(link)
    const offer = open?.get(key)
    open?.delete(key)
    if (open?.size === 0) this.#open.delete(link)
    const held = this.#held.get(link)
    if (offer && held?.delete(offer) && held.size === 0) this.#held.delete(link)
  }

  /** A link has room again for what was held back. */
  drained(link: Link): void {
    const held = this.#held.get(link)
    if (!held || !link.isOpen) return
    this.#held.delete(link)
    for (const { tenant, device, id, offer } of held) {
      // One that another link speaks for by now is offered it there.
      if (this.#options.owners.get(tenant, device)?.link === link) this.send(tenant, device, id, offer)
    }
  }

  /** A link is no more. */
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

  /** FIRMWARE, with an absolute `url` of the image. Contract 7. */
  #say({ link, device, flakeAddress }: LinkedDevice, { id, offer }: OpenOffer): void {
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

function addTo(held: Map<Link, Set<OpenOffer>>, link: Link, offer: OpenOffer): void {
  const there = held.get(link)
  if (there) there.add(offer)
  else held.set(link, new Set([offer]))
}

/** Hears what links know of devices as far as it concerns their firmware. */
export interface FirmwareEar {
  /** A device may be spoken to from now on. `said`: the firmwares that its HELLO named; none when it named none. */
  welcomed(linked: LinkedDevice, said: readonly Firmware[]): void
  /** Of the link that speaks for the device now. */
  said(linked: LinkedDevice, message: FirmwareStatusMessage): void
  /** It said BYE, or its link may not speak for it any more. */
  left(linked: LinkedDevice): void
  /** A link is no more, and with it all devices that it spoke for. */
  closed(link: Link): void
}

/** Nobody who updates devices. */
export const unheardFirmware: FirmwareEar = { welcomed() {}, said() {}, left() {}, closed() {} }

/** Where a device finds what it is offered; undefined when no address of ours is known. */
export type OfferUrl = (opening: LinkOpening, device: string, offer: OfferedFirmware) => string | undefined

/** A device may come back to an address for a day: a large image over a poor line, broken off and gone on with. */
export const imageUrlLifetimeMs = 86_400_000

const imagesPath = '/api/v1/updates/images/'

export interface OfferUrlParts {
  readonly world: World
  readonly imageUrls: ImageUrls
  /** Scheme and host, with a path in front of ours if there is one. The first is the one that is told. */
  readonly publicUrls: readonly string[]
}

/**
 * The address of another server as it is. One of ours is made anew each time: the first public URL, or the host that the
 * link came to; the image; and a signature for this device. Contract 6.
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

/** Names repeat across tenants; `default` is left out, as in credentials of links. Contract 7. */
function deviceName(tenant: string, device: string): string {
  return tenant === defaultTenant ? device : `${tenant}/${device}`
}
