import type { Entry } from '#model/entry'
import type { Activation } from '#runtime/activation'
import type { ActorAddress, Tell } from '#runtime/actor'
import { reminderFormat } from '#runtime/due-queue'
import { formatOf } from '#runtime/registry'
import { Slices } from '#runtime/slices'
import { type Operation, type ScanRange, StorageFailure } from '#runtime/storage'
import { tellFormat } from '#runtime/stored-tells'
import type { System } from '#runtime/system'
import { activateInBulk, type BulkActivationLimits, bulkActivationLimits } from '#store/bulk-activation'
import { headOf, replayChunk } from '#store/chunk'
import { addressOf, keys, keysBelow, numberOf, partNameOf, tenantOfChunk } from '#store/key-space'
import { firstRowOf, pagesOf } from '#store/pages'
import { unpackRecord } from '#store/record-codec'
import { beginFormat, redoFormat, type StoreJournal, wholeFormat } from '#store/store-journal'

/**
 * Brings the runtime to the stored state: ends of the streams, names of records, reminders, stored messages between
 * actors, and every event that no snapshot holds, applied again in order.
 */
export async function loadStore(
  journal: StoreJournal,
  system: System<Entry>,
  bulkActivation = bulkActivationLimits,
): Promise<void> {
  const follower = { journal, system }
  await loadStreams(journal)
  for (const stream of journal.streams()) system.registry.setHead(stream.tenant, stream.last)
  await loadPartNames(follower)
  for (const stream of journal.streams()) await redo(follower, stream.tenant, bulkActivation)
  await applyRows(follower, { ...keysBelow('reminder'), hasValues: true })
  await applyRows(follower, { ...keysBelow('tell'), hasValues: true })
}

/**
 * Reads the redo position and the first and last chunk of each tenant. A tenant without a redo position has no stream
 * yet.
 */
async function loadStreams(journal: StoreJournal): Promise<void> {
  const { storage } = journal
  for await (const page of pagesOf(storage, { ...keysBelow('redo'), hasValues: true })) {
    for (const { key, value } of page) {
      const tenant = key.slice('redo/'.length)
      const stream = journal.stream(tenant)
      stream.redoFrom = unpackRecord(redoFormat, value) as number
      const begin = storage.get(keys.begin(tenant))
      if (begin) stream.beginsAt = unpackRecord(beginFormat, begin) as number
      const whole = storage.get(keys.whole(tenant))
      if (whole) stream.wholeFrom = unpackRecord(wholeFormat, whole) as number
      const last = await firstRowOf(storage, { ...keysBelow(`stream/${tenant}`), isReverse: true, hasValues: true })
      if (last) {
        const head = headOf(last.value)
        // While a tenant is being deleted, its redo position may lie after its last chunk. No offset is assigned twice.
        stream.last = Math.max(numberOf(last.key) + head.count, stream.redoFrom, stream.wholeFrom) - 1
        stream.bytesEnd = head.bytesBefore + last.value.length
      }
      await loadBeginning(journal, tenant)
    }
  }
}

/** Reads where the stored stream of a tenant begins. */
export async function loadBeginning(journal: StoreJournal, tenant: string): Promise<void> {
  const stream = journal.stream(tenant)
  const first = await firstRowOf(journal.storage, { ...keysBelow(`stream/${tenant}`), hasValues: true })
  if (!first) {
    stream.forgetBefore(Math.max(stream.redoFrom, stream.wholeFrom))
    return
  }
  stream.storedFrom = numberOf(first.key)
  stream.retainedFrom = Math.max(stream.storedFrom, stream.wholeFrom)
  stream.bytesStart = headOf(first.value).bytesBefore
}

/**
 * Reads the record names of write-through actors without `fixedRecords`. Other actors may be as many as devices or
 * sessions, and the names of their records are not needed.
 */
async function loadPartNames(follower: Follower): Promise<void> {
  const { storage } = follower.journal
  const { registry } = follower.system
  const { before, after: start } = keysBelow('part')
  for (let after = start; ; ) {
    const first = await firstRowOf(storage, { after, before, hasValues: false })
    if (!first) return
    const kind = keysBelow(`part/${addressOf(first.key).kind}`)
    const { persistence, fixedRecords } = registry.definition(addressOf(first.key).kind)
    if (persistence === 'write_through' && !fixedRecords) await applyRows(follower, { ...kind, hasValues: false })
    after = kind.before
  }
}

async function applyRows(follower: Follower, range: ScanRange): Promise<void> {
  for await (const page of pagesOf(follower.journal.storage, range))
    for (const row of page) applyOperation(follower, row)
}

