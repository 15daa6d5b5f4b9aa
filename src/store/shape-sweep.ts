import type { Entry } from '#model/entry'
import { Slices } from '#runtime/slices'
import type { System } from '#runtime/system'
import { shapeIdsOf } from '#store/chunk'
import { keysBelow } from '#store/key-space'
import { pagesOf } from '#store/pages'
import type { StoreJournal } from '#store/store-journal'

/**
 * A sweep reads every device and every retained chunk, so it only runs when this many shapes are new. A fleet has some
 * hundreds.
 */
const newShapesMin = 1_000

/**
 * Deletes stored shapes that no snapshot of a device and no chunk of a retained stream names, if enough shapes are new.
 * Resolves to the number of shapes that were deleted. Does nothing while another sweep runs.
 *
 * A shape in use is never deleted. While the sweep runs, the shapes that newly packed entries name are noted. Entries
 * that were packed before are stored before the chunks are read. Chunks are read before snapshots: a chunk is only
 * deleted after snapshots include its entries.
 */
export async function sweepShapes(
  journal: StoreJournal,
  system: System<Entry>,
  newMin = newShapesMin,
): Promise<number> {
  const { shapes } = journal
  if (shapes.newCount < newMin || shapes.named) return 0
  shapes.newCount = 0
  const named = new Set<string>()
  shapes.named = named
  try {
    const { closedCount } = system.gate
    await system.gate.whenStored(closedCount)
    await noteNamed(journal, system, named)
    return await deleteOthers(journal, system, named, closedCount)
  } finally {
    shapes.named = undefined
  }
}

async function noteNamed({ storage }: StoreJournal, system: System<Entry>, named: Set<string>): Promise<void> {
  const slices = new Slices(system.world)
  const idsInSnapshot = (snapshot: Uint8Array) => system.registry.sharedIn('device', snapshot)
  for (const [prefix, idsIn] of [['stream', shapeIdsOf] as const, ['actor/device', idsInSnapshot] as const]) {
    for await (const page of pagesOf(storage, { ...keysBelow(prefix), hasValues: true })) {
      for (const { value } of page) {
        for (const id of idsIn(value)) named.add(id)
        if (slices.isOver) await slices.next()
      }
    }
  }
}

async function deleteOthers(
  { storage }: StoreJournal,
  { gate }: System<Entry>,
  named: ReadonlySet<string>,
  closedCount: number,
): Promise<number> {
  const range = keysBelow('shape')
  let deletedCount = 0
  for await (const page of pagesOf(storage, { ...range, hasValues: false })) {
    // A failed commit discards packed entries, so the store may name other shapes than those that were noted.
    if (!gate.isOpen || gate.closedCount !== closedCount) return deletedCount
    for (const { key } of page) {
      if (named.has(key.slice(range.after.length))) continue
      gate.put(key, null)
      deletedCount++
    }
    await gate.whenStored(closedCount)
  }
  return deletedCount
}
