import { recordActor, recordsWithoutEntry } from '#actors/record-actor'
import type { UpdateCommand } from '#actors/update/commands'
import { decideBegin, decideDueUpdate, decideReconnect, decideReport, decideResume } from '#actors/update/decisions'
import { machineVersion } from '#actors/update/machine'
import { type StoredUpdate, type UpdateActorState, updateRecord } from '#actors/update/state'
import { type UpdateParts, updatingRows } from '#actors/update/transition'
import { stageReports } from '#actors/update/update-stage'
import type { Entry } from '#model/entry'
import { type ActorDefinition, answer, type Decision, type RecordChange, type Turn } from '#runtime/actor'

/**
 * The firmware updates of one device: one at a time. Each step is stored, so that after a crash the update continues or
 * times out. `updateMachine` alone decides the states; the turn translates its actions into entries, messages and
 * effects. Contract 6.
 */
export function updateActor(parts: UpdateParts): ActorDefinition<UpdateActorState, UpdateCommand, Entry> {
  return recordActor({
    kind: 'update',
    // A stored state is only valid for its version of the machine, so the record has the same version.
    records: { [updateRecord]: { name: 'update of a device', version: machineVersion, upgrades: {} } },
    empty: ({ id }) => ({ device: id, stored: undefined }),
    put,
    decisions: {
      begin: (state, command, turn) => decideBegin(state, command, turn, parts),
      found: (state, command, turn) => decideReport(state, command, turn, parts),
      not_found: (state, command, turn) => decideReport(state, command, turn, parts),
      reported: (state, command, turn) => decideReport(state, command, turn, parts),
      lost: (state, command, turn) => decideReport(state, command, turn, parts),
      reconnected: (state, command, turn) => decideReconnect(state, command, turn, parts),
      resume: (state, command, turn) => decideResume(state, command, turn, parts),
      forget: (state, _, turn) => decideForget(state, turn, parts),
      reminder_due: (state, _, turn) => decideDueUpdate(state, turn, parts),
    },
  })
}

function put(state: UpdateActorState, { value }: RecordChange): void {
  state.stored = (value as StoredUpdate | null) ?? undefined
}

/** The device was removed: its update causes no more events and is no longer counted. */
function decideForget({ device, stored }: UpdateActorState, turn: Turn, { notices }: UpdateParts): Decision<Entry> {
  if (!stored) return answer(undefined)
  const { tenant } = turn
  return recordsWithoutEntry([{ name: updateRecord, value: null }], {
    indexes: updatingRows(device, stored, false),
    ...(turn.reminder() !== null && { reminder: null }),
    tells: stageReports(tenant, stored.counted, null),
    effects: [() => notices.updateMoved(tenant, device, undefined)],
  })
}
