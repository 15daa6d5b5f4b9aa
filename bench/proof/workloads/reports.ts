import { type Observed, slotsOf, type Workload } from '#bench/proof/workloads/expected-state'
import { type ProofApi, queryOf } from '#bench/proof/workloads/proof-api'
import { until } from '#bench/time'

/** Reports over HTTP and their effects (mails, alarms); secrets of devices. */

export const reportedService = 'workload'
export const reportedPropId = 0x10
const services = [{ serviceIdentifier: reportedService, properties: [{ propId: reportedPropId, type: 'UINT32' }] }]

export const secretDevices = slotsOf('SECRET', 2)
export const floodedDevice = 'FLOODED-0'
export const mailedDevice = 'MAILED-0'
const reportingDevices = slotsOf('COMING', 4)
const alarmedDevices = slotsOf('ALARMED', 3)
const delayedDevices = slotsOf('WAITING', 6)

type Event = Readonly<Record<string, unknown>>

/** Devices whose events no workload counts. */
export const uncountedDevices = [
  ...secretDevices,
  ...reportingDevices,
  ...alarmedDevices,
  ...delayedDevices,
  floodedDevice,
]

export function reportOf(deviceIdentifier: string, value: number): object {
  return {
    deviceIdentifier,
    services,
    updates: [{ serviceIdentifier: reportedService, propId: reportedPropId, value }],
  }
}

/** A change by a report. `gateway`: the authorization to report for any device. */
function reportChange(gateway: string, device: string, value: number) {
  const headers = { authorization: gateway }
  return { method: 'POST', path: '/link', headers, body: reportOf(device, value), isSentOnce: true } as const
}

/** Devices that are created by their first report, report again, and are deleted. */
export function reportsWorkload(gateway: string): Workload {
  return reporting('reports', reportingDevices, gateway, true)
}

/** Reports that a function mails, slow enough for each to become a mail. */
export function mailedReportsWorkload(gateway: string): Workload {
  return { ...reporting('reports that are mailed', [mailedDevice], gateway, false), pauseMs: 150 }
}

function reporting(name: string, slots: readonly string[], gateway: string, isDeleted: boolean): Workload {
  return {
    name,
    slots,
    isOverridable: true,
    eventText({ type, deviceIdentifier, updates }: Event) {
      if (type !== 'OBJECT_UPDATED' || !slots.includes(String(deviceIdentifier))) return undefined
      const [item] = updates as { value?: number }[]
      return item?.value === undefined ? undefined : `${deviceIdentifier} ${item.value}`
    },
    nextChange(slot, before, number, random) {
      if (isDeleted && before && random.below(4) === 0)
        return { method: 'DELETE', path: `/devices/${slot}`, content: undefined }
      const content = `${slot} ${number}`
      return { ...reportChange(gateway, slot, number), content, eventText: content }
    },
    async observe(api) {
      const values = await reportedValues(api, slots)
      return new Map([...values].map(([device, value]) => [device, { content: `${device} ${value}` }]))
    },
  }
}

function reportedValues(api: ProofApi, devices: readonly string[]): Promise<ReadonlyMap<string, number>> {
  return api.values(devices, reportedService, reportedPropId)
}

/** Active while the reported value is odd: a counter changes its state with each report. */
export const turningAlarm = {
  name: 'turning',
  severity: 'info',
  serviceIdentifier: reportedService,
  condition: { '==': [{ '%': [{ var: '0x10' }, 2] }, 1] },
  devices: alarmedDevices,
} as const
/** Active after the reported value was odd for a second. */
export const delayedAlarm = { ...turningAlarm, name: 'waiting', devices: delayedDevices, forSeconds: 1 } as const
/** Enough on a busy machine. */
const raisedMsMax = 10_000
const pollMs = 50

/** Reports that each change the state of an alarm; each new state is published once and in order. `alarm`: its resource name. */
export function alarmStatesWorkload(gateway: string, alarm: string): Workload {
  /** By device, the changes by their offsets: a second subscriber receives the same ones. */
  const changes = new Map<string, Map<unknown, number>>()
  return {
    name: 'states of alarms',
    slots: alarmedDevices,
    eventText({ type, resourceIdentifier, deviceIdentifier, offset }: Event) {
      if (type !== 'ALARM_STATUS_ACTIVE' && type !== 'ALARM_STATUS_INACTIVE') return undefined
      if (resourceIdentifier !== alarm) return undefined
      const device = String(deviceIdentifier)
      const counted = changes.get(device) ?? new Map<unknown, number>()
      changes.set(device, counted)
      const count = counted.get(offset) ?? counted.size + 1
      counted.set(offset, count)
      return stateOf(device, count, type === 'ALARM_STATUS_ACTIVE')
    },
    nextChange(slot, before) {
      const count = countIn(before) + 1
      const content = stateOf(slot, count)
      return { ...reportChange(gateway, slot, count), content, eventText: content }
    },
    observe: (api) => observedStates(api, alarm, alarmedDevices),
  }
}

/** Reports whose condition holds long enough, or does not. If it holds after a kill, the alarm becomes active. */
export function delayedAlarmsWorkload(gateway: string, alarm: string): Workload {
  return {
    name: 'alarms with a delay',
    slots: delayedDevices,
    // So that reports arrive at every moment of the delay.
    pauseMs: 200,
    nextChange(slot, before, _, random) {
      const count = countIn(before) + 1 + random.below(2)
      return { ...reportChange(gateway, slot, count), content: stateOf(slot, count) }
    },
    async observe(api) {
      let found: ReadonlyMap<string, Observed> = new Map()
      const isRight = async () => {
        found = await observedStates(api, alarm, delayedDevices)
        return [...found].every(([slot, state]) => state.content === stateOf(slot, countIn(state)))
      }
      await until(isRight, raisedMsMax, pollMs)
      return found
    },
  }
}

async function observedStates(api: ProofApi, alarm: string, devices: readonly string[]) {
  const values = await reportedValues(api, devices)
  const rows = await api.rows<{ resourceIdentifier: string; deviceIdentifier: string }>(
    `/alarms/status?active=true${queryOf(devices)}`,
  )
  const isActive = (device: string) =>
    rows.some(({ resourceIdentifier, deviceIdentifier }) => resourceIdentifier === alarm && deviceIdentifier === device)
  return new Map([...values].map(([device, count]) => [device, { content: stateOf(device, count, isActive(device)) }]))
}

function countIn(observed: Observed | undefined): number {
  return Number(observed?.content.split(' ').at(-1) ?? 0)
}

function stateOf(device: string, count: number, isActive = count % 2 === 1): string {
  return `${device} ${isActive ? 'active' : 'inactive'} ${count}`
}

/** Secrets of devices: the last one that was answered is valid. */
export function secretsWorkload(): Workload {
  const unknownContent = 'another'
  return {
    name: 'secrets',
    slots: secretDevices,
    unknownContent,
    nextChange: (slot) => ({
      method: 'POST',
      path: `/devices/${slot}/secret`,
      content: ({ text }) => (JSON.parse(text) as { secret: string }).secret,
    }),
    async observe(api, entries) {
      const found = new Map<string, Observed>()
      for (const [slot, { observed: before, pending }] of entries) {
        if (!before && !pending) continue
        found.set(slot, { content: unknownContent })
        if (!before || before.content === unknownContent) continue
        const authorization = `Basic ${Buffer.from(`${slot}:${before.content}`).toString('base64')}`
        const { status } = await api.ask('POST', '/link', { headers: { authorization }, body: reportOf(slot, 1) })
        if (status === 204) found.set(slot, before)
      }
      return found
    },
  }
}
