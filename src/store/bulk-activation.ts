import type { Entry } from '#model/entry'
import type { Shape } from '#model/shape'
import type { Activation, AnyDefinition } from '#runtime/activation'
import { Slices } from '#runtime/slices'
import type { ScanRange } from '#runtime/storage'
import type { System } from '#runtime/system'
import { hashNames } from '#store/chunk'
import { keysBelow } from '#store/key-space'
import { textHash } from '#store/msgpack-reader'
import { pagesOf } from '#store/pages'
import type { StoreJournal } from '#store/store-journal'

export interface BulkActivationLimits {
  /**
   * With fewer entries or fewer actors, there is no scan of snapshots: each actor's snapshot is read when its first
   * entry is applied.
   */
  readonly entriesMin: number
  readonly actorsMin: number
  /** The scan stops after this number of snapshots, plus `rowsPerActor` for each snapshot that is needed. */
  readonly rowsAhead: number
  readonly rowsPerActor: number
}

/** A single read of a snapshot takes 5 µs; in a scan each takes 1 µs. */
export const bulkActivationLimits: BulkActivationLimits = {
  entriesMin: 32_768,
  actorsMin: 4_096,
  rowsAhead: 16_384,
  rowsPerActor: 4,
}

/**
 * Loads the actors of the entries in `range`, with one scan over the snapshots instead of a read for each. This only
 * saves time: an actor that is left out is loaded with its first entry, and an actor that is loaded by mistake is
 * unloaded when it has been idle. So names are compared by their hashes, and the scan stops when it finds too few.
 *
 * Resolves to an index of the loaded devices; empty if actors of other kinds are also restored from entries.
 */
export async function activateInBulk(
  journal: StoreJournal,
  system: System<Entry>,
  tenant: string,
  range: ScanRange,
  limits: BulkActivationLimits,
): Promise<NameHashIndex> {
  const woken = new NameHashIndex()
  const { last, redoFrom } = journal.stream(tenant)
  if (last - redoFrom + 1 < limits.entriesMin) return woken
  const names = await namesIn(journal, system, range)
  if (names.count < limits.actorsMin) return woken
  const { redoDefinitions } = system.registry
  for (const { kind } of redoDefinitions) await wakeNamed(journal, system, { kind, tenant, names, limits, woken })
  return redoDefinitions.length === 1 && redoDefinitions.every(isOfDevices) ? woken : new NameHashIndex()
}

async function namesIn({ storage }: StoreJournal, { world }: System<Entry>, range: ScanRange): Promise<NameFilter> {
  const names = new NameFilter()
  const slices = new Slices(world)
  for await (const page of pagesOf(storage, range)) {
    for (const { value } of page) {
      hashNames(value, names.add)
      if (slices.isOver) await slices.next()
    }
  }
  return names
}

interface Named {
  readonly kind: string
  readonly tenant: string
  readonly names: NameFilter
  readonly limits: BulkActivationLimits
  readonly woken: NameHashIndex
}

async function wakeNamed(
  { storage }: StoreJournal,
  { world, registry }: System<Entry>,
  { kind, tenant, names, limits, woken }: Named,
): Promise<void> {
  if (!registry.isAsleep(kind, tenant)) return
  const range = keysBelow(`actor/${kind}/${tenant}`)
  const slices = new Slices(world)
  let rowsLeft = limits.rowsAhead
  for await (const page of pagesOf(storage, { ...range, hasValues: true })) {
    for (const { key, value } of page) {
      rowsLeft--
      if (!names.has(key, range.after.length)) continue
      rowsLeft += limits.rowsPerActor
      const id = copyText(key.slice(range.after.length))
      woken.add(textHash(id, 0), registry.wakeFrom({ kind, tenant, id }, value))
    }
    if (rowsLeft < 0) return
    if (slices.isOver) await slices.next()
  }
}

