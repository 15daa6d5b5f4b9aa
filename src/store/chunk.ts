import type { Entry } from '#model/entry'
import type { Shape } from '#model/shape'
import type { Chunk, EventPacker } from '#runtime/journal'
import { StorageFailure } from '#runtime/storage'
import {
  EntryReader,
  EntryWriter,
  type KnownDevice,
  packEntry,
  type ReportSearch,
  readEntry,
  type ShapePlaces,
  skipEntry,
} from '#store/entry-codec'
import { pack } from '#store/record-codec'

/**
 * A chunk: consecutive entries of one stream, stored under the offset of the first one.
 *
 * | bytes | content |
 * |---|---|
 * | 1 | version of this format |
 * | 8 | time of the commit, Unix ms, float64 |
 * | 8 | bytes of all earlier chunks of the stream, float64; the size of a stream is a difference of such numbers |
 * | 4 | number of entries |
 * | … | msgpack: `[ids of shapes, entries]` |
 *
 * The head has a fixed form, so that it can be read without unpacking the entries.
 */

const version = 1
const headBytes = 21

/**
 * The limit of entries in one chunk: unpacking a chunk can't be interrupted, and takes about a microsecond for each
 * entry.
 */
export const chunkEntriesMax = 512
/**
 * A chunk ends with the entry that reaches this many bytes. Unpacking large values takes some milliseconds, and up to
 * eight times as much memory.
 */
export const chunkBytesMax = 256 * 1024

export interface ChunkHead {
  readonly time: number
  readonly bytesBefore: number
  readonly count: number
}

/** The entries of one chunk. Their bytes are in the buffer of the packer. */
class PackedEntries implements ShapePlaces {
  readonly startsAt: number
  readonly shapes: Shape[] = []
  readonly #shapeNamed: (id: string) => void
  count = 0

  constructor(startsAt: number, shapeNamed: (id: string) => void) {
    this.startsAt = startsAt
    this.#shapeNamed = shapeNamed
  }

  placeOf(shape: Shape): number {
    const place = this.shapes.indexOf(shape)
    if (place >= 0) return place
    this.#shapeNamed(shape.id)
    return this.shapes.push(shape) - 1
  }

  shapeAt(): never {
    return unreachable()
  }
}

/** Most streams have few entries waiting, and there may be thousands of streams. */
const initialPackerBytes = 4 * 1024
const packerBytesKeptMax = 1024 * 1024

/**
 * Packs the entries that one commit appends to a stream, in chunks within `chunkEntriesMax` and about `chunkBytesMax`.
 */
export class ChunkPacker implements EventPacker<Entry> {
  readonly #writer = new EntryWriter(packerBytesKeptMax, initialPackerBytes)
  readonly #shapeNamed: (id: string) => void
  #chunks: PackedEntries[] = []

  /** `shapeNamed` is called with the id of each shape that a chunk names. */
  constructor(shapeNamed: (id: string) => void) {
    this.#shapeNamed = shapeNamed
  }

  clear(): void {
    this.#writer.clear()
    this.#chunks = []
  }

  add(entries: readonly Entry[]): void {
    const { length } = this.#writer
    const chunkCount = this.#chunks.length
    const last = this.#chunks.at(-1)
    const count = last?.count ?? 0
    const shapeCount = last?.shapes.length ?? 0
    try {
      for (let index = 0; index < entries.length; index++) this.#addOne(entries[index] as Entry)
    } catch (error) {
      this.#writer.cut(length)
      this.#chunks.length = chunkCount
      if (last) {
        last.count = count
        last.shapes.length = shapeCount
      }
      throw error
    }
  }

