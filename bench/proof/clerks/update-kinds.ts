import type { HttpAnswer } from '#bench/http'
import type { Found, LedgerKind, Wish } from '#bench/proof/clerks/ledger'
import type { ProofApi } from '#bench/proof/clerks/proof-api'
import { isOffline, isOver, UpdateCourse, type UpdateTold } from '#bench/proof/clerks/update-course'
import {
  refusal,
  type UpdatingDevice,
  type UpdatingDevices,
  updatingProject,
  updatingVersions,
} from '#bench/proof/clerks/updating-devices'

/**
 * Updates of firmware: a device is held at another version, and brought there, from one to the other and back. What is told
 * of it is judged as it is heard; by that a state of long ago is told from one of now, which reads the same.
 */

const project = `/updates/projects/${updatingProject}`
const restMsMax = 30_000
const pollMs = 30
const imageBytes = 3_000

type Event = Readonly<Record<string, unknown>>

interface ShownUpdate extends UpdateTold {
  readonly status: string
}

interface Shown {
  readonly firmwares: readonly { readonly firmware: string; readonly update?: ShownUpdate }[]
}

/** Where one device stands: what it is held at, and what it has. */
interface Standing {
  readonly pin: string | undefined
  readonly firmware: string
  readonly update: ShownUpdate | undefined
}

/** What there is for the devices; nothing of it leaves by itself but where a pin says so. Before they come. */
export async function makeUpdates(api: ProofApi): Promise<void> {
  await api.must('PUT', `${project}/rollout`, { body: { firmware: updatingVersions[1], percent: 0 } })
  for (const [place, version] of updatingVersions.entries())
    await api.must('PUT', `${project}/releases/${version}`, { body: Buffer.alloc(imageBytes, 1 + place) })
}

/**
 * By hand. Whoever was answered that the device begins finds it updated behind every kill, told as a course that never goes
 * back and ends once; an answer that was lost is the same when it is asked for again.
 */
export function askedUpdatesKind(devices: UpdatingDevices): LedgerKind {
  const courses = new Courses(devices.asked)
  const unknown = 'updated, and nobody heard the answer'
  const begun = (slot: string, version: string) => (answer: HttpAnswer) => {
    const { status, message } = JSON.parse(answer.text) as { status: string; message?: string }
    const isFirst = !courses.endLoss(slot)
    // One that was cut off may be under way all the same.
    if (status === 'STARTED' && (message === undefined || !isFirst)) return `${slot} updated ${version}`
    if (status === 'DEVICE_NOT_OK' && message === refusal) return `${slot} pinned ${version}`
    // One that was offline goes on with what it was offered, and may come back with it meanwhile.
    const hasCome = status === 'NO_UPDATE' && devices.of(slot)?.version === version
    const isCutOff =
      hasCome || status === 'DEVICE_OFFLINE' || (status === 'SERVER_ERROR' && message === 'could not be stored')
    if (!isCutOff) courses.wrong(`${slot} was answered ${answer.text}`)
    courses.lost(slot)
    return `${slot} pinned ${version}`
  }
  return {
    name: 'updates asked for',
    slots: devices.asked,
    pauseMs: 100,
    unknown,
    told: (event) => courses.hear(event),
    wish(slot, before): Wish {
      const device = devices.of(slot) as UpdatingDevice
      const [, state, version] = before && before.held !== unknown ? before.held.split(' ') : []
      if (state === 'pinned' && version !== undefined && device.version !== version && device.isWelcome)
        return { method: 'POST', path: `/updates/${slot}`, held: begun(slot, version) }
      return pinned(device, version, before)
    },
    async look(api, entries) {
      await courses.open(api, devices)
      const found = new Map<string, Found>()
      for (const [slot, entry] of entries) {
        const { pin, firmware, update } = await courses.atRest(api, slot)
        if (pin === undefined) continue
        const isThere = hasBegun(update, pin) && (api.isCopy || (update.status === 'DONE' && firmware === pin))
        const held = `${slot} ${isThere && !courses.wasLost(slot, api) ? 'updated' : 'pinned'} ${pin}`
        const isUnheard = entry.found?.held === unknown || entry.pending?.wish.method === 'POST'
        found.set(slot, { held: isThere && isUnheard ? unknown : held })
      }
      return found
    },
  }
}

/**
 * By the hook: what it was called for is done in the end, whatever was killed on the way. Behind a kill its devices come back,
 * and are looked at for that alone, unless the server is told not to (`DISABLE_CONNECT_UPDATE`).
 */
