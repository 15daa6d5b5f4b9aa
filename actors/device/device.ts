import { isDeepStrictEqual } from 'node:util'
import { alarmLogRow, decideAcknowledge } from '#actors/device/alarms'
import type { DeviceCommand, DeviceCommands, Hello, Welcome } from '#actors/device/commands'
import { declare, serviceRow, undeclaredEntry } from '#actors/device/declaration'
import {
  decideDesiredResult,
  decideSendDesired,
  decideSetDesired,
  desiredEnds,
  endReachedValues,
} from '#actors/device/desired'
import { endingsMax, evaluateAllAlarms } from '#actors/device/evaluation'
import { firmwareRows } from '#actors/device/firmware-index'
import { withRuns } from '#actors/device/function-runs'
import { limitMemory, type MemoryLimits, unlimitedMemory } from '#actors/device/memory'
import {
  type DeviceRules,
  decideDueAlarms,
  decideEvaluate,
  decidePost,
  decideReport,
  evaluatedAfter,
  isRepeated,
  withEvaluation,
} from '#actors/device/report'
import { deviceFormat, readSnapshot, shapeIdsOf, writeSnapshot } from '#actors/device/snapshot'
import { absentDevice, type DeviceState } from '#actors/device/state'
import { applyChange, applyEntry, type DeviceChange } from '#actors/device/state-changes'
import { decideStatus, markOnline, presenceChange } from '#actors/device/status'
import type { DeviceFunctions } from '#actors/device/turn-runs'
import { decideWrite } from '#actors/device/writes'
import { deviceTokenAddress } from '#actors/device-token/device-token'
import { formatOf } from '#actors/record-actor'
import { type TenantCommand, tenantAddress } from '#actors/tenant/commands'
import { updateAddress } from '#actors/update/state'
import type { Discovered, Entry } from '#model/entry'
import { changeMeta } from '#model/meta'
import { Problem } from '#model/problem'
import type { Shape } from '#model/shape'
import {
  type ActorAddress,
  type ActorDefinition,
  answer,
  type Decision,
  record,
  refuse,
  type Turn,
  tell,
} from '#runtime/actor'

export interface DeviceOptions {
  readonly shapeById: (id: string) => Shape
  /** Start of this process, Unix ms; connects are counted from then on. */
  readonly startedAt: number
  readonly rules: DeviceRules
  readonly functions: DeviceFunctions
  readonly memory?: MemoryLimits
}

// Records with the hash of the device's secret, the hash of its token, and the id of the provisioning key that
// registered it. They are not part of the snapshot: they use no memory of the device, and a new device connection reads
// them without waking the device.
export const secretRecord = 'secret'
export const registrarRecord = 'registrar'
export const tokenRecord = 'token'

export function deviceAddress(tenant: string, device: string): ActorAddress<DeviceState | undefined, DeviceCommand> {
  return { kind: 'device', tenant, id: device }
}

/**
 * One device of one tenant: its services, property values, status and metadata. Reports are frequent, so a report is
 * stored as an entry only, and the next start replays the entries since the last snapshot (`redo`).
 */
export function deviceActor({
  shapeById,
  startedAt,
  rules,
  functions,
  memory = unlimitedMemory,
}: DeviceOptions): ActorDefinition<DeviceState, DeviceCommand, Entry> {
  return {
    kind: 'device',
    persistence: 'redo',
    formats: {
      '': deviceFormat,
      [secretRecord]: formatOf('secret of a device'),
      [registrarRecord]: formatOf('registrar of a device'),
      [tokenRecord]: formatOf('token of a device'),
    },
    wake: ({ id }) => absentDevice(id),
    writeSnapshot,
    readSnapshot: (address, reader) => readSnapshot(address.id, reader, shapeById),
    sharedIn: shapeIdsOf,
    // Entries of updates name the device, but belong to the update actor.
    concerns: (entry) => ('device' in entry && entry.kind !== 'update_changed' ? entry.device : undefined),
    apply: applyEntry,
    indexOf: alarmLogRow,
    exists: (state) => state.exists,
    change: (state, change) => applyChange(state, change as DeviceChange),
    decide: (state, command, turn) => {
      const decision = decideCommand(state, command, turn, rules, startedAt)
      return withRuns(state, limitMemory(state, decision, turn, memory), turn, functions)
    },
  }
}

