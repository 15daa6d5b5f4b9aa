import type { Entry } from '#model/entry'
import type { Activation } from '#runtime/activation'
import type { ActorAddress, Tell } from '#runtime/actor'
import type { EventListener } from '#runtime/gate'
import { formatOf } from '#runtime/registry'
import { reminderFormat } from '#runtime/reminders'
import type { Operation } from '#runtime/storage'
import { tellFormat } from '#runtime/stored-tells'
import type { System } from '#runtime/system'
import { headOf, replayChunk } from '#store/chunk'
import { addressOf, numberOf, partNameOf, tenantOfChunk } from '#store/keys'
import { unpackRecord } from '#store/record-codec'
import { redoFormat, type StoreJournal } from '#store/store-journal'

/** The part of the system that commits are applied to. */
export interface Follower {
  readonly journal: StoreJournal
  readonly system: System<Entry>
  /** Finds an activation by the hash of its name; without it, activations are found by address. */
  find?(nameHash: number): Activation<Entry> | undefined
  /**
   * Receives the events, and definitions receive the records (`recordStored`). Absent at a start: then views read the
   * whole state afterwards.
   */
  readonly listener?: EventListener<Entry>
}

/**
 * Applies stored operations of commits to memory: streams, states of actors, reminders and stored messages. It decides
 * nothing. The operations are already in the store, and each is applied once, in the order of the commits.
 *
 * A start applies the rows that it finds. A node that follows another one applies each commit after the last one.
 */
export function applyCommit(follower: Follower, operations: Iterable<Operation>): void {
  const { journal, system, listener } = follower
  for (const { key, value } of inOrderOfUse(operations)) {
    switch (key.slice(0, key.indexOf('/'))) {
      case 'stream':
        if (value) applyChunk(follower, key, value)
        break
      case 'redo':
        if (value) applyRedo(follower, key.slice('redo/'.length), unpackRecord(redoFormat, value) as number)
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
        if (listener)
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
}

/**
 * Snapshots first: they include all events of earlier commits. An actor that is activated by an event of this commit
 * begins with its snapshot, and only later events wait for the next one.
 */
export function inOrderOfUse(operations: Iterable<Operation>): readonly Operation[] {
  const list = [...operations]
  const isSnapshot = ({ key }: Operation) => key.startsWith('actor/')
  return [...list.filter(isSnapshot), ...list.filter((operation) => !isSnapshot(operation))]
}

/** The next access loads the actor with its new record. */
function endActivation({ registry }: System<Entry>, address: ActorAddress): void {
  const awake = registry.awake(address)
  if (awake) registry.kill(awake)
}

function applyRedo({ journal, system }: Follower, tenant: string, redoFrom: number): void {
  const stream = journal.stream(tenant)
  // The tenant was deleted: its entries are forgotten, and the next one of its name begins here.
  if (redoFrom > stream.last + 1) {
    system.forgetTenant(tenant)
    journal.forgetBefore(tenant, redoFrom)
    system.registry.head(tenant).skipTo(redoFrom - 1)
  }
  stream.setRedoFrom(redoFrom)
}

function applyChunk({ journal, system, find, listener }: Follower, key: string, value: Uint8Array): void {
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
    find: (nameHash) => find?.(nameHash),
    report: (activation: Activation<Entry>, entry, offset) => registry.replayOn(activation, entry, offset),
    entry: (entry, offset) => {
      for (const { kind, concerns } of registry.redoDefinitions) {
        const id = concerns?.(entry)
        if (id !== undefined) registry.replay({ kind, tenant, id }, entry, offset)
      }
      listener?.released(head, entry, offset)
    },
  })
}
