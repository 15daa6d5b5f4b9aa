import type { HttpAnswer } from '#bench/http'
import { type Change, type Observed, pass, type Workload } from '#bench/proof/workloads/expected-state'
import type { ProofApi } from '#bench/proof/workloads/proof-api'
import { isOffline, isOver, UpdateCourse, type UpdateStatus } from '#bench/proof/workloads/update-course'
import {
  refusal,
  type UpdatingDevice,
  type UpdatingDevices,
  updatingProject,
  updatingVersions,
} from '#bench/proof/workloads/updating-devices'

/** Updates of firmware: a device is pinned to another version and brought there, from one to the other and back. */

const project = `/updates/projects/${updatingProject}`
const restMsMax = 30_000
const pollMs = 30
const imageBytes = 3_000

type Event = Readonly<Record<string, unknown>>

/** Contents of a slot are `DEVICE pinned VERSION`, or with one of these words. */
type Led = 'updated' | 'led'

interface Shown {
  readonly firmwares: readonly { readonly firmware: string; readonly update?: UpdateStatus }[]
}

interface DeviceUpdate {
  readonly pin: string | undefined
  readonly firmware: string
  readonly update: UpdateStatus | undefined
}

/** Releases that no device gets but by its pin. Before the devices connect. */
export async function createReleases(api: ProofApi): Promise<void> {
  await api.must('PUT', `${project}/rollout`, { body: { firmware: updatingVersions[1], percent: 0 } })
  for (const [place, version] of updatingVersions.entries())
    await api.must('PUT', `${project}/releases/${version}`, { body: Buffer.alloc(imageBytes, 1 + place) })
}

/**
 * By request. A device whose start was acknowledged is updated after every kill, by events that never go back and end once;
 * the same request gives a lost answer again.
 */
export function requestedUpdatesWorkload(devices: UpdatingDevices): Workload {
  const courses = new Courses(devices.asked)
  const unknownContent = 'updated, by an answer that was lost'
  const started = (slot: string, version: string) => (answer: HttpAnswer) => {
    const { status, message } = JSON.parse(answer.text) as { status: string; message?: string }
    const isFirst = !courses.endLoss(slot)
    // One that was cut off may be under way all the same.
    if (status === 'STARTED' && (message === undefined || !isFirst)) return contentOf(slot, 'updated', version)
    if (status === 'DEVICE_NOT_OK' && message === refusal) return contentOf(slot, 'pinned', version)
    // A device that was offline continues with what it was offered, and may have finished.
    const hasFinished = status === 'NO_UPDATE' && devices.of(slot)?.version === version
    const isCutOff =
      hasFinished || status === 'DEVICE_OFFLINE' || (status === 'SERVER_ERROR' && message === 'could not be stored')
    if (!isCutOff) courses.wrong(`${slot} was answered ${answer.text}`)
    courses.lost(slot)
    return contentOf(slot, 'pinned', version)
  }
  return {
    name: 'requested updates',
    slots: devices.asked,
    pauseMs: 100,
    unknownContent,
    eventText: (event) => courses.receive(event),
    nextChange(slot, before): Change {
      const device = devices.of(slot) as UpdatingDevice
      const [, state, version] = before && before.content !== unknownContent ? before.content.split(' ') : []
      if (state === 'pinned' && version !== undefined && device.version !== version && device.isWelcome)
        return { method: 'POST', path: `/updates/${slot}`, content: started(slot, version) }
      return pinChange(device, version, before)
    },
    async observe(api, entries) {
      await courses.begin(api, devices)
      const found = new Map<string, Observed>()
      for (const [slot, { observed, pending }] of entries) {
        const { pin, firmware, update } = await courses.ended(api, slot)
        if (pin === undefined) continue
        const isThere = hasStarted(update, pin) && (api.isCopy || (update.status === 'DONE' && firmware === pin))
        const content = contentOf(slot, isThere && !courses.wasLost(slot, api) ? 'updated' : 'pinned', pin)
        const isUnheard = observed?.content === unknownContent || pending?.change.method === 'POST'
        found.set(slot, { content: isThere && isUnheard ? unknownContent : content })
      }
      return found
    },
  }
}

/**
 * By the hook: an acknowledged call is carried out in the end. After a kill its devices connect, and are considered for that
 * alone, unless the server has `DISABLE_CONNECT_UPDATE`.
 */
export function hookUpdatesWorkload(devices: UpdatingDevices): Workload {
  const courses = new Courses(devices.led)
  const path = `/updates/hook/${updatingProject}`
  const bodyOf = (slot: string) => ({ event: 'pins', devices: [slot] })
  return {
    name: 'updates by the hook',
    slots: devices.led,
    pauseMs: 100,
    eventText: (event) => courses.receive(event),
    nextChange(slot, before): Change {
      const [, state, version = ''] = before?.content.split(' ') ?? []
      if (state === 'pinned')
        return { method: 'POST', path, body: bodyOf(slot), content: contentOf(slot, 'led', version) }
      return pinChange(devices.of(slot) as UpdatingDevice, version === '' ? undefined : version, before)
    },
    async observe(api, entries) {
      await courses.begin(api, devices)
      const found = new Map<string, Observed>()
      for (const [slot, { observed, pending }] of entries) {
        const isCalled = pending?.change.path === path
        // Nothing shows whether an unanswered call was taken: it is repeated.
        if (isCalled && !api.isCopy) await api.must('POST', path, { body: bodyOf(slot) })
        const { pin } = await courses.ended(api, slot)
        if (pin === undefined) continue
        const isLed = isCalled || observed?.content === contentOf(slot, 'led', pin)
        if (isLed && !api.isCopy) await courses.mustHave(api, slot, pin)
        found.set(slot, { content: contentOf(slot, isLed ? 'led' : 'pinned', pin) })
      }
      return found
    },
  }
}

