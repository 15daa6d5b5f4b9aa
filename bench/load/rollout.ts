import { randomBytes } from 'node:crypto'
import { Fleet } from '#bench/fleet/fleet'
import { deviceKinds } from '#bench/fleet/kinds'
import { simultaneousDownloads } from '#bench/fleet/updates'
import { askApi, authorizationHeader, callApi } from '#bench/harness/identity'
import { serveFunctions } from '#bench/harness/remote'
import type { ServerTarget } from '#bench/harness/servers'
import { type CpuUse, startCpuClock } from '#bench/process-usage'
import { until } from '#bench/time'

/** A fleet that gets firmware by a rollout. */
interface RolloutSpec extends ServerTarget {
  readonly devices: number
  readonly links: number
  readonly imageBytes: number
}

/** Figures from the start of the rollout until the server counts every device as done. */
export interface RolloutResult extends CpuUse {
  readonly bytes: number
  /** As the devices count: a download lasts from the request to the end of the answer. */
  readonly downloadsAtOnceMax: number
}

const [kind] = deviceKinds()
const project = `/updates/projects/${kind?.code.toLowerCase()}`
const firmware = '9.0.0'
const onlineMsMax = 60_000
const updatedMsMax = 10 * 60_000
const countedMsMax = 10_000

let spec: RolloutSpec
let fleet: Fleet

serveFunctions({
  /** Prepares everything; the rollout is paused. */
  async open(given: RolloutSpec) {
    spec = given
    const { port, imageBytes, authorizations, devices, links } = spec
    await ask('PUT', '/rollout', { firmware, percent: 100 })
    await ask('POST', '/rollout/pause')
    const headers = authorizationHeader(authorizations?.person)
    const upload = { method: 'PUT', headers, body: randomBytes(imageBytes) }
    const { status } = await askApi(port, `${project}/releases/${firmware}`, upload)
    if (status !== 201) throw new Error(`the release was answered ${status}`)
    fleet = new Fleet({
      ...{ url: `ws://127.0.0.1:${port}`, devices, links, prefix: 'UPDATED', kinds: kind ? [kind] : [] },
      updates: 'well',
    })
    fleet.pause()
    fleet.start()
    if (!(await fleet.allOnline(onlineMsMax))) throw new Error('not all devices are welcome')
  },

  async run(): Promise<RolloutResult> {
    const readClock = startCpuClock(spec.processId)
    const { updates, faults } = fleet.counts
    await ask('POST', '/rollout/resume')
    await until(() => updates.updated === spec.devices || faults.length > 0, updatedMsMax)
    const isCounted = async () => {
      const { counts } = await ask<{ counts: Record<string, number> }>('GET', '/rollout')
      return counts.done === spec.devices && counts.failed === 0 && counts.refused === 0
    }
    const isDone = await until(isCounted, countedMsMax, 50)
    if (!isDone || faults.length > 0) throw new Error(`${JSON.stringify(updates)}; ${faults.join('; ')}`)
    return { ...readClock(), bytes: updates.bytes, downloadsAtOnceMax: simultaneousDownloads.most }
  },
})

function ask<Value>(method: string, path: string, body?: object): Promise<Value> {
  const person = spec.authorizations?.person
  return callApi<Value>(spec.port, `${project}${path}`, { person, method, ...(body && { body }) })
}
