import type { Row } from '#runtime/storage'
import { headOf } from '#store/chunk'
import { addressOf, keySpace, keys, numberOf } from '#store/keys'
import { packRecord, unpack } from '#store/record-codec'
import { type Loss, type LostRow, offsetIn } from '#store/repair/salvage'
import { redoFormat, wholeFormat } from '#store/store-journal'

/** A tenant's stream, as a repair leaves it. */
export interface MendedStream {
  readonly tenant: string
  /** Entries that are not there, first and last offset of each gap. */
  readonly gaps: readonly (readonly [from: number, to: number])[]
  /** The next entry gets this offset, and no position before it is recovered. */
  readonly wholeFrom: number
}

/** What had to be given up though it was read: it names a declaration that is lost. */
export interface GivenUp {
  readonly devices: readonly { readonly tenant: string; readonly device: string }[]
  readonly chunks: number
}

/** Of a tenant; see `actors/tenant/state.ts`. */
interface Counters {
  readonly lastFlakeAddress: number
  readonly devices: number
}

interface StreamSeen {
  redoFrom: number | undefined
  /** Of the chunks that are there, first offsets and how many entries follow. */
  readonly chunks: { readonly from: number; readonly count: number }[]
  /** The last offset that anything speaks of. */
  last: number
}

/**
 * Offsets, and addresses of devices, that may have been given to what nothing is left of: more than two full logs of 16 MiB
 * hold.
 */
const leftOut = 1_000_000
const uint32Max = 2 ** 32 - 1
/** Entries in a chunk at most; how many a lost one had nobody knows. */
const chunkEntriesMax = 512

/**
 * Looks at what was salvaged, row by row in the order of keys, and says at the end what has to be written beside it for the
 * whole to be a database: where each stream is whole from, and that no epoch is known, so that nobody resumes over what is
 * missing; addresses of devices that were never given.
 */
export class Mender {
  readonly #streams = new Map<string, StreamSeen>()
  readonly #shapes = new Set<string>()
  readonly #flakes = new Map<string, { last: number; devices: number }>()
  readonly #counters = new Map<string, Counters>()
  readonly #givenUp: { tenant: string; device: string }[] = []
  #chunksGivenUp = 0
  #hasFormat = false

  /** First of all rows; the others are looked at with all of them known. */
  knowShape(key: string): void {
    this.#shapes.add(key.slice('shape/'.length))
  }

  /** Whether it stays. */
  look({ key, value }: Row): boolean {
    const [place = ''] = key.split('/', 1)
    switch (place) {
      case 'format':
        this.#hasFormat = true
        return true
      case 'epoch': {
        // None is known any more; how far its streams had come is.
        const { heads } = stored(value) as { heads: Readonly<Record<string, number>> }
        for (const [tenant, head] of Object.entries(heads)) this.#seen(this.#stream(tenant), head)
        return false
      }
      case 'whole':
        this.#seen(this.#stream(key.slice('whole/'.length)), (stored(value) as number) - 1)
        return false
      case 'redo': {
        const stream = this.#stream(key.slice('redo/'.length))
        stream.redoFrom = stored(value) as number
        this.#seen(stream, stream.redoFrom - 1)
        return true
      }
      case 'stream':
        return this.#chunk(key, value)
      case 'actor':
        return this.#snapshot(key, value)
      case 'part':
        if (!/^part\/tenant\/[^/]+\/[^/]+\/counters$/.test(key)) return true
        this.#counters.set(addressOf(key).tenant, stored(value) as Counters)
        return false
      default:
        return true
    }
  }

  /** What may have been given to entries that are lost. */
  lost({ from = '', upTo = '', behind = [] }: Loss): void {
    for (const { key, entries = chunkEntriesMax } of [{ key: from } as LostRow, { key: upTo }, ...behind]) {
      const offset = offsetIn(key)
      if (offset !== undefined) this.#seen(this.#stream(key.split('/', 2)[1] ?? ''), offset + entries - 1)
    }
  }

