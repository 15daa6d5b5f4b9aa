import { isDeepStrictEqual } from 'node:util'
import { Packr } from 'msgpackr'
import { readMsgpack, unreadable } from '#link/msgpack-values'
import { Problem } from '#model/problem'
import { expectThat, type Target } from '#test/attacks/fuzz/target'

/** Reads plain MessagePack, as a device connection does. */

const packr = new Packr({ useRecords: false, variableMapSize: true })
const minusZero = Uint8Array.of(0xcb, 0x80, 0, 0, 0, 0, 0, 0, 0)
/** A named list and a reference to this list, which are the extensions of msgpackr for shared values. */
const shared = Uint8Array.of(0x93, 0xd6, 0x69, 0, 0, 0, 1, 0x91, 1, 0xd6, 0x70, 0, 0, 0, 1)

export const seeds: Uint8Array[] = [
  { type: [1, -1, 1.5, true, null, 'ä'], value: { error: new Uint8Array([1, 2]) }, unknown: { id: 1 } },
  [2n ** 63n, -(2n ** 62n), 2 ** 40, 'x'.repeat(40)],
  Array.from({ length: 20 }, (_, place) => place * 1_000),
]
  .map((value): Uint8Array => packr.pack(value))
  .concat(minusZero, shared)

/** Checks that values survive a round trip. */
export const fuzz: Target['fuzz'] = (bytes) => {
  let value: unknown
  try {
    value = readMsgpack(bytes)
  } catch (error) {
    expectThat(error instanceof Problem, 'invalid MessagePack is refused with a reason')
    return 'refused'
  }
  const plain = withOneZero(value)
  const again = readMsgpack(packr.pack(plain))
  expectThat(isDeepStrictEqual(again, plain), 'written values are read unchanged')
  return 'accepted'
}

/** −0 is written as the integer 0, and unreadable values as null. */
function withOneZero(value: unknown): unknown {
  if (value === 0) return 0
  if (value === unreadable) return null
  if (typeof value !== 'object' || value === null || value instanceof Uint8Array) return value
  const inner = value as Record<string, unknown>
  for (const key in inner) {
    const one = withOneZero(inner[key])
    if (!Object.is(one, inner[key])) inner[key] = one
  }
  return value
}
