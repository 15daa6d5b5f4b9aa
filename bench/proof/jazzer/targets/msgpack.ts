import { isDeepStrictEqual } from 'node:util'
import { expectThat, type Target } from '#bench/proof/jazzer/target'
import { decodeFrame, encodeFrame, isPlain, withNumbers } from '#link/codec'

export const about = 'MessagePack alone, and what is written of it'

const minusZero = Uint8Array.of(0xcb, 0x80, 0, 0, 0, 0, 0, 0, 0)

export const seeds = [
  { a: [1, -1, 1.5, true, null, 'ä'], b: { c: new Uint8Array([1, 2]) } },
  [2n ** 63n, -(2n ** 62n), 2 ** 40, 'x'.repeat(40)],
  Array.from({ length: 20 }, (_, place) => place * 1_000),
]
  .map((value) => encodeFrame('msgpack', value) as Uint8Array)
  .concat(minusZero)

/** A plain value comes back as it is written again. */
export const fuzz: Target['fuzz'] = (bytes) => {
  let value: unknown
  try {
    value = decodeFrame('msgpack', bytes, true)
  } catch (error) {
    expectThat(error instanceof Error, 'what is no MessagePack is refused in words')
    return 'refused'
  }
  if (!isPlain(value)) return 'refused'
  const plain = withOneZero(withNumbers(value))
  const again = withNumbers(decodeFrame('msgpack', encodeFrame('msgpack', plain) as Uint8Array, true))
  expectThat(isDeepStrictEqual(again, plain), 'what is written is what is read')
  return 'taken'
}

/** −0 is written as the integer 0. In place, as `withNumbers` does it. */
function withOneZero(value: unknown): unknown {
  if (value === 0) return 0
  if (typeof value !== 'object' || value === null || value instanceof Uint8Array) return value
  const inner = value as Record<string, unknown>
  for (const key in inner) {
    const one = withOneZero(inner[key])
    if (!Object.is(one, inner[key])) inner[key] = one
  }
  return value
}
