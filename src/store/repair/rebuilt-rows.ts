import type { Row } from '#runtime/storage'
import { unpackChunk } from '#store/chunk'
import { addressOf, keys, numberOf, partNameOf } from '#store/key-space'
import { packRecord, unpack } from '#store/record-codec'
import { Shapes } from '#store/shapes'
import { redoFormat, wholeFormat } from '#store/store-journal'

export interface RebuildResult {
  readonly rows: number
  /** The first four parts of the keys of rows that can't be unpacked, or whose shape is missing. */
  readonly leftOut: readonly string[]
  /** Gaps: events that are missing between existing ones. */
  readonly missing: readonly { readonly tenant: string; readonly from: number; readonly upTo: number }[]
}

/** A record of a tenant; see `actors/tenant/state.ts`. */
interface Counters {
  readonly lastFlakeAddress: number
  readonly devices: number
}

/** Facts found in the rows of one tenant. */
interface TenantFacts {
  redoFrom?: number
  firstChunk?: number
  /** The offset after the chunk that was read last. */
  next?: number
  lastOffset: number
  lastFlakeAddress: number
  devices: number
  counters?: Counters
}

/**
 * The number of offsets and flake addresses to skip, because missing rows may have assigned them. Two full logs of 16
 * MiB hold fewer.
 */
const skippedCount = 1_000_000
const uint32Max = 2 ** 32 - 1
/** The index of a field in the snapshot of a device; see `actors/device/snapshot.ts`. */
const flakeField = 0
const servicesField = 11
const countersFormat = { name: 'tenant counters', version: 1, upgrades: {} }

/**
 * Reads all rows of a repaired database in the order of their keys, shapes first. It decides which rows stay, and which
 * rows are added.
 */
export class RebuiltRows {
  readonly #stored = new Map<string, Uint8Array>()
  readonly #shapes = new Shapes((key) => this.#stored.get(key))
  readonly #tenants = new Map<string, TenantFacts>()
  readonly #leftOut: string[] = []
  readonly #missing: RebuildResult['missing'][number][] = []
  #rows = 0

  addShape({ key, value }: Row): void {
    this.#stored.set(key, value)
  }

  /** Collects the facts in a row. Returns whether the row stays. */
  examine(row: Row): boolean {
    try {
      const isKept = this.#examine(row)
      if (isKept) this.#rows++
      return isKept
    } catch {
      // Only the first parts of the key are shown: the rest may be the hash of a secret.
      this.#leftOut.push(row.key.split('/', 4).join('/'))
      return false
    }
  }

  end(): RebuildResult & { readonly added: readonly Row[] } {
    const added: Row[] = []
    for (const [tenant, facts] of this.#tenants) {
      const { redoFrom, firstChunk, counters, devices } = facts
      const wholeFrom = facts.lastOffset + 1 + skippedCount
      added.push({ key: keys.whole(tenant), value: packRecord(wholeFormat, wholeFrom) })
      // A tenant needs this row to have a stream. Applying all entries again is safe: each snapshot contains its
      // offset.
      if (redoFrom === undefined)
        added.push({ key: keys.redo(tenant), value: packRecord(redoFormat, firstChunk ?? wholeFrom) })
      if (devices === 0 && !counters) continue
      const lastFlake = Math.max(facts.lastFlakeAddress, counters?.lastFlakeAddress ?? 0)
      const counted = {
        lastFlakeAddress: Math.min(uint32Max, lastFlake + skippedCount),
        devices: counters?.devices ?? devices,
      }
      const address = { kind: 'tenant', tenant, id: tenant }
      added.push({ key: keys.part(address, 'counters'), value: packRecord(countersFormat, counted) })
    }
    return { rows: this.#rows + added.length, leftOut: this.#leftOut, missing: this.#missing, added }
  }

  /** @throws if the row can't be unpacked, or names a missing shape */
  #examine({ key, value }: Row): boolean {
    const [place, first = ''] = key.split('/', 2)
    switch (place) {
      case 'index':
        return true
      case 'stream':
        return this.#chunk(first, numberOf(key), value)
      case 'epoch':
        // Epochs are dropped, so no position of a client is known.
        for (const [tenant, head] of Object.entries(contentOf<{ heads: Record<string, number> }>(value).heads))
          this.#factsOf(tenant, head)
        return false
      case 'whole':
        this.#factsOf(first, contentOf<number>(value) - 1)
        return false
      case 'redo': {
        const redoFrom = contentOf<number>(value)
        this.#factsOf(first, redoFrom - 1).redoFrom = redoFrom
        return true
      }
      case 'actor':
        return this.#snapshot(key, value)
      case 'part': {
        const content = contentOf<Counters>(value)
        const { kind, tenant } = addressOf(key)
        if (kind !== 'tenant' || partNameOf(key) !== 'counters') return true
        this.#factsOf(tenant, 0).counters = content
        return false
      }
      default:
        contentOf(value)
        return true
    }
  }

  #chunk(tenant: string, from: number, value: Uint8Array): boolean {
    const { events } = unpackChunk(from, value, this.#shapes)
    const facts = this.#factsOf(tenant, from + events.length - 1)
    if (facts.next !== undefined && from > facts.next) this.#missing.push({ tenant, from: facts.next, upTo: from - 1 })
    facts.firstChunk ??= from
    facts.next = from + events.length
    return true
  }

  #snapshot(key: string, value: Uint8Array): boolean {
    const { kind, tenant } = addressOf(key)
    const { offset, state } = contentOf<{ offset: number; state: readonly unknown[] }>(value)
    const facts = this.#factsOf(tenant, offset)
    if (kind !== 'device') return true
    facts.devices++
    facts.lastFlakeAddress = Math.max(facts.lastFlakeAddress, state[flakeField] as number)
    for (const [shape] of state[servicesField] as readonly (readonly [string])[]) this.#shapes.byId(shape)
    return true
  }

  #factsOf(tenant: string, offset: number): TenantFacts {
    const facts: TenantFacts = this.#tenants.get(tenant) ?? { lastOffset: 0, lastFlakeAddress: 0, devices: 0 }
    this.#tenants.set(tenant, facts)
    facts.lastOffset = Math.max(facts.lastOffset, offset)
    return facts
  }
}

/** The content of a record. */
function contentOf<Content>(bytes: Uint8Array): Content {
  const record = unpack(bytes)
  if (!Array.isArray(record) || record.length !== 2) throw new TypeError('not a record')
  return record[1] as Content
}
