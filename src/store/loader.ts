import type { Entry } from '#model/entry'
import type { Tell } from '#runtime/actor'
import { StorageFailure } from '#runtime/storage'
import { tellFormat } from '#runtime/stored-tells'
import { reminderFormat, type System } from '#runtime/system'
import { headOf, unpackChunk } from '#store/chunk'
import { addressOf, below, keys, numberOf, partNameOf } from '#store/keys'
import { unpackRecord } from '#store/record-codec'
import { redoFormat, type StoreJournal } from '#store/store-journal'

/** Rows asked for at a time: big enough to be fast, small enough to give the loop back. */
const rowsAtATime = 256
const chunksAtATime = 8

/**
 * Brings the runtime to where the store is: heads of the streams, names of records, reminders, tells, and every event
 * that no snapshot holds, applied again in order. Decides nothing, says nothing.
 */
export async function load(journal: StoreJournal, system: System<Entry>): Promise<void> {
  await loadStreams(journal)
  for (const stream of journal.streams()) system.registry.setHead(stream.tenant, stream.last)
  await loadPartNames(journal, system)
  for (const stream of journal.streams()) await redo(journal, system, stream.tenant)
  await loadReminders(journal, system)
  await loadTells(journal, system)
}

/** Each tenant's first and last chunk, and its redo mark. A tenant without a redo mark has no stream yet. */
async function loadStreams(journal: StoreJournal): Promise<void> {
  for await (const { key, value } of rows(journal, 'redo', true)) {
    const tenant = key.slice('redo/'.length)
    const stream = journal.stream(tenant)
    stream.redoFrom = unpackRecord(redoFormat, value) as number
    const range = { ...below(`stream/${tenant}`), hasValues: true }
    const last = await firstRow(journal, { ...range, isReverse: true })
    const first = await firstRow(journal, range)
    if (!first || !last) {
      stream.last = stream.redoFrom - 1
      stream.retainedFrom = stream.redoFrom
      continue
    }
    const head = headOf(last.value)
    stream.last = numberOf(last.key) + head.count - 1
    stream.bytesEnd = head.bytesBefore + last.value.length
    stream.retainedFrom = numberOf(first.key)
    stream.bytesStart = headOf(first.value).bytesBefore
  }
}

async function loadPartNames(journal: StoreJournal, system: System<Entry>): Promise<void> {
  for await (const { key } of rows(journal, 'part', false)) {
    const address = addressOf(key)
    if (system.registry.definition(address.kind).rest === 'written_through') {
      system.registry.knowRecord(address, partNameOf(key), true)
    }
  }
}

async function redo(journal: StoreJournal, system: System<Entry>, tenant: string): Promise<void> {
  const stream = journal.stream(tenant)
  // The chunk that holds redoFrom may begin before it.
  const start = await journal.load(tenant, stream.redoFrom)
  const after = start ? start.firstOffset : stream.redoFrom
  let expected = after
  const head = system.registry.head(tenant)
  const scan = journal.storage.scan({
    after: keys.chunk(tenant, after - 1),
    before: below(`stream/${tenant}`).before,
    hasValues: true,
  })
  try {
    for (let found = await scan.next(chunksAtATime); found.length > 0; found = await scan.next(chunksAtATime)) {
      for (const { key, value } of found) {
        const firstOffset = numberOf(key)
        const { events } = unpackChunk(firstOffset, value, journal.shapes)
        if (firstOffset !== expected) throw gap(tenant, expected, firstOffset)
        expected = firstOffset + events.length
        stream.loadRedoChunk(firstOffset)
        events.forEach((event, index) => {
          if (firstOffset + index >= stream.redoFrom) replay(system, tenant, event, firstOffset + index)
        })
        head.bytesTaken += value.length
      }
    }
  } finally {
    await scan.close()
  }
  if (expected <= stream.last) throw gap(tenant, expected, stream.last + 1)
}

function replay(system: System<Entry>, tenant: string, event: Entry, offset: number): void {
  for (const definition of system.registry.redoDefinitions) {
    const id = definition.concerns?.(event)
    if (id !== undefined) system.registry.replay({ kind: definition.kind, tenant, id }, event, offset)
  }
}

async function loadReminders(journal: StoreJournal, system: System<Entry>): Promise<void> {
  for await (const { key, value } of rows(journal, 'reminder', true)) {
    system.reminders.set(addressOf(key), unpackRecord(reminderFormat, value) as number)
  }
}

async function loadTells(journal: StoreJournal, system: System<Entry>): Promise<void> {
  for await (const { key, value } of rows(journal, 'tell', true)) {
    system.loadTell(numberOf(key), unpackRecord(tellFormat, value) as Tell)
  }
}

async function* rows(journal: StoreJournal, prefix: string, hasValues: boolean) {
  const scan = journal.storage.scan({ ...below(prefix), hasValues })
  try {
    for (let found = await scan.next(rowsAtATime); found.length > 0; found = await scan.next(rowsAtATime)) yield* found
  } finally {
    await scan.close()
  }
}

async function firstRow(journal: StoreJournal, range: Parameters<StoreJournal['storage']['scan']>[0]) {
  const scan = journal.storage.scan(range)
  const [row] = await scan.next(1)
  await scan.close()
  return row
}

function gap(tenant: string, expected: number, found: number): StorageFailure {
  return new StorageFailure('damaged', `the stream of ${tenant} lacks entries ${expected} to ${found - 1}`)
}