/** The decision for a command, before the memory limits are checked and functions run. */
function decideCommand(
  state: DeviceState,
  command: DeviceCommand,
  turn: Turn,
  rules: DeviceRules,
  startedAt: number,
): Decision<Entry> {
  switch (command.type) {
    case 'report':
      return endReachedValues(state, decideReport(state, command, turn, rules), turn)
    case 'hello':
      return evaluatedAfter(
        state,
        endReachedValues(state, decideHello(state, command, turn, startedAt), turn, command.services),
        turn,
        rules,
      )
    case 'post': {
      const declared = isRepeated(state, command) ? [] : command.services
      const decision = endReachedValues(state, decidePost(state, command, turn, startedAt), turn, declared)
      return evaluatedAfter(state, decision, turn, rules)
    }
    case 'status':
      return decideStatus(state, command, turn, startedAt)
    case 'patch_meta':
      return decidePatchMeta(state, command, turn)
    case 'delete_meta_key':
      return decideDeleteMetaKey(state, command, turn)
    case 'write':
      return decideWrite(state, command)
    case 'add':
      return decideAdd(state, command, turn)
    case 'set_secret':
      return decideSetSecret(state, command)
    case 'set_token':
      return decideSetToken(state, command, turn)
    case 'end_alarms':
      return decideEndAlarms(state, turn, rules)
    case 'remove':
      return decideRemove(state, command, turn, rules)
    case 'evaluate':
      return decideEvaluate(state, turn, rules)
    case 'acknowledge_alarm':
      return decideAcknowledge(state, command, turn)
    case 'set_desired':
      return decideSetDesired(state, command, turn)
    case 'send_desired':
      return decideSendDesired(state, command, turn)
    case 'desired_result':
      return decideDesiredResult(state, command, turn)
    case 'reminder_due':
      return decideDueAlarms(state, turn, rules)
  }
}

/** Contract 3.11. Stores a snapshot at once, so that the device is listed immediately. */
function decideAdd(state: DeviceState, command: DeviceCommands['add'], turn: Turn): Decision<Entry> {
  if (state.exists) return refuse(new Problem('conflict'))
  const { device } = state
  const { flakeAddress, meta, secretHash, registrar } = command
  const entries: Entry[] = [{ kind: 'device_added', device, flakeAddress, at: turn.now }]
  if (Object.keys(meta).length > 0) entries.push({ kind: 'meta_set', device, at: turn.now, meta })
  return record(entries, {
    isCheckpointed: true,
    records: [
      ...(secretHash ? [{ name: secretRecord, value: secretHash }] : []),
      ...(registrar === undefined ? [] : [{ name: registrarRecord, value: registrar }]),
    ],
  })
}

function decideSetSecret(state: DeviceState, { hash }: DeviceCommands['set_secret']): Decision<Entry> {
  if (!state.exists) return refuse(new Problem('not_found'))
  return record([], { records: [{ name: secretRecord, value: hash }] })
}

function decideSetToken(
  state: DeviceState,
  { hash, before }: DeviceCommands['set_token'],
  { tenant }: Turn,
): Decision<Entry> {
  if (!state.exists) return refuse(new Problem('not_found'))
  const { device } = state
  const isReplaced = before !== undefined && before !== hash
  return record([], {
    records: [{ name: tokenRecord, value: hash }],
    tells: [
      tell(deviceTokenAddress(hash), { type: 'own', tenant, device }),
      ...(isReplaced ? [tell(deviceTokenAddress(before), { type: 'disown', tenant, device })] : []),
    ],
  })
}

function decideEndAlarms(state: DeviceState, turn: Turn, rules: DeviceRules): Decision<Entry> {
  const { device, alarms } = state
  if (alarms.size <= endingsMax) return answer(false)
  const ended = evaluateAllAlarms(state, undefined, turn.now, turn.reminder())
  const recorded = record<Entry>([], { answer: true })
  return ended ? withEvaluation(recorded, ended, { tenant: turn.tenant, device }, rules) : recorded
}

/**
 * Contract 3.11. First ends the alarms and removes the properties, because some clients may receive the events of these
 * changes but not `DEVICE_DELETE`.
 */
