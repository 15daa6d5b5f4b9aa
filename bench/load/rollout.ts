import { randomBytes } from 'node:crypto'
import { answerWith } from '#bench/harness/answering'
import { CpuClock, type CpuUse } from '#bench/harness/cpu-clock'
import { askApi, authorizationHeader } from '#bench/harness/identity'
import type { LoadedServer } from '#bench/harness/under-load'
import { UpdatedFleet } from '#bench/load/updated-fleet'

/** A fleet to which a firmware is rolled out. */
interface RolloutSpec extends LoadedServer {
  readonly devices: number
  readonly links: number
  readonly imageBytes: number
}

/** From the moment the rollout begins until every device came back, and the server counts it as done. */
export interface RolloutResult extends CpuUse {
  readonly bytes: number
  /** Counted by the devices, from the request to the last byte. */
  readonly downloadsAtOnceMax: number
}

const project = 'rollout'
const firmware = '1.1.0'
const updatedMsMax = 10 * 60_000
const countedMsMax = 10_000

let spec: RolloutSpec
let fleet: UpdatedFleet

answerWith({
  /** All is there but that it begins. */
  async open(asked: RolloutSpec) {
    spec = asked
    const { port, devices, links, imageBytes, authorizations } = spec
    await ask('PUT', '/rollout', { firmware, percent: 100 })
    await ask('POST', '/rollout/pause')
    const headers = authorizationHeader(authorizations?.person)
    const path = `http://127.0.0.1:${port}/api/v1/updates/projects/${project}/releases/${firmware}`
    const { status } = await fetch(path, { method: 'PUT', headers, body: randomBytes(imageBytes) })
    if (status !== 201) throw new Error(`the release was answered ${status}`)
    fleet = new UpdatedFleet({ port, project, devices, links, authorization: authorizations?.link })
    await fleet.open()
  },

  async run(): Promise<RolloutResult> {
    const clock = new CpuClock(spec.serverProcessId)
    await ask('POST', '/rollout/resume')
    await fleet.allUpdated(updatedMsMax)
    await allCounted()
    const use = clock.read()
    fleet.check()
    return { ...use, bytes: fleet.bytes, downloadsAtOnceMax: fleet.downloadsAtOnceMax }
  },
})

/** The server's own books say the same. */
async function allCounted(): Promise<void> {
  const end = performance.now() + countedMsMax
  for (;;) {
    const { counts } = await ask<{ counts: Record<string, number> }>('GET', '/rollout')
    if (counts.done === spec.devices && counts.failed === 0 && counts.refused === 0) return
    if (performance.now() > end) throw new Error(`the server counts ${JSON.stringify(counts)}`)
    await new Promise((resolve) => setTimeout(resolve, 20))
  }
}

async function ask<Value>(method: string, path: string, body?: object): Promise<Value> {
  const { status, text } = await askApi(spec.port, `/updates/projects/${project}${path}`, {
    method,
    headers: authorizationHeader(spec.authorizations?.person),
    ...(body && { body: JSON.stringify(body) }),
  })
  if (status >= 300) throw new Error(`${method} ${path} was answered ${status}: ${text.slice(0, 200)}`)
  return JSON.parse(text) as Value
}
