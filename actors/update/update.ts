import { restoreState } from '#actors/record-only'
import type { UpdateCommand } from '#actors/update/commands'
import { decideBegin, decideDue, decideReconnect, decideReport, decideResume } from '#actors/update/decisions'
import { machineVersion } from '#actors/update/machine'
import { type StoredUpdate, type UpdateActorState, updateRecord } from '#actors/update/state'
import { type UpdateParts, updatingRows } from '#actors/update/transition'
import { countTells } from '#actors/update/update-stage'
import type { Entry } from '#model/entry'
import { type ActorDefinition, answer, type Decision, type RecordChange, record, type Turn } from '#runtime/actor'

/**
 * The firmware updates of one device: one at a time. Each step is stored, so that after a crash the update continues or
 * times out. `updateMachine` alone decides the states; the turn translates its actions into entries, messages and
 * effects. Contract 6.
 */
export function updateActor(parts: UpdateParts): ActorDefinition<UpdateActorState, UpdateCommand, Entry> {
  return {
    kind: 'update',
    persistence: 'write_through',
    // A stored state only has a meaning in its machine: a new machine is a new version of the record.
    formats: { [updateRecord]: { name: 'update of a device', version: machineVersion, upgrades: {} } },
    fixedRecords: [updateRecord],
    wake: ({ id }, records) => restoreState({ device: id, stored: undefined }, records, put),
    change: (state, change) => put(state, change as RecordChange),
    // The record of the same turn contains everything in its entries.
    apply: () => {},
    decide(state, command, turn) {
      switch (command.type) {
        case 'begin':
          return decideBegin(state, command, turn, parts)
        case 'found':
        case 'not_found':
        case 'reported':
        case 'lost':
          return decideReport(state, command, turn, parts)
        case 'reconnected':
          return decideReconnect(state, command, turn, parts)
        case 'resume':
          return decideResume(state, command, turn, parts)
        case 'forget':
          return decideForget(state, turn, parts)
        case 'reminder_due':
          return decideDue(state, turn, parts)
      }
    },
  }
}

function put(state: UpdateActorState, { value }: RecordChange): void {
  state.stored = (value as StoredUpdate | null) ?? undefined
}

/** The device was removed: its update causes no more events and is no longer counted. */
function decideForget({ device, stored }: UpdateActorState, turn: Turn, { notices }: UpdateParts): Decision<Entry> {
  if (!stored) return answer(undefined)
  const { tenant } = turn
  const records = [{ name: updateRecord, value: null }]
  return record<Entry>([], {
    changes: records,
    records,
    indexes: updatingRows(device, stored, false),
    ...(turn.reminder() !== null && { reminder: null }),
    tells: countTells(tenant, stored.counted, null),
    effects: [() => notices.updateMoved(tenant, device, undefined)],
  })
}
