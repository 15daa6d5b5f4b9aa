import type { WriteOrder } from '#actors/device/commands'
import { encodeFrame, type LinkProtocol } from '#link/codec'
import { wireValue } from '#link/wire-value'

/** WRITE in one of the two ways of writing messages. The same order gives the same frame each time. Contract 7. */
export function writeFrame(protocol: LinkProtocol, order: WriteOrder, id: string): string | Uint8Array {
  return encodeFrame(protocol, {
    type: 'WRITE',
    flakeAddress: order.flakeAddress,
    id,
    serviceIdentifier: order.service,
    updates: order.updates.map(({ propId, type, value }) => ({ propId, value: wireValue(protocol, type, value) })),
  })
}
