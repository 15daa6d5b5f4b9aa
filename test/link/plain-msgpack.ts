/**
 * An independent msgpack reader, for the types that devices need. Integers of 64 bits become bigint, shorter ones and
 * doubles become numbers, bin becomes bytes.
 * https://github.com/msgpack/msgpack/blob/master/spec.md
 */
export function readMsgpack(data: Uint8Array): unknown {
  const bytes = Buffer.from(data)
  let at = 0
  const take = (count: number) => {
    at += count
    return bytes.subarray(at - count, at)
  }
  const length = (size: 1 | 2 | 4) => take(size).readUIntBE(0, size)
  const text = (count: number) => take(count).toString()
  const list = (count: number): unknown[] => Array.from({ length: count }, value)
  const map = (count: number) => Object.fromEntries(Array.from({ length: count }, () => [value(), value()]))

  const byLead: Readonly<Record<number, () => unknown>> = {
    192: () => null,
    194: () => false,
    195: () => true,
    196: () => Uint8Array.from(take(length(1))),
    197: () => Uint8Array.from(take(length(2))),
    198: () => Uint8Array.from(take(length(4))),
    202: () => take(4).readFloatBE(),
    203: () => take(8).readDoubleBE(),
    204: () => take(1).readUInt8(),
    205: () => take(2).readUInt16BE(),
    206: () => take(4).readUInt32BE(),
    207: () => take(8).readBigUInt64BE(),
    208: () => take(1).readInt8(),
    209: () => take(2).readInt16BE(),
    210: () => take(4).readInt32BE(),
    211: () => take(8).readBigInt64BE(),
    217: () => text(length(1)),
    218: () => text(length(2)),
    219: () => text(length(4)),
    220: () => list(length(2)),
    221: () => list(length(4)),
    222: () => map(length(2)),
    223: () => map(length(4)),
  }

  function value(): unknown {
    const lead = length(1)
    if (lead < 0x80) return lead
    if (lead < 0x90) return map(lead & 0x0f)
    if (lead < 0xa0) return list(lead & 0x0f)
    if (lead < 0xc0) return text(lead & 0x1f)
    if (lead >= 0xe0) return lead - 0x100
    const read = byLead[lead]
    if (!read) throw new Error(`0x${lead.toString(16)} is not supported`)
    return read()
  }

  const read = value()
  if (at !== bytes.byteLength) throw new Error(`${bytes.byteLength - at} bytes too many`)
  return read
}
