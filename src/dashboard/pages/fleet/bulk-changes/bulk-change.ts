import { etagOf } from '#client/client'
import type { Body } from '#client/routes'
import { problemText, statusOf } from '#dashboard/components/problem-text'
import { client } from '#dashboard/session'
import { after } from '#dashboard/timers'

/** How an action went on one device. */
export interface Outcome {
  readonly device: string
  /** Why it failed; undefined: it is done. */
  readonly fault?: string | undefined
}

/** Acts on these devices, and reports each outcome once it is known. Rejects with what failed for all others. */
export type Work = (
  devices: readonly string[],
  report: (outcomes: readonly Outcome[]) => void,
  signal: AbortSignal,
) => Promise<void>

/** What is to be done. */
export interface Plan {
  /** Before the number of devices: `Write Setpoint = 55 °C to`. */
  readonly text: string
  readonly work: Work
  readonly isDanger?: boolean
}

/** Browsers open six connections to a server; the page needs some for other requests. */
const requestsAtOnce = 4
const repeatsMax = 5

/** One request for each device, a few at once. `act` resolves with why it failed, if it did not throw that. */
export function forEachDevice(act: (device: string) => Promise<string | undefined>): Work {
  return async (devices, report, signal) => {
    const waiting = devices.values()
    const actOnWaiting = async () => {
      for (const device of waiting) {
        if (signal.aborted) return
        report([{ device, fault: await repeated(() => act(device)).catch(problemText) }])
      }
    }
    await Promise.all(Array.from({ length: requestsAtOnce }, actOnWaiting))
  }
}

/** Repeats what the server refuses because there are too many requests. */
async function repeated<Value>(act: () => Promise<Value>, repeats = repeatsMax): Promise<Value> {
  try {
    return await act()
  } catch (problem) {
    const isBusy = statusOf(problem) === 429 || statusOf(problem) === 503
    if (!isBusy || repeats === 0) throw problem
    await pause(((problem as { retryAfterSeconds?: number }).retryAfterSeconds ?? 1) * 1_000)
    return repeated(act, repeats - 1)
  }
}

function pause(ms: number): Promise<void> {
  return new Promise((resolve) => {
    after(ms, resolve)
  })
}

/** The outcomes of an action of this size are read in one page. */
const devicesPerAction = 5_000
const pollMs = 500

const faults: Readonly<Record<string, string>> = {
  REJECTED: 'The device refused the value.',
  DEVICE_OFFLINE: 'The device is offline.',
  DEVICE_TIMEOUT: 'The device did not answer. It may still have applied the value.',
  NOT_FOUND: 'The device does not have the service, or you may not change it.',
  INVALID: 'The device does not accept the value.',
}

/** Actions of the server, one after the other. Contract 3.6. */
export function writeValue(body: Omit<Body<'POST /devices/actions'>, 'devices' | 'groups'>): Work {
  return async (devices, report, signal) => {
    for (let from = 0; from < devices.length; from += devicesPerAction) {
      const some = devices.slice(from, from + devicesPerAction)
      const { id } = await repeated(() => client.call('POST /devices/actions', { body: { ...body, devices: some } }))
      const pending = new Set(some)
      for (let isDone = false; !isDone; ) {
        await pause(pollMs)
        if (signal.aborted) return
        const read = () => client.call('GET /devices/actions/:actionId', { parameters: { actionId: id } })
        const action = await repeated(read)
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
      // Those that the user may not read.
      report([...pending].map((device) => ({ device, fault: faults.NOT_FOUND })))
    }
  }
}

/** Adds the devices to a group, or removes them. */
export function changeGroup(groupId: string, isAdded: boolean): Work {
  const parameters = { groupId }
  return async (devices, report) => {
    const group = await client.call('GET /groups/:groupId', { parameters })
    const members = new Set(group.devices)
    for (const device of devices) {
      if (isAdded) members.add(device)
      else members.delete(device)
    }
    await client.call('PATCH /groups/:groupId', {
      parameters,
      ifMatch: etagOf(group),
      body: { devices: [...members] },
    })
    report(devices.map((device) => ({ device })))
  }
}

/** Adds a tag to `meta.tags` of the devices, or removes it. Contract 12, Names. */
export function changeTag(tag: string, isAdded: boolean): Work {
  return forEachDevice(async (deviceIdentifier) => {
    const parameters = { deviceIdentifier }
    const { meta } = await client.call('GET /meta/:deviceIdentifier', { parameters, query: { depth: 1 } })
    const tags = Array.isArray(meta?.tags) ? meta.tags : []
    if (tags.includes(tag) === isAdded) return undefined
    const changed = isAdded ? [...tags, tag] : tags.filter((each) => each !== tag)
    const body = { tags: changed.length > 0 ? changed : null }
    await client.call('PATCH /meta/:deviceIdentifier', { parameters, body })
    return undefined
  })
}
