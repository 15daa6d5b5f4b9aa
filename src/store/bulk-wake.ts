import type { Entry } from '#model/entry'
import type { Shape } from '#model/shape'
import type { AnyDefinition } from '#runtime/activation'
import type { ScanRange } from '#runtime/storage'
import type { System } from '#runtime/system'
import { hashNames } from '#store/chunk'
import { below } from '#store/keys'
import { textHash } from '#store/msgpack-reader'
import { NameMarks } from '#store/name-marks'
import { pagesOf } from '#store/pages'
import { Slices } from '#store/slices'
import type { StoreJournal } from '#store/store-journal'
import { Woken } from '#store/woken'

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
