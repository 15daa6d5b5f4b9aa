import { createHash } from 'node:crypto'
import { Fleet } from '#bench/fleet/fleet'
import { controlsService } from '#bench/fleet/kinds'
import { basic, gateway } from '#bench/harness/identity'
import { pass, stay, type Walk, type WalkPlace } from '#bench/proof/soak/walks'
import { reportOf } from '#bench/proof/workloads/reports'

/** Devices that come and go, and what is done to those that stay: each comes by a name that nobody had before it. */

const onlineMsMax = 20_000

/** In front of the names of those that go again. */
export const passingPrefix = 'PASSING'

/** On a link of its own, for some seconds; then it is deleted. */
export const linkedDevice: Walk = {
  name: 'devices on links',
  atOnce: 3,
  pauseMs: 500,
  async go(place, number) {
    const { api, url, random, key } = place
    const fleet = new Fleet({
      ...{ url: url.replace(/^http/, 'ws'), key, prefix: `${passingPrefix}-${number}`, devices: 1, links: 1 },
      ...{ rate: 40, changes: 2, seed: number, backoffMsMax: 400 },
      ...(random.next() < 0.5 && { protocol: 'msgpack', form: 'short' }),
    })
    fleet.start()
    try {
      if (!(await fleet.allOnline(onlineMsMax))) throw new Error('a device is not welcome')
      await stay(place, random.between(500, 3_000))
      if (random.next() < 0.3) fleet.cutAll()
      await stay(place, random.between(100, 1_000))
    } finally {
      await fleet.stop(random.next() < 0.7)
    }
    if (fleet.counts.faultCount > 0) throw new Error(fleet.counts.faults.join('; '))
    for (const { identifier } of fleet.devices) await api.must('DELETE', `/devices/${identifier}`)
  },
}

/** By HTTP, with a secret of its own, or through a gateway; then it is deleted. */
export const reportingDevice: Walk = {
  name: 'devices by HTTP',
  atOnce: 3,
  pauseMs: 300,
  async go(place, number) {
    const { api, random, key } = place
    const deviceIdentifier = `${passingPrefix}-HTTP-${number}`
    let authorization = gateway(key)
    if (random.next() < 0.5) {
      const { secret } = await api.must<{ secret: string }>('POST', '/devices', { body: { deviceIdentifier } })
      authorization = basic({ name: deviceIdentifier, password: secret })
    }
    for (let left = 1 + random.below(10); left > 0; left--) {
      await api.must('POST', '/link', { headers: { authorization }, body: reportOf(deviceIdentifier, left) })
      await stay(place, random.between(0, 200))
    }
    await api.must('PATCH', `/meta/${deviceIdentifier}`, { body: { seen: number } })
    await api.must('DELETE', `/devices/${deviceIdentifier}`)
  },
}

/** Somebody asks a linked device to become something. Some of these devices do it at once, some later, some never. */
export function written(devices: readonly string[]): Walk {
  return {
    name: 'writes',
    atOnce: 3,
    pauseMs: 200,
    async go({ api, random }, number) {
      const device = devices[random.below(devices.length)]
      const path = `/devices/${device}/services/${controlsService.serviceIdentifier}/properties`
      const { status, text } = await api.ask('PUT', path, { body: { '0x2000': 5 + (number % 20) } })
      // Its link may be cut at this moment; and of some it is known that they say nothing.
      if (![200, 409, 504].includes(status)) throw new Error(`${path} was answered ${status} ${text.slice(0, 200)}`)
    },
  }
}

/** Kinds of devices of a fleet name the project that they belong to. */
const projects = ['climate', 'meter', 'pump'] as const
const imageBytes = 200_000
const rolledOutMsMax = 20_000

/** A firmware comes to a group of devices, which take it; then the rollout and the release before it are taken away. */
export function rolledOut(group: string): Walk {
  /** By project: those that were there before, and can go when nobody takes them any more. */
  const passed = new Map<string, readonly string[]>()
  return {
    name: 'rollouts',
    atOnce: 1,
    pauseMs: 8_000,
    async go(place, number) {
      const { api } = place
      const project = projects[number % projects.length] as string
      const path = `/updates/projects/${project}`
      const firmware = `2.0.${number}`
      await api.must('PUT', `${path}/releases/${firmware}?hardware=rev-b`, { body: imageOf(number) })
      await api.must('PUT', `${path}/rollout`, { body: { firmware, percent: 100, groups: [group] } })
      await finished(place, path)
      await api.must('DELETE', `${path}/rollout`)
      const left: string[] = [firmware]
      for (const last of passed.get(path) ?? []) {
        const { status } = await api.ask('DELETE', `${path}/releases/${last}?hardware=rev-b`)
        if (status === 409) left.push(last)
        else if (status >= 300) throw new Error(`${path}/releases/${last} was answered ${status}`)
      }
      passed.set(path, left)
    },
  }
}

/** Until all that were chosen have come to an end, or some time has passed: a device may be slow, or away. */
async function finished(place: WalkPlace, path: string): Promise<void> {
  const end = performance.now() + rolledOutMsMax
  while (performance.now() < end && !place.isOver()) {
    await pass(250)
    const { counts } = await place.api.must<{ counts: Readonly<Record<string, number>> }>('GET', `${path}/rollout`)
    const { chosen = 0, done = 0, failed = 0, refused = 0 } = counts
    if (chosen > 0 && done + failed + refused >= chosen) return
  }
}

/** Nothing that could be made smaller. */
function imageOf(number: number): Uint8Array {
  const blocks = Array.from({ length: Math.ceil(imageBytes / 32) }, (_, at) =>
    createHash('sha256').update(`${number} ${at}`).digest(),
  )
  return Buffer.concat(blocks).subarray(0, imageBytes)
}
