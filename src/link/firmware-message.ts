import { encodeFrame, integerFor, type LinkProtocol } from '#link/codec'
import type { OfferedFirmware } from '#model/update-offer'

/** FIRMWARE in one of the two ways of writing messages: a firmware is offered, with an absolute `url` of its image. Contract 7. */
export function firmwareFrame(
  protocol: LinkProtocol,
  flakeAddress: number,
  id: string,
  { firmware, hardware, index, sha256, size }: OfferedFirmware,
  url: string,
): string | Uint8Array {
  return encodeFrame(protocol, {
    type: 'FIRMWARE',
    flakeAddress,
    id,
    firmware,
    ...(hardware !== undefined && { hardware }),
    index,
    url,
    sha256,
    size: integerFor(protocol, size),
  })
}