function contentOf(slot: string, state: 'pinned' | Led, version: string): string {
  return `${slot} ${state} ${version}`
}

/** To the other version; while the device is on its way or offline, to the same once more. */
function pinChange(device: UpdatingDevice, to: string | undefined, before: Observed | undefined): Change {
  const { identifier: slot, isWelcome, version } = device
  const path = `${project}/pins/${slot}`
  if (to !== undefined && before && (version !== to || !isWelcome))
    return { method: 'PUT', path, body: { firmware: to }, content: before.content }
  const firmware = updatingVersions.find((each) => each !== version) as string
  return { method: 'PUT', path, body: { firmware }, content: contentOf(slot, 'pinned', firmware) }
}

const notStarted = ['CHECKING', 'OFFERING', 'REFUSED']

function hasStarted(update: UpdateStatus | undefined, version: string): update is UpdateStatus {
  return update?.firmware === version && !isOffline(update) && !notStarted.includes(update.status)
}

/** The events of some devices, and what the server shows of these. */
class Courses {
  readonly #courses: ReadonlyMap<string, UpdateCourse>
  readonly #faults: string[] = []
  /** Devices that were offline or cut off when their update was requested last; and ever. */
  readonly #lost = new Set<string>()
  readonly #everLost = new Set<string>()

  constructor(names: readonly string[]) {
    this.#courses = new Map(names.map((name) => [name, new UpdateCourse()]))
  }

  wrong(text: string): void {
    this.#faults.push(text)
  }

  lost(slot: string): void {
    this.#lost.add(slot)
    this.#everLost.add(slot)
  }

  /** Whether it was lost until now. */
  endLoss(slot: string): boolean {
    return this.#lost.delete(slot)
  }

  /** A copy may be of any moment. */
  wasLost(slot: string, { isCopy }: ProofApi): boolean {
    return (isCopy ? this.#everLost : this.#lost).has(slot)
  }

  receive({ type, deviceIdentifier, offset, timestamp, ...status }: Event): undefined {
    if (type !== 'UPDATE_STATUS') return
    const next = { ...(status as unknown as UpdateStatus), at: Number(timestamp) }
    const wrong = this.#courses.get(String(deviceIdentifier))?.receive(Number(offset), next)
    if (wrong !== undefined) this.#faults.push(`${deviceIdentifier} ${wrong}`)
  }

  /** @throws what was wrong until now */
  async begin(api: ProofApi, devices: UpdatingDevices): Promise<void> {
    if (!api.isCopy) await devices.back()
    const [wrong] = this.#faults.splice(0)
    if (wrong !== undefined) throw new Error(wrong)
  }

  /** Waits for the end of an update; in a copy, to which no device connects, reads it as it is. @throws when it went back */
  async ended(api: ProofApi, slot: string): Promise<DeviceUpdate> {
    // Taken before the request: the update may go on meanwhile.
    const { last } = this.#courses.get(slot) ?? {}
    let seen = await readUpdate(api, slot)
    if (api.isCopy) return seen
    if (last && (seen.update?.at ?? 0) < last.at)
      throw new Error(`${slot} was published as ${last.status} at ${last.at}, and is ${JSON.stringify(seen.update)}`)
    for (const end = performance.now() + restMsMax; seen.update && !isOver(seen.update); ) {
      if (performance.now() > end)
        throw new Error(`${slot} is ${JSON.stringify(seen.update)} for ${restMsMax / 1000} s`)
      await pass(pollMs)
      seen = await readUpdate(api, slot)
    }
    return seen
  }

  /** @throws when the device does not get the version */
  async mustHave(api: ProofApi, slot: string, version: string): Promise<void> {
    for (const end = performance.now() + restMsMax; ; await pass(pollMs)) {
      const { firmware, update } = await this.ended(api, slot)
      if (firmware === version && update?.status === 'DONE' && update.firmware === version) return
      // By itself the server tries again minutes later.
      if (update && isOffline(update)) await api.must('POST', `/updates/${slot}`)
      if (performance.now() > end)
        throw new Error(`${slot} is led to ${version}, has ${firmware}, and is ${JSON.stringify(update)}`)
    }
  }
}

async function readUpdate(api: ProofApi, slot: string): Promise<DeviceUpdate> {
  const pin = await api.ask('GET', `${project}/pins/${slot}`)
  const shown = await api.ask('GET', `/updates/${slot}?depth=2`)
  const [first] = shown.status === 200 ? (JSON.parse(shown.text) as Shown).firmwares : []
  return {
    pin: pin.status === 200 ? (JSON.parse(pin.text) as { firmware: string }).firmware : undefined,
    firmware: first?.firmware ?? '',
    update: first?.update,
  }
}
