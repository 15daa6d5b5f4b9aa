import type { Entry } from '#model/entry'
import type { Shape } from '#model/shape'
import type { Activation, AnyDefinition } from '#runtime/activation'
import { Slices } from '#runtime/slices'
import type { ScanRange } from '#runtime/storage'
import type { System } from '#runtime/system'
import { hashNames } from '#store/chunk'
import { below } from '#store/keys'
import { textHash } from '#store/msgpack-reader'
import { pagesOf } from '#store/pages'
import type { StoreJournal } from '#store/store-journal'

export interface BulkWakeLimits {
  /** Fewer entries to be applied again, or of fewer actors: each is read when its turn comes. */
  readonly entriesMin: number
  readonly actorsMin: number
  /** Snapshots read on trust, and for each that was of use beyond them: behind those it is given up. */
  readonly rowsAhead: number
  readonly rowsPerActor: number
}

/** A snapshot alone is read in 5 µs, all of them one behind the other in 1 µs each. */
export const bulkWakeLimits: BulkWakeLimits = {
  entriesMin: 32_768,
  actorsMin: 4_096,
  rowsAhead: 16_384,
  rowsPerActor: 4,
}

/**
 * Wakes the actors whom a tenant's entries in `range` are about, with one scan over the snapshots in place of a read for
 * each. It only saves time: whom it leaves out is woken by the first of his entries, and who was taken for another sleeps
 * again when he has been idle. So hashes of names are enough, and it may be given up where it does not pay.
 *
 * Answers to whom reports are to be applied at once, without asking who is awake.
 */
export async function wakeInBulk(
  journal: StoreJournal,
  system: System<Entry>,
  tenant: string,
  range: ScanRange,
  limits: BulkWakeLimits,
): Promise<Woken> {
  const woken = new Woken()
  const { last, redoFrom } = journal.stream(tenant)
  if (last - redoFrom + 1 < limits.entriesMin) return woken
  const names = await namesIn(journal, system, range)
  if (names.count < limits.actorsMin) return woken
  const { redoDefinitions } = system.registry
  for (const { kind } of redoDefinitions) await wakeNamed(journal, system, { kind, tenant, names, limits, woken })
  return redoDefinitions.length === 1 && redoDefinitions.every(isOfDevices) ? woken : new Woken()
}

async function namesIn({ storage }: StoreJournal, { world }: System<Entry>, range: ScanRange): Promise<NameMarks> {
  const names = new NameMarks()
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
  readonly names: NameMarks
  readonly limits: BulkWakeLimits
  readonly woken: Woken
}

async function wakeNamed(
  { storage }: StoreJournal,
  { world, registry }: System<Entry>,
  { kind, tenant, names, limits, woken }: Named,
): Promise<void> {
  if (!registry.isAsleep(kind, tenant)) return
  const range = below(`actor/${kind}/${tenant}`)
  const slices = new Slices(world)
  let spare = limits.rowsAhead
  for await (const page of pagesOf(storage, { ...range, hasValues: true })) {
    for (const { key, value } of page) {
      spare--
      if (!names.has(key, range.after.length)) continue
      spare += limits.rowsPerActor
      const id = ownText(key.slice(range.after.length))
      woken.add(textHash(id, 0), registry.wakeFrom({ kind, tenant, id }, value))
    }
    if (spare < 0) return
    if (slices.isOver) await slices.next()
  }
}

/** Whether a report belongs to whoever has the name of its device. */
function isOfDevices({ concerns }: AnyDefinition<Entry>): boolean {
  const shape: Shape = { id: '', serviceIdentifier: '', properties: [], indexOf: new Map() }
  const none = { flakeAddress: 0, shape, at: 0, timestamp: 0, seq: 0, items: [] }
  return concerns?.({ kind: 'reported', device: 'D', ...none }) === 'D'
}

/** A text of its own. V8 lets a part of 13 signs or more keep the whole that it was cut from. */
function ownText(part: string): string {
  return part.length < 13 ? part : Buffer.from(part).toString()
}

/**
 * 1 MiB, and one bit a name: more fits no cache near the processor, and marking four million names took a second. Of a
 * million names one in nine others is taken for one of them.
 */
const bitsLog2 = 23

/**
 * Which names were seen, by their hashes alone, so that any number of them takes the same room: a name that was seen is
 * always known, and one that was not is taken for one at times.
 */
export class NameMarks {
  readonly #words = new Uint32Array(2 ** (bitsLog2 - 5))
  /** How many names were seen: of those seen late some are taken for one of the others. */
  count = 0

  readonly add = (hash: number): void => {
    const bit = bitOf(hash)
    if (this.#isMarked(bit)) return
    this.#words[bit >>> 5] = (this.#words[bit >>> 5] as number) | (1 << (bit & 31))
    this.count++
  }

  /** The name that this text holds from a place on. */
  has(text: string, from: number): boolean {
    return this.#isMarked(bitOf(textHash(text, from)))
  }

  #isMarked(bit: number): boolean {
    return (((this.#words[bit >>> 5] as number) >>> (bit & 31)) & 1) === 1
  }
}

/** Names differ at their ends, which alone do not change all bits of their hashes. */
function bitOf(hash: number): number {
  return Math.imul(hash ^ (hash >>> 16), 0x85ebca6b) >>> (32 - bitsLog2)
}

const slotsAtFirst = 1024
/** Numbers in a slot: a hash, and one more than the place of its activation; 0 for an empty slot. */
const perSlot = 2

/**
 * Who was woken in bulk, by the hash of his name as it stands in a chunk: to find him no text is made, and where a map of
 * a million texts is asked in six places of the memory, this is in two. Whoever is found may have another name with the
 * same hash.
 */
export class Woken {
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

/** Names differ at their ends, which alone do not change all bits of their hashes. */
function slotOf(nameHash: number, length: number): number {
  const mixed = Math.imul(nameHash ^ (nameHash >>> 16), 0x85ebca6b)
  return ((mixed ^ (mixed >>> 13)) * perSlot) & (length - 1)
}

function slotBehind(at: number, length: number): number {
  return (at + perSlot) & (length - 1)
}
