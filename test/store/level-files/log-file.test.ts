import fc from 'fast-check'
import { expect, test } from 'vitest'
import { maskedCrc32c } from '#store/level-files/crc32c'
import { logOf, readLog } from '#store/level-files/log-file'
import { forAll } from '#test/kit/for-all'

/** LevelDB's `doc/log_format.md`: blocks of 32 KiB, heads of 7 bytes; the end of a block that has no room for a head is zeros. */
const blockBytes = 32 * 1024
const headBytes = 7

interface Written {
  readonly begin: number
  readonly end: number
  readonly content: Buffer
}

function writeLog(contents: readonly Buffer[]): { readonly bytes: Buffer; readonly written: readonly Written[] } {
  const parts: Buffer[] = []
  const written: Written[] = []
  let at = 0
  const add = (part: Buffer) => {
    parts.push(part)
    at += part.length
  }
  for (const content of contents) {
    let begin: number | undefined
    let isFirst = true
    for (let from = 0; ; isFirst = false) {
      let left = blockBytes - (at % blockBytes)
      if (left < headBytes) {
        add(Buffer.alloc(left))
        left = blockBytes
      }
      begin ??= at
      const own = content.subarray(from, from + left - headBytes)
      const isLast = from + own.length === content.length
      const head = Buffer.alloc(headBytes)
      head.writeUInt16LE(own.length, 4)
      head.writeUInt8(isFirst ? (isLast ? 1 : 2) : isLast ? 4 : 3, 6)
      head.writeUInt32LE(maskedCrc32c(Buffer.concat([head.subarray(6), own])), 0)
      add(Buffer.concat([head, own]))
      from += own.length
      if (isLast) break
    }
    written.push({ begin: begin as number, end: at, content })
  }
  return { bytes: Buffer.concat(parts), written }
}

/** Small records, records that end near the end of a block, and records over several blocks. */
const length = fc.oneof(
  fc.integer({ min: 0, max: 60 }),
  fc.integer({ min: blockBytes - 80, max: blockBytes + 20 }),
  fc.integer({ min: 0, max: 3 * blockBytes }),
)
const contentOf = (bytes: number, seed: number) =>
  Buffer.from(Uint8Array.from({ length: bytes }, (_, at) => (at * 131 + (at >> 7) + seed * 17 + 1) & 0xff))
const log = fc.array(length, { minLength: 1, maxLength: 5 }).map((lengths) => writeLog(lengths.map(contentOf)))
/** A byte of the log, mostly near the beginning or end of a record or block. */
const place = fc.record({
  near: fc.constantFrom('record', 'block', 'anywhere' as const),
  pick: fc.nat(),
  by: fc.integer({ min: -9, max: 9 }),
})

function placeIn(
  { bytes, written }: ReturnType<typeof writeLog>,
  { near, pick, by }: { readonly near: string; readonly pick: number; readonly by: number },
): number {
  const edges = written.flatMap(({ begin, end }) => [begin, end])
  const blocks = Math.ceil(bytes.length / blockBytes)
  const base =
    near === 'record' ? (edges[pick % edges.length] as number) : near === 'block' ? (pick % blocks) * blockBytes : pick
  return Math.min(Math.max(base + (near === 'anywhere' ? 0 : by), 0) % (bytes.length + 1), bytes.length)
}

test('a log reads back as written', () => {
  forAll([log], ({ bytes, written }) => {
    const read = readLog(bytes)
    expect({ ...read, records: read.records.length }).toEqual({
      records: written.length,
      ends: written.map(({ end }) => end),
    })
    for (const [at, { content }] of written.entries()) expect(content.equals(read.records[at] as Buffer)).toBe(true)
  })
})

test('a log that is cut off reads up to the cut, and the incomplete record is torn', () => {
  forAll([log, place], 120, (made, where) => {
    const at = placeIn(made, where)
    const read = readLog(made.bytes.subarray(0, at))
    const whole = made.written.filter(({ end }) => end <= at)
    const torn = made.written.find(({ begin, end }) => begin < at && end > at)
    expect(read.records).toHaveLength(whole.length)
    expect(read.damagedAt).toBeUndefined()
    expect(read.tornAt).toBe(torn?.begin)
  })
})

test('a flipped bit is damage if a whole record follows, otherwise its record is torn from its beginning', () => {
  forAll([log, place, fc.nat({ max: 7 })], 120, (made, where, bit) => {
    const at = placeIn(made, where)
    const hit = made.written.find(({ begin, end }) => begin <= at && at < end)
    if (!hit) return
    const bytes = Buffer.from(made.bytes)
    bytes[at] = (bytes[at] as number) ^ (1 << bit)
    const { records, tornAt, damagedAt } = readLog(bytes)
    expect(records).toHaveLength(made.written.indexOf(hit))
    const last = made.written.at(-1)
    if (hit === last) expect([tornAt, damagedAt]).toEqual([hit.begin, undefined])
    else {
      expect(tornAt).toBeUndefined()
      expect(damagedAt).toBeGreaterThanOrEqual(hit.begin)
      expect(damagedAt).toBeLessThanOrEqual(at)
    }
  })
})

test.each<[string, (bytes: Buffer) => Buffer, object]>([
  ['a record without its end before a whole one', (bytes) => cut(bytes, blockBytes, 80_021), { damagedAt: 0 }],
  ['its first block missing', (bytes) => bytes.subarray(blockBytes), { damagedAt: 0 }],
])('a log with %s is damaged', (_, change, expected) => {
  const { bytes, written } = writeLog([contentOf(80_000, 1), contentOf(10, 2), contentOf(10, 3)])
  expect(written.map(({ begin, end }) => [begin, end])).toEqual([
    [0, 80_021],
    [80_021, 80_038],
    [80_038, 80_055],
  ])
  const { records, tornAt, damagedAt } = readLog(change(bytes))
  expect(records).toEqual([])
  expect({ tornAt, damagedAt }).toMatchObject(expected)
})

test.each([1, 2, 3, 4, 5, 6])('a log cut off in a record that would end %i bytes before its block is torn', (left) => {
  const { bytes } = writeLog([contentOf(10, 1), contentOf(blockBytes - 17 - headBytes - left, 2), contentOf(10, 3)])
  expect(readLog(bytes.subarray(0, 100))).toMatchObject({ tornAt: 17, isCutOff: true })
})

test('the content of a torn record is never read as a record', () => {
  const alike = logOf(contentOf(50, 7))
  const { bytes } = writeLog([contentOf(10, 1), Buffer.concat([contentOf(20, 2), alike, alike, contentOf(20, 3)])])
  const ends = Array.from({ length: bytes.length - 18 }, (_, gone) => 18 + gone)
  for (const end of ends) expect(readLog(bytes.subarray(0, end))).toMatchObject({ tornAt: 17, isCutOff: true })
})

test('a log of one record reads as one record', () => {
  expect(readLog(logOf(contentOf(50, 1)))).toEqual({ records: [contentOf(50, 1)], ends: [57] })
})

function cut(bytes: Buffer, from: number, to: number): Buffer {
  return Buffer.concat([bytes.subarray(0, from), bytes.subarray(to)])
}
