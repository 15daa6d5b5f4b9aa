import { actionActor, actionAddress, actionPageActor, actionPageAddress } from '#actors/action/action'
import { deviceActor } from '#actors/device/device'
import { ServiceState } from '#actors/device/service-state'
import { AlarmStates, type DeviceState, noAlarms, noDesired, noThrottles } from '#actors/device/state'
import { noDeviceFunctions } from '#actors/device/turn-runs'
import { noticeBus } from '#actors/notice-bus'
import { tenantActor } from '#actors/tenant/tenant'
import { updateAddress, updateRecord } from '#actors/update/state'
import type { DesiredItem } from '#model/desired'
import type { Entry } from '#model/entry'
import { contentOf } from '#model/shape'
import { Activation, type AnyDefinition } from '#runtime/activation'
import type { ActorAddress, ActorDefinition, RecordFormat } from '#runtime/actor'
import { reminderFormat } from '#runtime/due-queue'
import { formatOf, Registry } from '#runtime/registry'
import { tellFormat } from '#runtime/stored-tells'
import { headOf, unpackChunk } from '#store/chunk'
import { epochFormat } from '#store/epochs'
import { keys } from '#store/key-space'
import { packRecord, unpackRecord } from '#store/record-codec'
import { shapeFormat } from '#store/shapes'
import { beginFormat, redoFormat, StoreJournal } from '#store/store-journal'
import { noRuleViews, shownState } from '#test/actors/acting-device'
import { noopUpdates } from '#test/actors/update/acting-update'
import { packChunk } from '#test/store/pack-chunk'
import { actionSample, pageSamples } from '#test/store/sample-records/action'
import {
  alarm,
  at,
  device,
  firstEntries,
  laterEntries,
  shape,
  shapes,
  tenant,
  written,
} from '#test/store/sample-records/entries'
import { mqttSamples } from '#test/store/sample-records/mqtt'
import { functionSamples, notificationSamples } from '#test/store/sample-records/notifications'
import { updateSamples } from '#test/store/sample-records/update'

/** A stored value and its meaning. */
export interface StoredSample {
  readonly name: string
  readonly key: string
  readonly means: unknown
  write(): Uint8Array
  read(bytes: Uint8Array): unknown
}

const state: DeviceState = {
  device: device.id,
  exists: true,
  flakeAddress: 77,
  services: [
    new ServiceState(
      shape,
      [255, 0.5, { error: 'ab' }, '9223372036854775807', null],
      [at, at - 1, at - 2, 1, 0],
      [9, 8, 7, 6, 0],
    ),
  ],
  status: 'online',
  lastMessage: at,
  lastConnect: at - 1_000,
  numConnects: 2,
  session: 's-1',
  seq: 41,
  project: null,
  firmwares: [{ firmware: '1.0.0', index: 0 }],
  isAutoUpdated: true,
  meta: { place: 'Keller' },
  alarms: noAlarms,
  throttles: noThrottles,
  desired: noDesired,
  rules: undefined,
  functions: undefined,
}

/** One is active, one was active and waits again, and one waits. */
const alarms = AlarmStates.of([
  ['7Lf2wZs6Dy', { isActive: true, since: at, waitingSince: 0 }],
  ['9Pk4vRt8Ab', { isActive: false, since: at - 5, waitingSince: at + 1 }],
  ['3Qm5xUy7Bc', { isActive: false, since: 0, waitingSince: at + 2 }],
])

const desiredItems: readonly DesiredItem[] = [
  { propId: 1, value: [1, 2], since: at, id: 'a', status: 'SENT' },
  { propId: 2, value: 'x', since: at - 1, id: 'b', status: 'REJECTED', message: 'zu groß' },
]

const acknowledged = AlarmStates.of([...alarms])
acknowledged.set('7Lf2wZs6Dy', {
  ...{ isActive: true, since: at, waitingSince: 0 },
  acknowledged: { by: 'crn#user:2Vb7qYx9Kd', at: at + 9, comment: null },
})

const throttles = new Map([
  ['6Hn3wRt5Mz/2', at - 1],
  ['6Hn3wRt5Mz/once-an-hour', at],
])

const tenants = tenantActor(noticeBus())

export const deviceDefinition = deviceActor({
  shapeById: (id) => shapes.byId(id),
  startedAt: 0,
  rules: noRuleViews,
  functions: noDeviceFunctions,
})