  end(): { readonly rows: readonly Row[]; readonly streams: readonly MendedStream[]; readonly givenUp: GivenUp } {
    const rows: Row[] = []
    if (!this.#hasFormat) rows.push({ key: keys.format, value: packRecord(keySpace, null) })
    const streams = [...this.#streams].map(([tenant, seen]) => mended(tenant, seen))
    for (const { tenant, wholeFrom } of streams) {
      rows.push({ key: keys.whole(tenant), value: packRecord(wholeFormat, wholeFrom) })
      const { redoFrom, chunks } = this.#stream(tenant)
      // Without it the tenant would have no stream. All that is there is applied again: snapshots know what they hold.
      if (redoFrom === undefined)
        rows.push({ key: keys.redo(tenant), value: packRecord(redoFormat, chunks[0]?.from ?? wholeFrom) })
    }
    for (const tenant of new Set([...this.#flakes.keys(), ...this.#counters.keys()])) {
      const found = this.#flakes.get(tenant) ?? { last: 0, devices: 0 }
      const { lastFlakeAddress = 0, devices = found.devices } = this.#counters.get(tenant) ?? {}
      const last = Math.min(uint32Max, Math.max(lastFlakeAddress, found.last) + leftOut)
      const counters: Counters = { lastFlakeAddress: last, devices }
      const address = { kind: 'tenant', tenant, id: tenant }
      rows.push({ key: keys.part(address, 'counters'), value: packRecord(countersFormat, counters) })
    }
    return { rows, streams, givenUp: { devices: this.#givenUp, chunks: this.#chunksGivenUp } }
  }

  #chunk(key: string, value: Uint8Array): boolean {
    const stream = this.#stream(key.split('/', 2)[1] ?? '')
    const from = numberOf(key)
    const { count } = headOf(value)
    this.#seen(stream, from + count - 1)
    const [ids] = unpack(value.subarray(chunkHeadBytes)) as [readonly string[]]
    if (!ids.every((id) => this.#shapes.has(id))) {
      this.#chunksGivenUp++
      return false
    }
    stream.chunks.push({ from, count })
    return true
  }

  /** Of a device; other actors have none so far, and what we do not know stays. */
  #snapshot(key: string, value: Uint8Array): boolean {
    const { kind, tenant, id } = addressOf(key)
    const { offset, state } = stored(value) as { offset: number; state: unknown }
    this.#seen(this.#stream(tenant), offset)
    if (kind !== 'device' || !Array.isArray(state)) return true
    const flakes = this.#flakes.get(tenant) ?? { last: 0, devices: 0 }
    this.#flakes.set(tenant, { last: Math.max(flakes.last, state[flakeField] as number), devices: flakes.devices + 1 })
    const services = state[servicesField] as readonly (readonly [shape: string])[]
    if (services.every(([shape]) => this.#shapes.has(shape))) return true
    this.#givenUp.push({ tenant, device: id })
    return false
  }

  #seen(stream: StreamSeen, offset: number): void {
    stream.last = Math.max(stream.last, offset)
  }

  #stream(tenant: string): StreamSeen {
    let stream = this.#streams.get(tenant)
    if (!stream) {
      stream = { redoFrom: undefined, chunks: [], last: 0 }
      this.#streams.set(tenant, stream)
    }
    return stream
  }
}

/** The head of a chunk; see `chunk.ts`. */
const chunkHeadBytes = 21
/** Of a device's snapshot. */
const flakeField = 0
const servicesField = 11
const countersFormat = { name: 'tenant counters', version: 1, upgrades: {} }

function mended(tenant: string, { chunks, last }: StreamSeen): MendedStream {
  const gaps: [number, number][] = []
  let next = chunks[0]?.from ?? last + 1
  for (const { from, count } of chunks) {
    if (from > next) gaps.push([next, from - 1])
    next = from + count
  }
  if (next <= last) gaps.push([next, last])
  return { tenant, gaps, wholeFrom: last + 1 + leftOut }
}

function stored(bytes: Uint8Array): unknown {
  return (unpack(bytes) as readonly [number, unknown])[1]
}
