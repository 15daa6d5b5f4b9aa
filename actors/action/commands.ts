import type { DeviceOutcome, StoredAction } from '#model/action'
import type { ActorAddress } from '#runtime/actor'
import type { ReminderDue } from '#runtime/system'

/** Commands of an action. Contract 3.6. */
export type ActionCommand = BeginAction | { readonly type: 'done' } | ReminderDue

/** The pages are stored before the action begins. */
export interface BeginAction {
  readonly type: 'begin'
  readonly action: Omit<StoredAction, 'createdAt' | 'isDone'>
}

/** Commands of one page of an action. */
export type ActionPageCommand = PutActionPage | PutOutcomes | ReminderDue

/** Sent before the action begins. */
export interface PutActionPage {
  readonly type: 'put'
  readonly devices: readonly string[]
}

/**
 * Indexed by the position of a device in the page. The first outcome of a device counts. Answered with `PageProgress`.
 */
export interface PutOutcomes {
  readonly type: 'outcomes'
  readonly outcomes: readonly (readonly [place: number, outcome: DeviceOutcome])[]
}

export interface PageProgress {
  /** Devices of the page without an outcome. */
  readonly pending: number
}

export function actionAddress(tenant: string, id: string): ActorAddress<unknown, ActionCommand> {
  return { kind: 'action', tenant, id }
}

/** Pages are numbered from 0. */
export function actionPageAddress(
  tenant: string,
  action: string,
  page: number,
): ActorAddress<unknown, ActionPageCommand> {
  return { kind: 'action_page', tenant, id: `${action}.${page}` }
}