/** Whether a device's report is applied to the actor of this kind that has the device identifier as its id. */
function isOfDevices({ concerns }: AnyDefinition<Entry>): boolean {
  const shape: Shape = { id: '', serviceIdentifier: '', properties: [], indexOf: new Map() }
  const none = { flakeAddress: 0, shape, at: 0, timestamp: 0, seq: 0, items: [] }
  return concerns?.({ kind: 'reported', device: 'D', ...none }) === 'D'
}

/** Copies the text. V8 lets a slice of 13 characters or more keep the whole text in memory. */
function copyText(part: string): string {
  return part.length < 13 ? part : Buffer.from(part).toString()
}

/**
 * 1 MiB, one bit for each name. A larger table does not fit in the cache of the processor: marking four million names
 * in one took a second. With a million names, one in nine other names counts as marked.
 */
const bitsLog2 = 23

/**
 * Marks names by their hashes alone, so that any number of them takes the same memory. A marked name is always found;
 * another name may be found by mistake.
 */
export class NameFilter {
  readonly #words = new Uint32Array(2 ** (bitsLog2 - 5))
  /** The number of marks set. A name that shares its bit with another is not counted. */
  count = 0

  readonly add = (hash: number): void => {
    const bit = bitOf(hash)
    if (this.#isMarked(bit)) return
    this.#words[bit >>> 5] = (this.#words[bit >>> 5] as number) | (1 << (bit & 31))
    this.count++
  }

  /** Whether the rest of the text from this index on is a marked name. */
  has(text: string, from: number): boolean {
    return this.#isMarked(bitOf(textHash(text, from)))
  }

  #isMarked(bit: number): boolean {
    return (((this.#words[bit >>> 5] as number) >>> (bit & 31)) & 1) === 1
  }
}

/** Mixes the bits: names that differ only at their ends have hashes that share most bits. */
function bitOf(hash: number): number {
  return Math.imul(hash ^ (hash >>> 16), 0x85ebca6b) >>> (32 - bitsLog2)
}

const slotsAtFirst = 1024
/** A slot has two numbers: a hash, and the index of its activation plus one; 0 for an empty slot. */
const perSlot = 2

/**
 * An index of the actors that were loaded in bulk. The key is a hash of the name, which is computed from the bytes of a
 * chunk without making a string. A map of a million strings reads six places in memory for a search; this index reads
 * two. The found actor may have another name with the same hash.
 */
export class NameHashIndex {
  #slots = new Uint32Array(slotsAtFirst * perSlot)
  readonly #activations: Activation<Entry>[] = []

  add(nameHash: number, activation: Activation<Entry>): void {
    this.#activations.push(activation)
    if (this.#activations.length * 2 * perSlot > this.#slots.length) this.#grow()
    put(this.#slots, nameHash, this.#activations.length)
  }

  find(nameHash: number): Activation<Entry> | undefined {
    const slots = this.#slots
    for (let at = slotOf(nameHash, slots.length); slots[at + 1] !== 0; at = slotBehind(at, slots.length)) {
      if (slots[at] === nameHash) return this.#activations[(slots[at + 1] as number) - 1]
    }
    return undefined
  }

  #grow(): void {
    const before = this.#slots
    this.#slots = new Uint32Array(before.length * 2)
    for (let at = 0; at < before.length; at += perSlot) {
      if (before[at + 1] !== 0) put(this.#slots, before[at] as number, before[at + 1] as number)
    }
  }
}

function put(slots: Uint32Array, nameHash: number, place: number): void {
  let at = slotOf(nameHash, slots.length)
  while (slots[at + 1] !== 0) at = slotBehind(at, slots.length)
  slots[at] = nameHash
  slots[at + 1] = place
}

/** Mixes the bits: names that differ only at their ends have hashes that share most bits. */
function slotOf(nameHash: number, length: number): number {
  const mixed = Math.imul(nameHash ^ (nameHash >>> 16), 0x85ebca6b)
  return ((mixed ^ (mixed >>> 13)) * perSlot) & (length - 1)
}

function slotBehind(at: number, length: number): number {
  return (at + perSlot) & (length - 1)
}
