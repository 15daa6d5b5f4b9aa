import { RequestEnded } from '#http/body-stream'
import type { World } from '#runtime/world'
import type { SimulatedRequest } from '#test/simulation/simulated-server'

const pieceBytes = 20

/**
 * A body in chunks. It breaks off before the chunk that would go beyond `goneAt` bytes, unless that is the whole
 * length.
 */
export function chunkedBody(bytes: Uint8Array, goneAt: number, world: World): NonNullable<SimulatedRequest['pieces']> {
  async function* pieces(): AsyncGenerator<Uint8Array> {
    for (let at = 0; at < bytes.length; at += pieceBytes) {
      await new Promise<void>((resolve) => world.soon(resolve))
      if (at + pieceBytes > goneAt && goneAt < bytes.length) throw new RequestEnded()
      yield bytes.subarray(at, at + pieceBytes)
    }
  }
  return { lengthBytes: bytes.length, [Symbol.asyncIterator]: pieces }
}