export function hookedUpdatesKind(devices: UpdatingDevices): LedgerKind {
  const courses = new Courses(devices.led)
  const hookPath = `/updates/hook/${updatingProject}`
  const hooked = (slot: string) => ({ method: 'POST', path: hookPath, body: { event: 'pins', devices: [slot] } })
  return {
    name: 'updates by the hook',
    slots: devices.led,
    pauseMs: 100,
    told: (event) => courses.hear(event),
    wish(slot, before): Wish {
      const [, state, version] = before?.held.split(' ') ?? []
      if (state === 'pinned') return { ...hooked(slot), held: `${slot} led ${version}` }
      return pinned(devices.of(slot) as UpdatingDevice, version, before)
    },
    async look(api, entries) {
      await courses.open(api, devices)
      const found = new Map<string, Found>()
      for (const [slot, entry] of entries) {
        const wasHooked = entry.found?.held.startsWith(`${slot} led `) === true
        const { path } = entry.pending?.wish ?? {}
        const isHooking = path === hookPath
        // That it was called without an answer shows nowhere: it is called again.
        if (isHooking && !api.isCopy) await api.must('POST', hookPath, { body: hooked(slot).body })
        const { pin } = await courses.atRest(api, slot)
        if (pin === undefined) continue
        const isSame = entry.found?.held.endsWith(` ${pin}`) === true
        const isLed = isHooking || (wasHooked && isSame)
        if (isLed && !api.isCopy) await courses.mustHave(api, slot, pin)
        found.set(slot, { held: isLed ? `${slot} led ${pin}` : `${slot} pinned ${pin}` })
      }
      return found
    },
  }
}

/** To the other version; or where it is on its way, or is not back yet, to the same once more. */
function pinned(device: UpdatingDevice, to: string | undefined, before: Found | undefined): Wish {
  const { identifier: slot, isWelcome, version } = device
  const path = `${project}/pins/${slot}`
  if (to !== undefined && before && (version !== to || !isWelcome))
    return { method: 'PUT', path, body: { firmware: to }, held: before.held }
  const firmware = updatingVersions.find((each) => each !== version) as string
  return { method: 'PUT', path, body: { firmware }, held: `${slot} pinned ${firmware}` }
}

const notBegun = ['CHECKING', 'OFFERING', 'REFUSED']

/** The device said of it that it begins, or more. */
function hasBegun(update: ShownUpdate | undefined, version: string): update is ShownUpdate {
  return update?.firmware === version && !isOffline(update) && !notBegun.includes(update.status)
}

/** What was told of some devices, and what is shown of them. */
class Courses {
  readonly #courses: ReadonlyMap<string, UpdateCourse>
  readonly #faults: string[] = []
  /** They were away, or were cut off, when they were asked last; and ever. */
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

  hear({ type, deviceIdentifier, offset, timestamp, ...told }: Event): undefined {
    if (type !== 'UPDATE_STATUS') return
    const wrong = this.#courses.get(String(deviceIdentifier))?.hear(Number(offset), {
      ...(told as unknown as UpdateTold),
      at: Number(timestamp),
    })
    if (wrong !== undefined) this.#faults.push(`${deviceIdentifier} ${wrong}`)
  }

  /** @throws what was wrong until now */
  async open(api: ProofApi, devices: UpdatingDevices): Promise<void> {
    if (!api.isCopy) await devices.back()
    const [wrong] = this.#faults.splice(0)
    if (wrong !== undefined) throw new Error(wrong)
  }

  /** Once its update is over; of a copy, to which no device comes back, as it is. @throws when it went back */
  async atRest(api: ProofApi, slot: string): Promise<Standing> {
    // Heard before it is asked: meanwhile it may go on.
    const { last } = this.#courses.get(slot) ?? {}
    let seen = await standingOf(api, slot)
    if (api.isCopy) return seen
    if (last && (seen.update?.at ?? 0) < last.at)
      throw new Error(`${slot} was told to be ${last.status} at ${last.at}, and is ${JSON.stringify(seen.update)}`)
    for (const end = performance.now() + restMsMax; seen.update && !isOver(seen.update); ) {
      if (performance.now() > end)
        throw new Error(`${slot} is ${JSON.stringify(seen.update)} for ${restMsMax / 1000} s`)
      await new Promise((resolve) => setTimeout(resolve, pollMs))
      seen = await standingOf(api, slot)
    }
    return seen
  }

  /** @throws when it does not come to have it */
  async mustHave(api: ProofApi, slot: string, version: string): Promise<void> {
    for (const end = performance.now() + restMsMax; ; await new Promise((resolve) => setTimeout(resolve, pollMs))) {
      const { firmware, update } = await this.atRest(api, slot)
      if (firmware === version && update?.status === 'DONE' && update.firmware === version) return
      // By itself it is tried again minutes later.
      if (update && isOffline(update)) await api.must('POST', `/updates/${slot}`)
      if (performance.now() > end)
        throw new Error(`${slot} is led to ${version}, has ${firmware}, and is ${JSON.stringify(update)}`)
    }
  }
}

async function standingOf(api: ProofApi, slot: string): Promise<Standing> {
  const pin = await api.ask('GET', `${project}/pins/${slot}`)
  const shown = await api.ask('GET', `/updates/${slot}?depth=2`)
  const [first] = shown.status === 200 ? (JSON.parse(shown.text) as Shown).firmwares : []
  return {
    pin: pin.status === 200 ? (JSON.parse(pin.text) as { firmware: string }).firmware : undefined,
    firmware: first?.firmware ?? '',
    update: first?.update,
  }
}
