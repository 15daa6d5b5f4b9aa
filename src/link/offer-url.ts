import type { ImageUrls } from '#access/image-urls'
import { defaultTenant } from '#actors/tenant/address'
import { publicOriginOf } from '#http/seen'
import type { LinkOpening } from '#link/link'
import type { OfferedFirmware } from '#model/update-offer'
import type { World } from '#runtime/world'

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