  /** The stored bytes, chunk by chunk, each written into the buffer that `roomFor` returns. */
  *chunks(
    time: number,
    bytesBefore: number,
    firstOffset: number,
    roomFor: (firstOffset: number, length: number) => Buffer,
  ): Iterable<{ readonly firstOffset: number; readonly count: number; readonly bytes: Uint8Array }> {
    const { written } = this.#writer
    for (const [index, { startsAt, shapes, count }] of this.#chunks.entries()) {
      const entries = written.subarray(startsAt, this.#chunks[index + 1]?.startsAt)
      const ids = pack(shapes.map((shape) => shape.id))
      const head = arrayHead(count)
      const entriesAt = headBytes + 1 + ids.length + head.length
      const bytes = roomFor(firstOffset, entriesAt + entries.length)
      bytes.writeUInt8(version, 0)
      bytes.writeDoubleLE(time, 1)
      bytes.writeDoubleLE(bytesBefore, 9)
      bytes.writeUInt32LE(count, 17)
      bytes.writeUInt8(arrayOfTwo, headBytes)
      bytes.set(ids, headBytes + 1)
      bytes.set(head, headBytes + 1 + ids.length)
      bytes.set(entries, entriesAt)
      yield { firstOffset, count, bytes }
      firstOffset += count
      bytesBefore += bytes.length
    }
  }

  #addOne(entry: Entry): void {
    let chunk = this.#chunks.at(-1)
    if (!chunk || chunk.count === chunkEntriesMax || this.#writer.length - chunk.startsAt >= chunkBytesMax) {
      chunk = new PackedEntries(this.#writer.length, this.#shapeNamed)
      this.#chunks.push(chunk)
    }
    packEntry(entry, chunk, this.#writer)
    chunk.count++
  }
}

/** msgpack: an array of two elements. */
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

/** Finds the shapes that a chunk names. */
export interface ShapesById {
  byId(id: string): Shape
}

/**
 * Reads a chunk with `read`, which gets the ids of its shapes and reads `count` entries.
 * @throws Error if the chunk is damaged; errors of `read`
 */
export function readChunk<Value extends object | number>(
  reader: EntryReader,
  bytes: Uint8Array,
  read: (shapeIds: readonly string[], count: number) => Value,
): Value {
  const { count } = headOf(bytes)
  const value = reader.whole(bytes.subarray(headBytes), () => {
    const ids = readIds(reader)
    return reader.array() === count ? read(ids, count) : undefined
  })
  return value ?? unreadable()
}

/** Not a `StorageFailure`, so that a projection leaves out this chunk alone. */
function unreadable(): never {
  throw new Error('a chunk of the stream cannot be read')
}

/** The reader of all functions here but `replayChunk`: they read one chunk at a time. */
const reader = new EntryReader()

export function unpackChunk(firstOffset: number, bytes: Uint8Array, shapes: ShapesById): Chunk<Entry> {
  const events = readChunk(reader, bytes, (ids, count) => {
    const places = placesIn(ids, shapes)
    const read: Entry[] = []
    while (read.length < count) read.push(readEntry(reader, places))
    return read
  })
  return { firstOffset, events }
}

/** Receives the entries of a chunk that is applied again. */
export interface Replay<Known extends KnownDevice> {
  /** Finds a device by the hash of its name. Without `find`, `entry` gets the reports too. */
  find?: ((nameHash: number) => Known | undefined) | undefined
  /** A report that was not applied to the found device yet. */
  report(known: Known, entry: Entry, offset: number): void
  /** Any other entry. */
  entry(entry: Entry, offset: number): void
}

/** A separate reader: a callback for an entry may have to unpack another chunk. */
const replayReader = new EntryReader()

/**
 * Goes through the entries of a chunk from an offset on, in order. With `find`, it leaves out reports that were already
 * applied to their device. Returns the number of entries in the chunk. It may go through a part of a damaged chunk
 * before it throws.
 */
export function replayChunk<Known extends KnownDevice>(
  firstOffset: number,
  bytes: Uint8Array,
  shapes: ShapesById,
  from: number,
  replay: Replay<Known>,
): number {
  const reader = replayReader
  return readChunk(reader, bytes, (ids, count) => {
    const places = placesIn(ids, shapes)
    const search = replay.find && { find: replay.find, shapeAt: places.shapeAt }
    for (let offset = firstOffset; offset < firstOffset + count; offset++) {
      if (offset < from) reader.pass(1)
      else replayNext(reader, offset, places, search, replay)
    }
    return count
  })
}

function replayNext<Known extends KnownDevice>(
  reader: EntryReader,
  offset: number,
  places: ShapePlaces,
  search: ReportSearch<Known> | undefined,
  replay: Replay<Known>,
): void {
  const found = search && reader.readKnownReport(offset, search)
  if (!found) replay.entry(readEntry(reader, places), offset)
  else if (found.entry) replay.report(found.known, found.entry, offset)
}

/**
 * Calls `add` for each entry, with a hash of the name of its device, service, alarm or user, without unpacking the
 * chunk. For a damaged chunk it may skip some: the code that unpacks the chunk reports the damage.
 */
export function hashNames(bytes: Uint8Array, add: (hash: number) => void): void {
  reader.whole(bytes.subarray(headBytes), () => {
    reader.pass(reader.array() === 2 ? 1 : 0)
    for (let left = reader.array(); left > 0; left--) add(skipEntry(reader))
    return true
  })
}

/** The ids of the shapes that a chunk names. */
export function shapeIdsOf(bytes: Uint8Array): readonly string[] {
  let ids: readonly string[] | undefined
  reader.whole(bytes.subarray(headBytes), () => {
    ids = readIds(reader)
  })
  return ids ?? unreadable()
}

function readIds(reader: EntryReader): string[] {
  const ids: string[] = []
  for (let left = reader.array() === 2 ? reader.array() : 0; left > 0; left--) ids.push(reader.text())
  return ids
}

function placesIn(ids: readonly string[], shapes: ShapesById): ShapePlaces {
  const known = ids.map((id) => shapes.byId(id))
  return { placeOf: () => unreachable(), shapeAt: (place) => known[place] ?? unreachable() }
}

function unreachable(): never {
  throw new StorageFailure('damaged', 'an entry names a shape that its chunk does not list')
}
