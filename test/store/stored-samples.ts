import { accountActor } from '#actors/account/account'
import { actionActor, actionAddress, actionPageActor, actionPageAddress } from '#actors/action/action'
import { deviceActor } from '#actors/device/device'
import { ServiceState } from '#actors/device/service-state'
import { AlarmStates, type DeviceState, noAlarms, noDesired, noThrottles } from '#actors/device/state'
import { noDeviceFunctions } from '#actors/device/turn-runs'
import { directoryActor } from '#actors/directory/directory'
import { idempotencyActor, idempotencyAddress } from '#actors/idempotency/idempotency'
import { noticeBus } from '#actors/notice-bus'
import { sessionActor } from '#actors/session/session'
import { signingKeysActor } from '#actors/signing-keys/signing-keys'
import { tenantActor } from '#actors/tenant/tenant'
import { updateAddress, updateRecord } from '#actors/update/state'
import { scheduleRecord, updateScheduleActor, updateScheduleAddress } from '#actors/update-schedule/schedule'
import type { DesiredItem } from '#model/desired'
import type { Entry } from '#model/entry'
import { contentOf } from '#model/shape'
import { Activation, type AnyDefinition } from '#runtime/activation'
import type { ActorAddress, ActorDefinition, RecordFormat } from '#runtime/actor'
import { reminderFormat } from '#runtime/due-queue'
import { Registry } from '#runtime/registry'
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
  at,
  device,
  firstEntries,
  laterEntries,
  schema,
  shape,
  shapes,
  tenant,
  written,
} from '#test/store/sample-records/entries'
import { mqttSamples } from '#test/store/sample-records/mqtt'
import { functionSamples, notificationSamples } from '#test/store/sample-records/notifications'
import { watchedSamples } from '#test/store/sample-records/tenant'
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

const notices = noticeBus()
const tenants = tenantActor(notices)
const session = { kind: 'session', tenant: 'acme', id: 'Q7rVb2KxYd' }
const account = { kind: 'account', tenant: 'acme', id: '2Vb7qYx9Kd' }
const directory = { kind: 'directory', tenant: 'default', id: 'directory' }
const keyed = idempotencyAddress('acme', 'crn#user:2Vb7qYx9Kd', '8e03978e-40d5-43e8-bc93-6894a57f9324')
const keyedPrint = 'NzbLsXh8uDCcd-6MNwXF4W_7noWXFZAfHkxZsRGC9Xs'
const signingKeys = { kind: 'signing_keys', tenant: 'default', id: 'signing_keys' }

export const deviceDefinition = deviceActor({
  shapeById: (id) => shapes.byId(id),
  startedAt: 0,
  rules: noRuleViews,
  functions: noDeviceFunctions,
})

/** 32 consecutive bytes from `first`. */
function bytes(first: number): Buffer {
  return Buffer.from(Uint8Array.from({ length: 32 }, (_, index) => (first + index) & 0xff))
}

type AccessSample = readonly [name: string, definition: Formats, to: ActorAddress, record: string, means: unknown]

/** Records of one actor. */
function recordsOf(
  definition: Formats,
  to: ActorAddress,
  ...records: readonly (readonly [name: string, record: string, means: unknown])[]
): readonly AccessSample[] {
  return records.map(([name, record, means]) => [name, definition, to, record, means])
}

function answerSample(name: string, seed: number, reply: object | null): AccessSample {
  const means = { print: keyedPrint, seed: bytes(seed).subarray(0, 16), begunAt: at, reply }
  return [name, idempotencyActor, keyed, 'answer', means]
}

const roleGrants = [
  { permissions: { service: ['read', 'update'], '*': ['*'] }, devices: ['#$ABC-1'], services: ['*'] },
  { permissions: {}, devices: [], services: ['11111111-2222-3333-4444-555555555555'] },
]
const directoryUser = {
  ...{ id: '2Vb7qYx9Kd', tenant: 'acme', name: 'Zoë', email: 'zoe@acme.example', roles: ['admin', 'ops.1'] },
  ...{ state: 'active', hasPassword: true, factors: ['totp', 'webauthn'], createdAt: at },
  ...{ rolesSince: -1, rolesEdit: 1_108_152_157_446 },
}
const directoryTenant = {
  ...{ tenantIdentifier: 'acme', name: 'Acme GmbH', hosts: ['acme.example', 'localhost:8080'] },
  ...{ twoFactor: 'required', basic: false, createdAt: at, state: 'deleting' },
}
const credentials = {
  ...{ hash: '$argon2id$v=19$m=19456,t=2,p=1$c29tZXNhbHQ$aGFzaA', version: 3 },
  code: { hash: bytes(3), expiresAt: at + 604_800_000, resetsFactors: true },
  isDisabled: false,
}
const securityKey = {
  ...{ id: 'q83vEjRWeJCrze8S', publicKey: bytes(7), counter: 4_294_967_295, transports: ['internal', 'hybrid'] },
  ...{ name: 'Schlüssel', createdAt: at, lastUsedAt: null },
}
const factors = {
  totp: { secret: bytes(4), step: 58_790_000 },
  recovery: [bytes(5), bytes(6)],
  webauthn: [securityKey],
  wrong: { since: at, count: 2, last: at + 5 },
}
const boundSession = {
  ...{ user: '2Vb7qYx9Kd', scheme: 'dpop', jkt: '0ZcOCORZNYy-DWpqq30jZyJGHTN0d2HglBV3uiguA4I', number: 12 },
  ...{ createdAt: at, rotatedAt: at + 600_000, endsAt: at + 28_800_000, lastUsedAt: at + 660_000 },
  ...{ address: '2001:db8::1', agent: 'Mozilla/5.0 (ü)' },
}
const kid = 'NzbLsXh8uDCcd-6MNwXF4W_7noWXFZAfHkxZsRGC9Xs'
const signingKey = { kid, sealed: bytes(8), fingerprint: bytes(9), createdAt: at, retiresAt: at + 28_800_000 }
const apiKey = { name: 'Küche', hash: bytes(1), roles: ['viewer', 'ops.1'], createdAt: at, expiresAt: at + 5 }
const provisioningKey = { name: 'line 2', hash: bytes(2), createdAt: at, expiresAt: null, maxDevices: 500, devices: 17 }
const schedule = { pattern: '30 4 * * 1-5', nextAt: at + 86_400_000 }
const groupMade = { status: 201, location: '/api/v1/groups/Q7rVb2KxYd', body: '{"name":"Küche","devices":[]}' }