type RecordSample = readonly [name: string, definition: Formats, to: ActorAddress, record: string, means: unknown]

/** Records whose meanings have the types of the code. */
const recordSamples: readonly RecordSample[] = [
  ['tenant-alarm', tenants, tenant, 'alarm/7Lf2wZs6Dy', alarm],
  ...functionSamples.map(([name, record, means]) => [name, tenants, tenant, record, means] as const),
  ...updateSamples.map(
    ([name, means]) => [name, noopUpdates, updateAddress('acme', '#$ABC-1'), updateRecord, means] as const,
  ),
  ['action', actionActor, actionAddress('acme', '6Hn3wRt5Mz'), 'action', actionSample],
  ...pageSamples.map(
    ([name, means], page) =>
      [name, actionPageActor, actionPageAddress('acme', '6Hn3wRt5Mz', page), 'page', means] as const,
  ),
  ...notificationSamples,
  ...mqttSamples,
]

export const storedSamples: readonly StoredSample[] = [
  recordSample('format', keys.format, { name: 'key space', version: 1, upgrades: {} }, null),
  recordSample('shape', keys.shape(written.id), shapeFormat, contentOf(written.serviceIdentifier, written.properties)),
  recordSample('epoch', keys.epoch(3), epochFormat, { name: 'q83vEjRWeJCrze8S', heads: { default: 12, other: 0 } }),
  recordSample('begin', keys.begin('default'), beginFormat, 4_294_967_296),
  recordSample('redo', keys.redo('default'), redoFormat, 4_294_967_296),
  recordSample('reminder', keys.reminder(device), reminderFormat, at),
  recordSample('tell', keys.tell(17), tellFormat, {
    to: device,
    command: { type: 'add', flakeAddress: 5, meta: { a: [1] } },
  }),
  snapshotSample('device-snapshot', state),
  snapshotSample('device-snapshot-with-alarms', { ...state, alarms }),
  snapshotSample('device-snapshot-with-throttles', { ...state, throttles }),
  snapshotSample('device-snapshot-with-alarms-and-throttles', { ...state, alarms, throttles }),
  snapshotSample('device-snapshot-with-desired-values', { ...state, desired: new Map([['svc', desiredItems]]) }),
  snapshotSample('device-snapshot-with-acknowledgements', { ...state, alarms: acknowledged }),
  ...recordSamples.map(([name, definition, to, record, means]) =>
    recordSample(name, keys.part(to, record), formatOf(definition as unknown as AnyDefinition<Entry>, record), means),
  ),
  ...firstEntries.map((entry, index) => chunkSample(`entry-${entry.kind.replaceAll('_', '-')}`, index + 1, [entry])),
  chunkSample('chunk-of-all', 1_000, firstEntries),
  ...laterEntries.map(([name, entry], index) => chunkSample(`entry-${name}`, 2_000 + index, [entry])),
]

function snapshotSample(name: string, means: DeviceState): StoredSample {
  const definition = deviceDefinition as unknown as AnyDefinition<Entry>
  const registry = () => new Registry([definition], new StoreJournal({ isSynced: false }))
  return {
    name,
    key: keys.snapshot(device),
    means: { offset: 9, state: shownState(means) },
    write: () => registry().snapshot(new Activation(definition, device, means, 9)) ?? new Uint8Array(),
    read(bytes) {
      const { lastOffset, state } = registry().wakeFrom(device, bytes)
      return { offset: lastOffset, state: shownState(state as DeviceState) }
    },
  }
}

type Formats = Pick<ActorDefinition<never, never, Entry>, 'kind' | 'formats'>

function recordSample(name: string, key: string, format: RecordFormat, means: unknown): StoredSample {
  return {
    name,
    key,
    means,
    write: () => packRecord(format, means),
    read: (bytes) => unpackRecord(format, bytes),
  }
}

function chunkSample(name: string, firstOffset: number, events: readonly Entry[]): StoredSample {
  const head = { time: at + 1, bytesBefore: 123_456_789, count: events.length }
  return {
    name,
    key: keys.chunk('default', firstOffset),
    means: { ...head, firstOffset, events },
    write: () => packChunk(events, head.time, head.bytesBefore),
    read: (bytes) => ({ ...headOf(bytes), ...unpackChunk(firstOffset, bytes, shapes) }),
  }
}
