import { putStored, recordActor, recordsWithoutEntry } from '#actors/record-actor'
import { defaultTenant } from '#actors/tenant/state'
import { type ActorAddress, answer, type CommandOf, type NoFields } from '#runtime/actor'

/** The next check of all devices of the server. Contract 6, Options. */
export interface StoredSchedule {
  readonly pattern: string
  /** Unix ms. */
  readonly nextAt: number
}

export interface UpdateScheduleState {
  stored: StoredSchedule | undefined
}

interface UpdateScheduleCommands {
  put: { readonly schedule: StoredSchedule }
  /** Ends the schedule. */
  clear: NoFields
}

export type UpdateScheduleCommand = CommandOf<UpdateScheduleCommands>

/** There is one schedule, for the whole server. */
export const updateScheduleAddress: ActorAddress<UpdateScheduleState, UpdateScheduleCommand> = {
  kind: 'update_schedule',
  tenant: defaultTenant,
  id: 'auto',
}

export const scheduleRecord = 'schedule'

/**
 * The update schedule. The next time is stored after a run, so a run that a killed process did not finish is repeated.
 */
export const updateScheduleActor = recordActor<UpdateScheduleState, UpdateScheduleCommands>({
  kind: updateScheduleAddress.kind,
  records: { [scheduleRecord]: 'schedule of updates' },
  empty: () => ({ stored: undefined }),
  put: putStored,
  decisions: {
    put: (_, { schedule }) => recordsWithoutEntry([{ name: scheduleRecord, value: schedule }]),
    clear: ({ stored }) => (stored ? recordsWithoutEntry([{ name: scheduleRecord, value: null }]) : answer(undefined)),
  },
})
