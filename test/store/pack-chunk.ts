import type { Entry } from '#model/entry'
import { ChunkPacker } from '#store/chunk'

/** A chunk, as a commit at `time` stores it. */
export function packChunk(entries: readonly Entry[], time: number, bytesBefore: number): Uint8Array {
  const packer = new ChunkPacker(() => {})
  packer.add(entries)
  const [chunk, ...others] = packer.chunks(time, bytesBefore, 1, (_, length) => Buffer.allocUnsafe(length))
  if (!chunk || others.length > 0) throw new Error(`${entries.length} entries are not one chunk`)
  return chunk.bytes
}