const accessSamples: readonly AccessSample[] = [
  ...recordsOf(tenants, tenant, ...watchedSamples, ...functionSamples),
  ...recordsOf(
    tenants,
    tenant,
    ['tenant-role', 'role/ops.1', { grants: roleGrants, since: 4_294_967_296, edit: 281_474_976_710_655 }],
    ['tenant-role-unsettled', 'role/new', { grants: [], since: null, edit: 0 }],
    ['tenant-api-key', 'api_key/9aBcDeFgHj', apiKey],
    ['tenant-json-name', 'json_name/telemetry/0x2000', 'température'],
    ['tenant-json-published', 'json_published/telemetry', 999],
    ['tenant-provisioning-key', 'provisioning_key/8aBcDeFgHj', provisioningKey],
  ),
  ...updateSamples.map(
    ([name, means]) => [name, noopUpdates, updateAddress('acme', '#$ABC-1'), updateRecord, means] as const,
  ),
  ['update-schedule', updateScheduleActor, updateScheduleAddress, scheduleRecord, schedule],
  ['device-token', deviceDefinition, device, 'token', 'n4bQgYhMfWWaL-qgxVrQFaO_TxsrC4Is0V1sFbDwCgg'],
  ['device-registrar', deviceDefinition, device, 'registrar', '8aBcDeFgHj'],
  ['directory-user', directoryActor(notices), directory, 'user/2Vb7qYx9Kd', directoryUser],
  ['directory-tenant', directoryActor(notices), directory, 'tenant/acme', directoryTenant],
  ...recordsOf(
    accountActor,
    account,
    ['account-credentials', 'credentials', credentials],
    ['account-factors', 'factors', factors],
    ['account-sessions', 'sessions', ['Q7rVb2KxYd', '7rVb2KxYdQ'].map((id, place) => [id, at + place])],
  ),
  ['session', sessionActor(notices), session, 'session', boundSession],
  ['signing-key', signingKeysActor(notices), signingKeys, `key/${kid}`, signingKey],
  ['action', actionActor, actionAddress('acme', '6Hn3wRt5Mz'), 'action', actionSample],
  ...pageSamples.map(
    ([name, means], page) =>
      [name, actionPageActor, actionPageAddress('acme', '6Hn3wRt5Mz', page), 'page', means] as const,
  ),
  answerSample('idempotency-open', 10, null),
  answerSample('idempotency-answer', 11, groupMade),
  answerSample('idempotency-empty', 12, { status: 204, location: null, body: '' }),
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
  recordSample('tenant-counters', keys.part(tenant, 'counters'), formatOf(tenants, 'counters'), {
    lastFlakeAddress: 77,
    devices: 3,
  }),
  recordSample('tenant-memory', keys.part(tenant, 'memory/B:1=A'), formatOf(tenants, 'memory/A'), 65_536),
  recordSample(
    'tenant-schema',
    keys.part(tenant, `schema/${shape.serviceIdentifier}`),
    formatOf(tenants, 'schema/a'),
    schema,
  ),
  recordSample(
    'device-secret',
    keys.part(device, 'secret'),
    { name: 'secret of a device', version: 1, upgrades: {} },
    Buffer.from('00112233445566778899aabbccddeeff', 'hex'),
  ),
  snapshotSample('device-snapshot', state),
  snapshotSample('device-snapshot-with-alarms', { ...state, alarms }),
  snapshotSample('device-snapshot-with-throttles', { ...state, throttles }),
  snapshotSample('device-snapshot-with-alarms-and-throttles', { ...state, alarms, throttles }),
  snapshotSample('device-snapshot-with-desired-values', { ...state, desired: new Map([['svc', desiredItems]]) }),
  snapshotSample('device-snapshot-with-acknowledgements', { ...state, alarms: acknowledged }),
  ...accessSamples.map(([name, formats, to, record, means]) =>
    recordSample(name, keys.part(to, record), formatOf(formats, record), means),
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

type Formats = Pick<ActorDefinition<never, never, Entry>, 'formats'>

function formatOf({ formats }: Formats, record: string): RecordFormat | undefined {
  return formats[record] ?? formats[`${record.slice(0, record.indexOf('/') + 1)}*`]
}

function recordSample(
  name: string,
  key: string,
  format: Parameters<typeof packRecord>[0] | undefined,
  means: unknown,
): StoredSample {
  if (!format) throw new Error(`${name} has no format`)
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