function decideRemove(
  state: DeviceState,
  { registrar, token }: DeviceCommands['remove'],
  turn: Turn,
  rules: DeviceRules,
): Decision<Entry> {
  if (!state.exists) return refuse(new Problem('not_found'))
  const { device, flakeAddress, services } = state
  const entries = [
    ...desiredEnds(state, turn.now),
    ...services.map(({ shape }) => undeclaredEntry(state, shape, turn.now)),
  ]
  const gone: TenantCommand = { type: 'device_gone', ...(registrar !== undefined && { key: registrar }) }
  const removal = record<Entry>([...entries, { kind: 'device_removed', device, flakeAddress, at: turn.now }], {
    isCheckpointed: true,
    ...(turn.reminder() !== null && { reminder: null }),
    answer: { flakeAddress },
    records: [
      { name: secretRecord, value: null },
      { name: registrarRecord, value: null },
      ...(token === undefined ? [] : [{ name: tokenRecord, value: null }]),
    ],
    indexes: [
      presenceChange(state, false),
      ...services.map(({ shape }) => serviceRow(device, shape, false)),
      ...firmwareRows(device, state, absentDevice(device)),
    ],
    tells: [
      tell(tenantAddress(turn.tenant), gone),
      tell(updateAddress(turn.tenant, device), { type: 'forget' }),
      ...(token === undefined
        ? []
        : [tell(deviceTokenAddress(token), { type: 'disown', tenant: turn.tenant, device })]),
    ],
  })
  const ended = evaluateAllAlarms(state, undefined, turn.now, null, Number.POSITIVE_INFINITY)
  if (!ended) return removal
  // Changes of alarm states without an event are left out, because the device and its alarm states are deleted.
  const where = { tenant: turn.tenant, device }
  const evaluated = withEvaluation(removal, { ...ended, waiting: [], forgotten: [] }, where, rules)
  return { ...evaluated, events: [...ended.entries, ...removal.events] }
}

/** The device identifies itself and declares its services. Contract 7, HELLO; 4.6; DEVICE_DISCOVERY of contract 4. */
function decideHello(state: DeviceState, hello: Hello, turn: Turn, startedAt: number): Decision<Entry> {
  if (!state.exists) return refuse(new Problem('device_unknown'))
  const declaration = declare(state, hello.services, turn.now)
  const online = markOnline(state, turn.now, startedAt, hello.isConnect)
  const discovered = discover(state, hello, turn.now)
  const welcome: Welcome = {
    flakeAddress: state.flakeAddress,
    seq: hello.session === state.session ? state.seq : 0,
  }
  const entries: Entry[] = [...declaration.entries, ...(discovered ? [discovered] : []), ...online.entries]
  return record(entries, {
    changes: [...declaration.changes, ...online.changes],
    shared: declaration.shared,
    isCheckpointed: declaration.changes.length > 0,
    indexes: [
      ...declaration.indexes,
      ...(discovered ? firmwareRows(state.device, state, discovered) : []),
      ...online.indexes,
    ],
    answer: welcome,
  })
}

function discover(state: DeviceState, hello: Hello, now: number): Discovered | undefined {
  const { device, flakeAddress } = state
  const project = hello.project ?? state.project
  const firmwares = hello.firmwares ?? state.firmwares
  const { isAutoUpdated } = hello
  const isSame =
    project === state.project && isAutoUpdated === state.isAutoUpdated && isDeepStrictEqual(firmwares, state.firmwares)
  const isAnnounced = hello.firmwares !== undefined || state.firmwares.length === 0
  if (isSame && !isAnnounced) return undefined
  return { kind: 'discovered', device, flakeAddress, at: now, project, firmwares, isAutoUpdated }
}

/** Contract 3.10: a merge patch. Without a change there is no event. Answered with the resulting metadata. */
function decidePatchMeta(state: DeviceState, { patch }: DeviceCommands['patch_meta'], turn: Turn): Decision<Entry> {
  if (!state.exists) return refuse(new Problem('not_found'))
  const change = changeMeta(state.meta, patch)
  if ('refusal' in change) {
    return refuse(new Problem('invalid', undefined, { details: [{ path: '', message: change.refusal }] }))
  }
  if (JSON.stringify(change.meta) === JSON.stringify(state.meta)) return answer(state.meta)
  return record([{ kind: 'meta_set', device: state.device, at: turn.now, meta: change.meta }], { answer: change.meta })
}

function decideDeleteMetaKey(
  state: DeviceState,
  { key }: DeviceCommands['delete_meta_key'],
  turn: Turn,
): Decision<Entry> {
  if (!state.exists || !Object.hasOwn(state.meta, key)) return refuse(new Problem('not_found'))
  return record([{ kind: 'meta_deleted', device: state.device, at: turn.now, key }])
}
