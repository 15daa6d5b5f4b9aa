import { createHash, randomBytes } from 'node:crypto'
import { get } from 'node:http'
import { authorizationHeader, callApi } from '#bench/harness/identity'
import { serveFunctions } from '#bench/harness/remote-functions'
import type { ServerTarget } from '#bench/harness/server-target'
import { FleetLink, type LinkMessage, sessionName } from '#bench/load/fleet-link'
import { CpuClock, type CpuUse } from '#bench/process-usage'
import { pass } from '#bench/time'

/** A fleet that gets firmware by a rollout. */
interface RolloutSpec extends ServerTarget {
  readonly devices: number
  readonly links: number
  readonly imageBytes: number
}

/** From the start of the rollout until every device is connected again and counted as done. */
export interface RolloutResult extends CpuUse {
  readonly bytes: number
  /** Counted by the devices, from the request to the last byte. */
  readonly downloadsAtOnceMax: number
}

interface Offer extends LinkMessage {
  readonly id: string
  readonly firmware: string
  readonly url: string
  readonly sha256: string
  readonly size: number
}

const project = 'rollout'
const oldFirmware = '1.0.0'
const firmware = '1.1.0'
const updatedMsMax = 10 * 60_000
const countedMsMax = 10_000

let spec: RolloutSpec
let failure: Error | undefined
let updated = 0
let bytes = 0
let downloads = 0
let downloadsAtOnceMax = 0
/** Indices of devices that run the new firmware. */
const isNew = new Set<number>()

serveFunctions({
  /** Prepares everything; the rollout is paused. */
  async open(given: RolloutSpec) {
    spec = given
    const { port, imageBytes, authorizations, links } = spec
    await ask('PUT', '/rollout', { firmware, percent: 100 })
    await ask('POST', '/rollout/pause')
    const headers = authorizationHeader(authorizations?.person)
    const path = `http://127.0.0.1:${port}/api/v1/updates/projects/${project}/releases/${firmware}`
    const { status } = await fetch(path, { method: 'PUT', headers, body: randomBytes(imageBytes) })
    if (status !== 201) throw new Error(`the release was answered ${status}`)
    for (let first = 0; first < links; first++) await linkOf(first).open()
  },

  async run(): Promise<RolloutResult> {
    const clock = new CpuClock(spec.serverProcessId)
    await ask('POST', '/rollout/resume')
    await until(updatedMsMax, async () => (updated === spec.devices ? undefined : `${updated} devices were updated`))
    await until(countedMsMax, async () => {
      const { counts } = await ask<{ counts: Record<string, number> }>('GET', '/rollout')
      const isDone = counts.done === spec.devices && counts.failed === 0 && counts.refused === 0
      return isDone ? undefined : `the server counts ${JSON.stringify(counts)}`
    })
    return { ...clock.read(), bytes, downloadsAtOnceMax }
  },
})

/** Its devices accept each offer: they download the image, check it, and reconnect at once. */
function linkOf(first: number): FleetLink {
  const { port, devices, links, authorizations } = spec
  const link = new FleetLink({
    port,
    authorization: authorizations?.link,
    prefix: 'UPDATED',
    first,
    step: links,
    count: Math.ceil((devices - first) / links),
    hello: (device) => {
      const running = isNew.has(device) ? firmware : oldFirmware
      const session = `${sessionName}-${running}`
      return { session, project, firmwares: [{ firmware: running, index: 0 }], services: [] }
    },
    failed: (error) => {
      failure ??= error
    },
    welcomedAgain: () => {
      updated++
    },
    other: (message, device) => {
      if (message.type === 'FIRMWARE') update(link, message as Offer, device)
      else failure ??= new Error(`a link received ${JSON.stringify(message)}`)
    },
  })
  return link
}

function update(link: FleetLink, offer: Offer, device: number): void {
  const { flakeAddress, id } = offer
  const report = (status: object) => link.sendMessage({ type: 'FIRMWARE_STATUS', flakeAddress, id, ...status })
  report({ status: 'STARTED' })
  download(offer).then(
    () => {
      report({ status: 'DOWNLOADING', progress: 100 })
      report({ status: 'INSTALLING' })
      report({ status: 'INSTALLED' })
      isNew.add(device)
      link.greet(device)
    },
    (error) => {
      failure ??= error
    },
  )
}

async function download({ url, sha256, size }: Offer): Promise<void> {
  downloadsAtOnceMax = Math.max(downloadsAtOnceMax, ++downloads)
  const hash = createHash('sha256')
  let received = 0
  await new Promise<void>((resolve, reject) => {
    get(url, { agent: false }, (answer) => {
      if (answer.statusCode !== 200) reject(new Error(`an image was answered ${answer.statusCode}`))
      answer.on('data', (part: Buffer) => {
        received += part.length
        hash.update(part)
      })
      answer.on('error', reject)
      answer.on('end', resolve)
    }).on('error', reject)
  })
  if (received !== size || hash.digest('hex') !== sha256) throw new Error(`a wrong image of ${received} bytes`)
  downloads--
  bytes += size
}

async function until(msMax: number, missing: () => Promise<string | undefined>): Promise<void> {
  const end = performance.now() + msMax
  for (;;) {
    const found = await missing()
    if (failure) throw failure
    if (found === undefined) return
    if (performance.now() > end) throw new Error(found)
    await pass(10)
  }
}

function ask<Value>(method: string, path: string, body?: object): Promise<Value> {
  const person = spec.authorizations?.person
  return callApi<Value>(spec.port, `/updates/projects/${project}${path}`, { person, method, ...(body && { body }) })
}
