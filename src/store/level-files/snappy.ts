import { BadBytes, ByteCursor } from '#store/level-files/byte-cursor'

/** Unpacks a block that was packed with Snappy (its format description of 2011). @throws BadBytes */
export function unsnappy(packed: Uint8Array, bytesMax: number): Buffer {
  const cursor = new ByteCursor(packed)
  const size = cursor.varint()
  if (size > bytesMax) throw new BadBytes(`a block of ${size} bytes`)
  const out = Buffer.allocUnsafe(size)
  let at = 0
  while (cursor.left > 0) {
    const tag = cursor.byte()
    if ((tag & 3) === 0) {
      const literal = cursor.take(literalLength(tag >>> 2, cursor))
      if (at + literal.length > size) throw new BadBytes('a block is longer than it says')
      out.set(literal, at)
      at += literal.length
    } else {
      const { length, back } = copyOf(tag, cursor)
      if (back === 0 || back > at || at + length > size) throw new BadBytes('a block refers to what it does not hold')
      // Byte by byte: it may repeat what it is just writing.
      for (let left = length; left > 0; left--, at++) out[at] = out[at - back] as number
    }
  }
  if (at !== size) throw new BadBytes('a block is shorter than it says')
  return out
}

function literalLength(code: number, cursor: ByteCursor): number {
  return code < 60 ? code + 1 : cursor.take(code - 59).readUIntLE(0, code - 59) + 1
}

function copyOf(tag: number, cursor: ByteCursor): { readonly length: number; readonly back: number } {
  if ((tag & 3) === 1) return { length: ((tag >>> 2) & 7) + 4, back: ((tag >>> 5) << 8) | cursor.byte() }
  const length = (tag >>> 2) + 1
  return { length, back: (tag & 3) === 2 ? cursor.take(2).readUInt16LE(0) : cursor.uint32() }
}
