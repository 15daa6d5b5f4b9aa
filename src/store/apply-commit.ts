import type { Entry } from '#model/entry'
import type { Activation } from '#runtime/activation'
import type { ActorAddress, Tell } from '#runtime/actor'
import { formatOf } from '#runtime/registry'
import { reminderFormat } from '#runtime/reminders'
import type { Operation } from '#runtime/storage'
import { tellFormat } from '#runtime/stored-tells'
import type { System } from '#runtime/system'
import { headOf, replayChunk } from '#store/chunk'
import { addressOf, numberOf, partNameOf, tenantOfChunk } from '#store/key-space'
import { unpackRecord } from '#store/record-codec'
import { beginFormat, redoFormat, type StoreJournal } from '#store/store-journal'

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
    report: (activation: Activation<Entry>, entry, offset) => registry.replayOn(activation, entry, offset),
    entry: (entry, offset) => {
      for (const { kind, concerns } of registry.redoDefinitions) {
        const id = concerns?.(entry)
        if (id !== undefined) registry.replay({ kind, tenant, id }, entry, offset)
      }
      if (isPublished) system.gate.publish(head, entry, offset)
    },
  })
}
