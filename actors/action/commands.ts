import type { DeviceOutcome, StoredAction } from '#model/action'
import type { ReminderDue } from '#runtime/system'

/** What an action can be asked. Contract 3.6. */
export type ActionCommand = BeginAction | { readonly type: 'done' } | ReminderDue

/** Its pages are stored. */
export interface BeginAction {
  readonly type: 'begin'
  readonly action: Omit<StoredAction, 'createdAt' | 'isDone'>
}

/** What a page of its devices can be asked. */
export type ActionPageCommand = PutActionPage | TellOutcomes | ReminderDue

/** Before its action begins. */
export interface PutActionPage {
  readonly type: 'put'
  readonly devices: readonly string[]
}

/** By the place of a device in the page. Of each device the first one counts. Answered with `PageProgress`. */
export interface TellOutcomes {
  readonly type: 'outcomes'
  readonly outcomes: readonly (readonly [place: number, outcome: DeviceOutcome])[]
}

export interface PageProgress {
  /** Devices of the page that have no outcome yet. */
  readonly pending: number
}
