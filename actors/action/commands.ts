import type { DeviceOutcome, StoredAction } from '#model/action'
import type { ActorAddress } from '#runtime/actor'
import type { ReminderDue } from '#runtime/system'

/** Commands of an action. Contract 3.6. */
export type ActionCommand = BeginAction | { readonly type: 'done' } | ReminderDue

/** The devices of an action are stored in pages before the action begins. */
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
 * Each outcome has the position of its device in the page. Only the first outcome of a device is stored. Answered with
 * `PageProgress`.
 */
export interface PutOutcomes {
  readonly type: 'outcomes'
  readonly outcomes: readonly (readonly [place: number, outcome: DeviceOutcome])[]
}

export interface PageProgress {
  /** The number of devices of the page that have no outcome yet; 0 for a deleted page. */
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
