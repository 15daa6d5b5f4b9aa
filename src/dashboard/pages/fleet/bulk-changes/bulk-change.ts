import { etagOf } from '#client/client'
import type { Body } from '#client/routes'
import { forEachDevice, retryRefused, type Work } from '#dashboard/pages/fleet/bulk-changes/each-device'
import { client } from '#dashboard/session'
import { pause } from '#dashboard/timers'

export interface Plan {
  /** The text before the number of devices: `Write Setpoint = 55 °C to`. */
  readonly text: string
  readonly work: Work
  readonly isDanger?: boolean
}

const devicesPerAction = 5_000
const pollMs = 500

const faults: Readonly<Record<string, string>> = {
  REJECTED: 'The device refused the value.',
  DEVICE_OFFLINE: 'The device is offline.',
  DEVICE_TIMEOUT: 'The device did not answer. It may still have applied the value.',
  NOT_FOUND: 'The device does not have the service, or you may not change it.',
  INVALID: 'The value does not fit the device, so it was not sent.',
}

/**
 * Writes a value by actions of the server, each for up to `devicesPerAction` devices, one after the other. Contract
 * 3.6.
 */
export function writeValue(body: Omit<Body<'POST /devices/actions'>, 'devices' | 'groups'>): Work {
  return async (devices, report, signal) => {
    for (let from = 0; from < devices.length; from += devicesPerAction) {
      const some = devices.slice(from, from + devicesPerAction)
      const { id } = await retryRefused(() =>
        client.call('POST /devices/actions', { body: { ...body, devices: some } }),
      )
      const pending = new Set(some)
      for (let isDone = false; !isDone; ) {
        await pause(pollMs)
        if (signal.aborted) return
        const read = () => client.call('GET /devices/actions/:actionId', { parameters: { actionId: id } })
        const action = await retryRefused(read)
        isDone = action.state === 'done'
        const known = action.devices.filter(({ status }) => status !== 'PENDING')
        const news = known.filter(({ deviceIdentifier }) => pending.delete(deviceIdentifier))
        report(
          news.map(({ deviceIdentifier: device, status, updates, details }) => {
            const reason = updates?.find(({ message }) => message)?.message ?? details?.[0]?.message
            const fault = faults[status]
            return { device, fault: fault && reason ? `${fault} (${reason})` : fault }
          }),
        )
      }
      // The server does not report the results of devices that the user may not read.
      report(
        [...pending].map((device) => ({ device, fault: 'You may not read the device, so its result is unknown.' })),
      )
    }
  }
}

export function changeGroup(groupId: string, isAdded: boolean): Work {
  const parameters = { groupId }
  return async (devices, report) => {
    await retryRefused(async () => {
      const group = await client.call('GET /groups/:groupId', { parameters })
      const members = new Set(group.devices)
      for (const device of devices) {
        if (isAdded) members.add(device)
        else members.delete(device)
      }
      const body = { devices: [...members] }
      await client.call('PATCH /groups/:groupId', { parameters, ifMatch: etagOf(group), body })
    })
    report(devices.map((device) => ({ device })))
  }
}

export function createGroup(name: string): Work {
  return async (devices, report) => {
    await client.call('POST /groups', { body: { name, devices: [...devices] } })
    report(devices.map((device) => ({ device })))
  }
}

/** Adds a tag to `meta.tags` of the devices, or removes it. Contract 12, Names. */
export function changeTag(tag: string, isAdded: boolean): Work {
  return forEachDevice(async (deviceIdentifier) => {
    const parameters = { deviceIdentifier }
    const record = await client.call('GET /meta/:deviceIdentifier', { parameters, query: { depth: 1 } })
    const tags = Array.isArray(record.meta?.tags) ? record.meta.tags : []
    if (tags.includes(tag) === isAdded) return undefined
    const changed = isAdded ? [...tags, tag] : tags.filter((each) => each !== tag)
    const body = { tags: changed.length > 0 ? changed : null }
    await client.call('PATCH /meta/:deviceIdentifier', { parameters, ifMatch: etagOf(record), body })
    return undefined
  })
}