async function redo(
  { journal, system }: Follower,
  tenant: string,
  bulkActivation: BulkActivationLimits,
): Promise<void> {
  const stream = journal.stream(tenant)
  // The chunk that holds redoFrom may begin before it.
  const start = await journal.load(tenant, stream.redoFrom)
  const after = start ? start.firstOffset : stream.redoFrom
  let expected = after
  const range = {
    after: keys.chunk(tenant, after - 1),
    before: keysBelow(`stream/${tenant}`).before,
    hasValues: true,
  }
  const woken = await activateInBulk(journal, system, tenant, range, bulkActivation)
  const follower = { journal, system, find: (nameHash: number) => woken.find(nameHash) }
  const slices = new Slices(system.world)
  for await (const page of pagesOf(journal.storage, range)) {
    for (const row of page) {
      const firstOffset = numberOf(row.key)
      if (firstOffset !== expected && firstOffset > stream.wholeFrom) throw gap(tenant, expected, firstOffset)
      expected = firstOffset + headOf(row.value).count
      applyOperation(follower, row)
      if (slices.isOver) await slices.next()
    }
  }
  if (expected <= stream.last && stream.last >= stream.wholeFrom) throw gap(tenant, expected, stream.last + 1)
}

function gap(tenant: string, expected: number, found: number): StorageFailure {
  return new StorageFailure('damaged', `the stream of ${tenant} lacks entries ${expected} to ${found - 1}`)
}

/** What stored commits are applied to, when the server starts or when this node follows another one. */
export interface Follower {
  readonly journal: StoreJournal
  readonly system: System<Entry>
  /**
   * Finds the activation of a device by the hash of the device's name. Without `find`, reports are applied by address,
   * like other entries.
   */
  readonly find?: (nameHash: number) => Activation<Entry> | undefined
  /**
   * Whether each commit updates the views: the listener of the commit gate gets the events, and
   * `ActorDefinition.recordStored` gets the records. Not while the store is being loaded, because the views read the
   * whole state afterwards.
   */
  readonly isPublished?: boolean
}

/**
 * Applies a stored operation of a commit to memory: streams, states of actors, reminders and stored messages. It
 * decides nothing. Each operation must be in the store already, and must be applied only once.
 *
 * A starting server applies the rows that it finds. A node that follows another one applies commit by commit, and
 * within a commit in the order of `putSnapshotsFirst`.
 */
export function applyOperation(follower: Follower, { key, value }: Operation): void {
  const { journal, system, isPublished } = follower
  switch (key.slice(0, key.indexOf('/'))) {
    case 'stream':
      if (value) applyChunk(follower, key, value)
      break
    case 'begin':
      if (value) applyBegin(follower, key.slice('begin/'.length), unpackRecord(beginFormat, value) as number)
      break
    case 'redo':
      if (value) journal.stream(key.slice('redo/'.length)).setRedoFrom(unpackRecord(redoFormat, value) as number)
      break
    case 'actor':
      system.registry.snapshotStored(addressOf(key))
      break
    case 'part': {
      const address = addressOf(key)
      const definition = system.registry.definition(address.kind)
      if (definition.persistence !== 'write_through') break
      const name = partNameOf(key)
      endActivation(system, address)
      system.registry.trackRecord(address, name, value !== null)
      if (isPublished)
        definition.recordStored?.(address, {
          name,
          value: value && journal.unpack(formatOf(definition, name), value),
        })
      break
    }
    case 'reminder':
      system.reminders.set(addressOf(key), value && (unpackRecord(reminderFormat, value) as number))
      break
    case 'tell':
      system.loadTell(numberOf(key), value && (unpackRecord(tellFormat, value) as Tell))
      break
  }
}

/**
 * Puts snapshots first, because they include all events of earlier commits. If an event of this commit loads an actor,
 * the actor is loaded from its snapshot in this commit, and only events after that snapshot are applied to it.
 */
export function putSnapshotsFirst(operations: Iterable<Operation>): readonly Operation[] {
  const list = [...operations]
  const isSnapshot = ({ key }: Operation) => key.startsWith('actor/')
  return [...list.filter(isSnapshot), ...list.filter((operation) => !isSnapshot(operation))]
}

/** The next access loads the actor with its new record. */
function endActivation({ registry }: System<Entry>, address: ActorAddress): void {
  const awake = registry.awake(address)
  if (awake) registry.kill(awake)
}

/** Forgets the entries of a deleted tenant. The next tenant of this name begins at `offset`. */
function applyBegin({ journal, system }: Follower, tenant: string, offset: number): void {
  system.forgetTenant(tenant)
  journal.beginAt(tenant, offset)
  system.registry.head(tenant).skipTo(offset - 1)
}

function applyChunk({ journal, system, find, isPublished }: Follower, key: string, value: Uint8Array): void {
  const { registry } = system
  const tenant = tenantOfChunk(key)
  const head = registry.head(tenant)
  const firstOffset = numberOf(key)
  const stream = journal.stream(tenant)
  if (firstOffset > stream.last) {
    const bytes = stream.reserve(firstOffset, value.length)
    bytes.set(value)
    stream.append({ firstOffset, count: headOf(value).count, bytes })
    head.skipTo(stream.last)
  } else stream.loadRedoChunk(firstOffset)
  head.bytesTaken += value.length
  replayChunk(firstOffset, value, journal.shapes, stream.redoFrom, {
    find,
    report: (activation: Activation<Entry>, entry, offset) => registry.replay(activation, entry, offset),
    entry: (entry, offset) => {
      for (const { kind, concerns } of registry.redoDefinitions) {
        const id = concerns?.(entry)
        if (id !== undefined) registry.replay(registry.wake({ kind, tenant, id }), entry, offset)
      }
      if (isPublished) system.gate.publish(head, entry, offset)
    },
  })
}
