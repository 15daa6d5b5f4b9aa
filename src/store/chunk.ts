import type { Entry } from '#model/entry'
import type { Shape } from '#model/shape'
import { StorageFailure } from '#runtime/storage'
import type { Chunk } from '#runtime/stream'
import { packEntry, type ShapePlaces, unpackEntry } from '#store/entry-codec'
import { EntryWriter } from '#store/entry-writer'
import { pack, unpack } from '#store/record-codec'
import type { Shapes } from '#store/shapes'

/**
 * A chunk: consecutive entries of one stream, stored under the first one's offset.
 *
 * | bytes | what |
 * |---|---|
 * | 1 | version of this form |
 * | 8 | time of the commit, Unix ms, float64 |
 * | 8 | bytes of the stream before this chunk since it began, float64: the stream's size is a difference of two |
 * | 4 | number of entries |
 * | … | msgpack: `[ids of shapes, entries]` |
 *
 * The head is fixed so that retention and the index can read it without unpacking the entries.
 */
const version = 1
const headBytes = 21

/** Entries in one chunk: unpacking one is work that can't be interrupted, and takes about a microsecond an entry. */
export const chunkEntriesMax = 512

export interface ChunkHead {
  readonly time: number
  readonly bytesBefore: number
  readonly count: number
}

/** Chunks are packed one after the other: one buffer serves them all. */
const writer = new EntryWriter()

/** `roomFor`: where the chunk is to lie. */
export function packChunk(
  entries: readonly Entry[],
  time: number,
  bytesBefore: number,
  roomFor: (length: number) => Buffer = Buffer.allocUnsafe,
): Uint8Array {
  const shapes: Shape[] = []
  const places: ShapePlaces = {
    placeOf(shape) {
      const place = shapes.indexOf(shape)
      return place >= 0 ? place : shapes.push(shape) - 1
    },
    shapeAt: () => unreachable(),
  }
  writer.clear()
  for (const entry of entries) packEntry(entry, places, writer)
  const ids = pack(shapes.map((shape) => shape.id))
  const head = arrayHead(entries.length)
  const entriesAt = headBytes + 1 + ids.length + head.length
  const bytes = roomFor(entriesAt + writer.length)
  bytes.writeUInt8(version, 0)
  bytes.writeDoubleLE(time, 1)
  bytes.writeDoubleLE(bytesBefore, 9)
  bytes.writeUInt32LE(entries.length, 17)
  bytes.writeUInt8(arrayOfTwo, headBytes)
  bytes.set(ids, headBytes + 1)
  bytes.set(head, headBytes + 1 + ids.length)
  bytes.set(writer.written, entriesAt)
  return bytes
}

/** msgpack. */
const arrayOfTwo = 0x92

function arrayHead(length: number): readonly number[] {
  return length < 0x10 ? [0x90 | length] : [0xdc, length >>> 8, length & 0xff]
}

export function headOf(bytes: Uint8Array): ChunkHead {
  const view = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength)
  if (view.length < headBytes || view.readUInt8(0) !== version) {
    throw new StorageFailure('damaged', `a chunk of the stream has version ${view[0]}; this release knows ${version}`)
  }
  return { time: view.readDoubleLE(1), bytesBefore: view.readDoubleLE(9), count: view.readUInt32LE(17) }
}

export function unpackChunk(firstOffset: number, bytes: Uint8Array, shapes: Shapes): Chunk<Entry> {
  const { count } = headOf(bytes)
  const [ids, packed] = unpack(bytes.subarray(headBytes)) as [string[], Parameters<typeof unpackEntry>[0][]]
  if (packed.length !== count)
    throw new StorageFailure('damaged', `a chunk of the stream holds ${packed.length} of ${count} entries`)
  const known = ids.map((id) => shapes.byId(id))
  const places: ShapePlaces = { placeOf: () => unreachable(), shapeAt: (place) => known[place] ?? unreachable() }
  return { firstOffset, events: packed.map((entry) => unpackEntry(entry, places)) }
}

function unreachable(): never {
  throw new StorageFailure('damaged', 'an entry names a shape that its chunk does not list')
}
