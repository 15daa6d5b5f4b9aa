import type { Entry } from '#model/entry'
import type { Activation } from '#runtime/activation'
import type { Tell } from '#runtime/actor'
import { StorageFailure } from '#runtime/storage'
import { tellFormat } from '#runtime/stored-tells'
import { reminderFormat, type System } from '#runtime/system'
import { type BulkWakeLimits, bulkWakeLimits, wakeInBulk } from '#store/bulk-wake'
import { headOf, type Replay, replayChunk } from '#store/chunk'
import { addressOf, below, keys, numberOf, partNameOf } from '#store/keys'
import { firstRowOf, pagesOf } from '#store/pages'
import { unpackRecord } from '#store/record-codec'
import { Slices } from '#store/slices'
import { redoFormat, type StoreJournal, wholeFormat } from '#store/store-journal'

/**
 * Brings the runtime to where the store is: heads of the streams, names of records, reminders, tells, and every event
 * that no snapshot holds, applied again in order. Decides nothing, says nothing.
 */
export async function load(journal: StoreJournal, system: System<Entry>, bulkWake = bulkWakeLimits): Promise<void> {
  await loadStreams(journal)
  for (const stream of journal.streams()) system.registry.setHead(stream.tenant, stream.last)
  await loadPartNames(journal, system)
  for (const stream of journal.streams()) await redo(journal, system, stream.tenant, bulkWake)
  await loadReminders(journal, system)
  await loadTells(journal, system)
}

/** Each tenant's first and last chunk, and its redo mark. A tenant without a redo mark has no stream yet. */
async function loadStreams(journal: StoreJournal): Promise<void> {
  const { storage } = journal
  for await (const page of pagesOf(storage, { ...below('redo'), hasValues: true })) {
    for (const { key, value } of page) {
      const tenant = key.slice('redo/'.length)
      const stream = journal.stream(tenant)
      stream.redoFrom = unpackRecord(redoFormat, value) as number
      const whole = storage.get(keys.whole(tenant))
      if (whole) stream.wholeFrom = unpackRecord(wholeFormat, whole) as number
      const range = { ...below(`stream/${tenant}`), hasValues: true }
      const last = await firstRowOf(storage, { ...range, isReverse: true })
      const first = await firstRowOf(storage, range)
      if (!first || !last) {
        stream.forgetBefore(Math.max(stream.redoFrom, stream.wholeFrom))
        continue
      }
      const head = headOf(last.value)
      // It may begin behind its last chunk while a tenant's are being taken away: no offset is given twice.
      stream.last = Math.max(numberOf(last.key) + head.count, stream.redoFrom, stream.wholeFrom) - 1
      stream.bytesEnd = head.bytesBefore + last.value.length
      stream.storedFrom = numberOf(first.key)
      stream.retainedFrom = Math.max(stream.storedFrom, stream.wholeFrom)
      stream.bytesStart = headOf(first.value).bytesBefore
    }
  }
}

/**
 * Only those of written-through actors whose names are not known anyhow: of the others there may be one for every device
 * or session, and nobody needs to know.
 */
async function loadPartNames({ storage }: StoreJournal, { registry }: System<Entry>): Promise<void> {
  const { before, after: start } = below('part')
  for (let after = start; ; ) {
    const first = await firstRowOf(storage, { after, before, hasValues: false })
    if (!first) return
    const kind = below(`part/${addressOf(first.key).kind}`)
    const { rest, fixedRecords } = registry.definition(addressOf(first.key).kind)
    if (rest === 'written_through' && !fixedRecords) {
      for await (const page of pagesOf(storage, { ...kind, hasValues: false })) {
        for (const { key } of page) registry.knowRecord(addressOf(key), partNameOf(key), true)
      }
    }
    after = kind.before
  }
}

async function redo(
  journal: StoreJournal,
  system: System<Entry>,
  tenant: string,
  bulkWake: BulkWakeLimits,
): Promise<void> {
  const stream = journal.stream(tenant)
  // The chunk that holds redoFrom may begin before it.
  const start = await journal.load(tenant, stream.redoFrom)
  const after = start ? start.firstOffset : stream.redoFrom
  let expected = after
  const head = system.registry.head(tenant)
  const range = {
    after: keys.chunk(tenant, after - 1),
    before: below(`stream/${tenant}`).before,
    hasValues: true,
  }
  const woken = await wakeInBulk(journal, system, tenant, range, bulkWake)
  const replay: Replay<Activation<Entry>> = {
    find: (nameHash) => woken.find(nameHash),
    news: (activation, entry, offset) => system.registry.replayOn(activation, entry, offset),
    entry: (entry, offset) => replayEntry(system, tenant, entry, offset),
  }
  const slices = new Slices(system.world)
  for await (const page of pagesOf(journal.storage, range)) {
    for (const { key, value } of page) {
      const firstOffset = numberOf(key)
      if (firstOffset !== expected && firstOffset > stream.wholeFrom) throw gap(tenant, expected, firstOffset)
      expected = firstOffset
      expected += replayChunk(firstOffset, value, journal.shapes, stream.redoFrom, replay)
      stream.loadRedoChunk(firstOffset)
      head.bytesTaken += value.length
      if (slices.isOver) await slices.next()
    }
  }
  if (expected <= stream.last && stream.last >= stream.wholeFrom) throw gap(tenant, expected, stream.last + 1)
}

function replayEntry(system: System<Entry>, tenant: string, event: Entry, offset: number): void {
  for (const definition of system.registry.redoDefinitions) {
    const id = definition.concerns?.(event)
    if (id !== undefined) system.registry.replay({ kind: definition.kind, tenant, id }, event, offset)
  }
}

async function loadReminders({ storage }: StoreJournal, { reminders }: System<Entry>): Promise<void> {
  for await (const page of pagesOf(storage, { ...below('reminder'), hasValues: true })) {
    for (const { key, value } of page) reminders.set(addressOf(key), unpackRecord(reminderFormat, value) as number)
  }
}

async function loadTells({ storage }: StoreJournal, system: System<Entry>): Promise<void> {
  for await (const page of pagesOf(storage, { ...below('tell'), hasValues: true })) {
    for (const { key, value } of page) system.loadTell(numberOf(key), unpackRecord(tellFormat, value) as Tell)
  }
}

function gap(tenant: string, expected: number, found: number): StorageFailure {
  return new StorageFailure('damaged', `the stream of ${tenant} lacks entries ${expected} to ${found - 1}`)
}
