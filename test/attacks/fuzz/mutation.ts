import fc from 'fast-check'
import { anyText } from '#test/kit/any-text'

/** Values that replace others: limits of ranges, wrong types, and dangerous names. */
const edges: readonly unknown[] = [
  ...[null, true, false, 0, -0, 1, -1, 0.5, 255, 256, -129, 65_536, 2 ** 31, 2 ** 32 - 1, 2 ** 32, 2 ** 53, -(2 ** 53)],
  ...[1e21, 1e308, 5e-324, 8_640_000_000_000_001],
  ...[...['', ' ', 'A'.repeat(65)], ...'0 -1 1e3 0x2000 0xg null true * . .. / ../.. %00 %2f'.split(' ')],
  ...[
    '\0',
    '\n',
    '\r\nX-A: b',
    '\u{10ffff}',
    '\ud800',
    '\udfff\ud800',
    'e\u0301',
    '\u202e',
    '\ufeff',
    '\u2028"\\',
    'İ',
    'ſ',
  ],
  ...'constructor toString hasOwnProperty length then __proto__ {{a}} {{{a}}} $(a) <b>'.split(' '),
  "' OR 1=1",
  ...['crn#', 'crn#tenant:', 'crn#user:x', 'crn#function:../x', 'link.v1.json', 'UINT8', 'x'.repeat(5_000)],
  ...[
    [],
    {},
    [[]],
    [null],
    { a: 1 },
    { constructor: { prototype: 1 } },
    { length: 2 ** 32 },
    { toString: null },
    { toJSON: 1 },
  ],
  nested(30),
  Array.from({ length: 300 }, (_, place) => place),
]

function nested(depth: number): unknown {
  return depth === 0 ? 1 : depth % 2 === 0 ? [nested(depth - 1)] : { and: nested(depth - 1) }
}

/** Any JSON value, with a preference for edge cases. */
export const odd: fc.Arbitrary<unknown> = fc.oneof(
  { weight: 4, arbitrary: fc.constantFrom(...edges) },
  { weight: 1, arbitrary: anyText({ maxLength: 20 }) },
  { weight: 1, arbitrary: fc.double({ noNaN: true, noDefaultInfinity: true }) },
  { weight: 1, arbitrary: fc.maxSafeInteger() },
  { weight: 1, arbitrary: fc.jsonValue({ maxDepth: 2 }) },
)

/** Any JSON value as a text, for paths, queries and headers. */
export const oddText: fc.Arbitrary<string> = odd.map((value) =>
  typeof value === 'string' ? value : JSON.stringify(value),
)

interface Change {
  readonly at: number
  readonly how: 'replace' | 'remove' | 'repeat' | 'wrap' | 'add' | 'rename' | 'nudge' | 'move'
  readonly odd: unknown
  readonly name: string
}

/** The value with up to three changes. `other`: values that replace others. */
export function mutated(value: unknown, other = odd): fc.Arbitrary<unknown> {
  const change: fc.Arbitrary<Change> = fc.record({
    at: fc.nat(10_000),
    how: fc.constantFrom('replace', 'replace', 'replace', 'remove', 'repeat', 'wrap', 'add', 'rename', 'nudge', 'move'),
    odd: other,
    name: fc.constantFrom(
      ...['surprise', 'constructor', 'type', 'id', 'value', 'error', 'toString', '', '0', 'deviceIdentifier'],
    ),
  })
  return fc.array(change, { maxLength: 3 }).map((changes) => changes.reduce(changed, value))
}

/** A copy of a JSON value with one changed node. `at` is the number of the node in order, modulo their count. */
function changed(value: unknown, { at, how, odd: other, name }: Change): unknown {
  let left = at % countOf(value)
  return withoutRemoved(walk(value))[0] ?? null

  function walk(node: unknown): unknown {
    if (left-- === 0) return altered(node)
    if (Array.isArray(node)) return node.flatMap((item) => withoutRemoved(walk(item)))
    if (!isObject(node)) return node
    return Object.fromEntries(
      Object.entries(node).flatMap(([key, item]) => {
        const isHere = left === 0
        return withoutRemoved(walk(item)).map((made) => [isHere && how === 'rename' ? name : key, made])
      }),
    )
  }

  function altered(node: unknown): unknown {
    switch (how) {
      case 'remove':
        return removed
      case 'repeat':
        return Array.isArray(node) ? [...node, ...node] : typeof node === 'string' ? node + node : [node, node]
      case 'wrap':
        return [node]
      case 'add':
        if (Array.isArray(node)) return [...node, other]
        return isObject(node) ? { ...node, [name]: other } : other
      case 'nudge':
        return nudged(node, at)
      case 'move':
        return Array.isArray(node) ? node.toReversed() : isObject(node) ? Object.values(node) : other
      case 'rename':
        return node
      default:
        return other
    }
  }
}

/** A similar value. */
function nudged(node: unknown, at: number): unknown {
  if (typeof node === 'number') return at % 2 === 0 ? node + 1 : -node
  if (typeof node === 'boolean') return !node
  if (typeof node !== 'string' || node === '') return node
  const place = at % node.length
  return node.slice(0, place) + String.fromCharCode(node.charCodeAt(place) ^ (1 << (at % 7))) + node.slice(place + 1)
}

const removed = Symbol('removed')

function withoutRemoved(value: unknown): unknown[] {
  return value === removed ? [] : [value]
}

function countOf(value: unknown): number {
  if (Array.isArray(value)) return value.reduce((sum: number, item) => sum + countOf(item), 1)
  return isObject(value) ? Object.values(value).reduce((sum: number, item) => sum + countOf(item), 1) : 1
}

function isObject(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null && !Array.isArray(value) && !(value instanceof Uint8Array)
}

interface Edit {
  readonly at: number
  readonly how: 'change' | 'flip' | 'insert' | 'remove' | 'double' | 'cut'
  readonly byte: number
}

/** Up to this many edits of bytes. */
export function edits(maxLength: number): fc.Arbitrary<readonly Edit[]> {
  return fc.array(
    fc.record({
      at: fc.nat(100_000),
      how: fc.constantFrom('change', 'flip', 'insert', 'remove', 'double', 'cut'),
      byte: fc.oneof(
        fc.nat(255),
        // These bytes have a meaning in JSON or in MessagePack, also in its extensions for shared values.
        fc.constantFrom(
          ...[0, 0x22, 0x2c, 0x5b, 0x5c, 0x7b, 0x7d, 0xc0, 0xc1, 0xc7, 0xd4, 0xd6, 0x69, 0x70, 0xdd, 0xdf, 0xff],
        ),
      ),
    }),
    { maxLength },
  )
}

export function edited(bytes: Uint8Array, all: readonly Edit[]): Buffer {
  return all.reduce((before: Buffer, { at, how, byte }) => {
    const place = at % Math.max(before.length, 1)
    const [front, back] = [before.subarray(0, place), before.subarray(place)]
    switch (how) {
      case 'change':
        return Buffer.concat([front, Buffer.of(byte), back.subarray(1)])
      case 'flip':
        return Buffer.concat([front, Buffer.of((back[0] ?? 0) ^ (1 << (byte % 8))), back.subarray(1)])
      case 'insert':
        return Buffer.concat([front, Buffer.of(byte), back])
      case 'remove':
        return Buffer.concat([front, back.subarray(1 + (byte % 4))])
      case 'double':
        return Buffer.concat([front, back.subarray(0, byte), back])
      default:
        return front
    }
  }, Buffer.from(bytes))
}
