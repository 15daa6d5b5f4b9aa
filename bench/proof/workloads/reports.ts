import { basic } from '#bench/harness/identity'
import { observeEach, slotsOf, type Workload } from '#bench/proof/workloads/expected-state'

/** Two workloads: reports over HTTP, and secrets of devices. */

export const reportedService = 'workload'
export const reportedPropId = 0x10
const services = [{ serviceIdentifier: reportedService, properties: [{ propId: reportedPropId, type: 'UINT32' }] }]

export const secretDevices = slotsOf('SECRET', 2)
export const floodedDevice = 'FLOODED-0'
export const reportingDevices = slotsOf('REPORTING', 4)

type Event = Readonly<Record<string, unknown>>

/** Devices of which some or all events are not counted by a workload. */
export const devicesWithUncountedEvents = [...secretDevices, ...reportingDevices, floodedDevice]

export function reportOf(deviceIdentifier: string, value: number): object {
  return {
    deviceIdentifier,
    services,
    updates: [{ serviceIdentifier: reportedService, propId: reportedPropId, value }],
  }
}

/**
 * Devices that are created by their first report, report again, and are deleted. `authorization` is the header of a
 * gateway, which may report for any device.
 */
export function reportsWorkload(authorization: string): Workload {
  return {
    name: 'reports',
    slots: reportingDevices,
    isOverridable: true,
    eventText({ type, deviceIdentifier, updates }: Event) {
      if (type !== 'OBJECT_UPDATED' || !reportingDevices.includes(String(deviceIdentifier))) return undefined
      const [item] = updates as { value?: number }[]
      return item?.value === undefined ? undefined : `${deviceIdentifier} ${item.value}`
    },
    nextChange(slot, before, number, random) {
      if (before && random.below(4) === 0) return { method: 'DELETE', path: `/devices/${slot}`, content: undefined }
      const content = `${slot} ${number}`
      const headers = { authorization }
      const report = { method: 'POST', path: '/link', headers, body: reportOf(slot, number), isSentOnce: true }
      return { ...report, content, eventText: content }
    },
    async observe(api) {
      const values = await api.values(reportingDevices, reportedService, reportedPropId)
      return new Map([...values].map(([device, value]) => [device, { content: `${device} ${value}` }]))
    },
  }
}

/** An alarm that is active while the reported value is odd. It is only load here: `test/simulation` checks alarms. */
export const reportedAlarm = {
  name: 'odd',
  severity: 'info',
  serviceIdentifier: reportedService,
  condition: { '==': [{ '%': [{ var: '0x10' }, 2] }, 1] },
  devices: reportingDevices,
} as const

const unknownSecret = 'unknown secret'

/** Secrets of devices: the secret in the last answer is valid. */
export function secretsWorkload(): Workload {
  return {
    name: 'secrets',
    slots: secretDevices,
    nextChange: (slot) => ({
      method: 'POST',
      path: `/devices/${slot}/secret`,
      content: unknownSecret,
      onAnswer: ({ text }) => (JSON.parse(text) as { secret: string }).secret,
    }),
    observe: (api, entries) =>
      observeEach(entries, async (slot, { observed: before, pending }) => {
        if (!before && !pending) return undefined
        const unknown = { content: unknownSecret }
        if (!before || before.content === unknownSecret) return unknown
        const authorization = basic({ name: slot, password: before.content })
        const { status } = await api.ask('POST', '/link', { headers: { authorization }, body: reportOf(slot, 1) })
        return status === 204 ? before : unknown
      }),
  }
}
