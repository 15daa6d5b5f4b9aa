import { recordOnly, rejectEntry, restoreState } from '#actors/record-only'
import { defaultTenant } from '#actors/tenant/state'
import type { Entry } from '#model/entry'
import { type ActorAddress, type ActorDefinition, answer, type RecordChange } from '#runtime/actor'

/** The next check of all devices of the server. Contract 6, Options. */
export interface StoredSchedule {
  readonly pattern: string
  /** Unix ms. */
  readonly nextAt: number
}

export interface UpdateScheduleState {
  stored: StoredSchedule | undefined
}

export type UpdateScheduleCommand =
  | { readonly type: 'put'; readonly schedule: StoredSchedule }
  /** Ends the schedule. */
  | { readonly type: 'clear' }

/** There is one schedule, for the whole server. */
export const updateScheduleAddress: ActorAddress<UpdateScheduleState, UpdateScheduleCommand> = {
  kind: 'update_schedule',
  tenant: defaultTenant,
  id: 'auto',
}

export const scheduleRecord = 'schedule'

/** The update schedule: stored after a run, so that a run that a killed process missed is made up for. */
export const updateScheduleActor: ActorDefinition<UpdateScheduleState, UpdateScheduleCommand, Entry> = {
  kind: updateScheduleAddress.kind,
  persistence: 'write_through',
  formats: { [scheduleRecord]: { name: 'schedule of updates', version: 1, upgrades: {} } },
  fixedRecords: [scheduleRecord],
  wake: (_, records) => restoreState({ stored: undefined }, records, put),
  change: (state, change) => put(state, change as RecordChange),
  apply: rejectEntry,
  decide({ stored }, command) {
    if (command.type === 'put') return recordOnly([{ name: scheduleRecord, value: command.schedule }])
    return stored ? recordOnly([{ name: scheduleRecord, value: null }]) : answer(undefined)
  },
}

function put(state: UpdateScheduleState, { value }: RecordChange): void {
  state.stored = (value as StoredSchedule | null) ?? undefined
}
