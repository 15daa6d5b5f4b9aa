import type { DeviceCommands } from '#actors/device/commands'
import type { DeviceState } from '#actors/device/state'
import type { Entry } from '#model/entry'
import type { DeviceStatus } from '#model/meta'
import { Problem } from '#model/problem'
import { answer, type Decision, type IndexChange, record, refuse, type Turn } from '#runtime/actor'

/**
 * Devices whose stored status is not offline: entries `<deviceIdentifier>`. After a restart they must reconnect or are
 * set offline.
 */
export const presentIndex = 'present'

/**
 * The device sent a HELLO, or a message without a link (`POST /link`, or MQTT without HELLO). This change causes no
 * event. If the status changes too, the decision also has an entry.
 */
export interface Connected {
  readonly type: 'connected'
  readonly lastMessage: number
  readonly lastConnect: number
  readonly numConnects: number
}

/** Contract 3.10: only a change of status causes an event. */
export function decideStatus(
  state: DeviceState,
  command: DeviceCommands['status'],
  turn: Turn,
  startedAt: number,
): Decision<Entry> {
  if (!state.exists) return refuse(new Problem('device_unknown'))
  if (state.status === command.status) return answer(undefined)
  const entry = statusEntry(state, command.status, turn.now, startedAt)
  return record([entry], { indexes: [presenceChange(state, command.status !== 'offline')] })
}

/**
 * The device sent something: it is online, with one more connect if it was not online or if the message is a connect.
 */
export function markOnline(
  state: DeviceState,
  now: number,
  startedAt: number,
  isConnect: boolean,
): { entries: readonly Entry[]; changes: readonly Connected[]; indexes: readonly IndexChange[] } {
  const isNew = isConnect || state.status !== 'online'
  const numConnects = connectsSince(state, startedAt) + (isNew ? 1 : 0)
  const lastConnect = isNew ? now : state.lastConnect
  const changes: Connected[] = [{ type: 'connected', lastMessage: now, lastConnect, numConnects }]
  if (state.status === 'online') return { entries: [], changes, indexes: [] }
  const entry = { ...statusEntry(state, 'online', now, startedAt), lastMessage: now, lastConnect, numConnects }
  return { entries: [entry], changes, indexes: [presenceChange(state, true)] }
}

export function applyConnected(state: DeviceState, { lastMessage, lastConnect, numConnects }: Connected): void {
  state.lastMessage = lastMessage
  state.lastConnect = lastConnect
  state.numConnects = numConnects
}

/** Connects counted by this process; counts of earlier processes are not shown. Contract 3.10. */
export function connectsSince(state: DeviceState, startedAt: number): number {
  return state.lastConnect < startedAt ? 0 : state.numConnects
}

export function presenceChange(state: DeviceState, isPresent: boolean): IndexChange {
  return { index: presentIndex, entry: state.device, isPresent }
}

function statusEntry(state: DeviceState, status: DeviceStatus, now: number, startedAt: number) {
  const { device, lastMessage, lastConnect } = state
  const numConnects = connectsSince(state, startedAt)
  return { kind: 'status_changed' as const, device, at: now, status, lastMessage, lastConnect, numConnects }
}
