import { deviceAddress } from '#actors/device/device'
import type { DeviceState } from '#actors/device/state'
import { type StoredUpdate, type UpdateActorState, type UpdateContext, updateAddress } from '#actors/update/state'
import { isAbove, type ReadRollout } from '#test/simulation/reference-updates'
import type { SimulatedDevice } from '#test/simulation/simulated-device'
import type { Order, Piece } from '#test/simulation/simulated-firmware'
import { answerOf, type SimulatedServer, tenant } from '#test/simulation/simulated-server'
import type { Witness } from '#test/simulation/witness'

/** Checks each firmware offer when it arrives, and the images that devices download. Contract 6. */
export class OfferChecker {
  readonly stopped = new StoppedRollout()
  readonly #witness: Witness
  readonly #devices: readonly SimulatedDevice[]
  /** Possible pins of each device since the last rest. */
  readonly #pins = new Map<string, Set<string>>()
  /** Devices that connected as refusing automatic updates, and did not change that since. */
  readonly #refusing = new Set<string>()
  /** Devices with a requested update since the last rest, which may have joined an automatic one. */
  readonly #byHand = new Set<string>()
  /** Ids of updates that were not running when the deletion of a release was requested or answered. */
  readonly #unprotected = new Set<string>()
  #server: SimulatedServer

  constructor(server: SimulatedServer, witness: Witness, devices: readonly SimulatedDevice[]) {
    this.#server = server
    this.#witness = witness
    this.#devices = devices
    this.moveTo(server)
    for (const device of devices) {
      device.host = {
        download: (...args) => this.#download(...args),
        offered: (...offered) => this.#offered(...offered),
        greets: ({ name, firmware }) => firmware.isAccepting && this.#refusing.delete(name),
        welcomed: ({ name, firmware }) => !firmware.isAccepting && this.#refusing.add(name),
        report: (what) => this.#witness.report(what),
      }
    }
  }

  moveTo(server: SimulatedServer): void {
    this.#server = server
    server.firmwareSent = (id) => this.#sent(id)
  }

  get pinnedDevices(): Iterable<string> {
    return this.#pins.keys()
  }

  pinned(device: string, firmware: string): void {
    this.#pins.set(device, new Set([...(this.#pins.get(device) ?? []), firmware]))
  }

  requested(device: string): void {
    this.#byHand.add(device)
  }

  /** Call at rest: earlier pins and requests do not count any more. */
  settle(pins: ReadonlyMap<string, string>): void {
    this.#pins.clear()
    this.#byHand.clear()
    for (const [device, firmware] of pins) this.#pins.set(device, new Set([firmware]))
  }

  /** An update that is not running does not protect its image, though its device may start late. */
  unprotectUpdates(): void {
    for (const { name } of this.#devices) {
      const stored = this.#storedOf(name)
      if (stored && stored.counted?.stage !== 'running') this.#unprotected.add(stored.context.id)
    }
  }

  // The state cannot be read while the store is being loaded.
  #storedOf(device: string): StoredUpdate | undefined {
    const { registry, isServing } = this.#server.assembly.context.system
    return isServing ? (registry.peek(updateAddress(tenant, device)).state as UpdateActorState).stored : undefined
  }

  /** An offer must be stored before it is sent. */
  #sent(id: string): void {
    const { registry, isServing } = this.#server.assembly.context.system
    // The state cannot be read while the store is being loaded.
    if (!isServing) return
    for (const { name } of this.#devices) {
      const { state, lastOffset } = registry.peek(updateAddress(tenant, name))
      const { stored } = state as UpdateActorState
      if (stored?.context.id !== id) continue
      const isOffered = stored.state === 'offering' || (stored.state === 'started' && stored.context.resends > 0)
      if (isOffered && lastOffset > registry.head(tenant).committed)
        this.#witness.report(`${name} is offered ${id}, which is not stored yet`)
      return
    }
    // The update of a device that was removed at that moment is forgotten.
    const isThere = (name: string) => (registry.peek(deviceAddress(tenant, name)).state as DeviceState).exists
    if (this.#devices.every(({ name }) => isThere(name)))
      this.#witness.report(`${id} is offered, and is not in the device's state`)
  }

  /** A device receives an offer, new or repeated. */
  #offered({ name }: SimulatedDevice, { id, firmware, index }: Order, isNew: boolean): void {
    this.#witness.count(isNew ? 'firmware offered' : 'firmware offered once more')
    const stored = this.#storedOf(name)
    // The update has already ended.
    if (stored?.context.id !== id) return
    const { by, from } = stored.context
    if (by !== 'post' && this.#refusing.has(name) && !this.#byHand.has(name))
      this.#witness.report(`${name} refuses, and is offered ${firmware} by ${by}`)
    if (!isNew) return
    this.#witness.count(`firmware offered by ${by}`)
    if (this.stopped.forbids(stored.context))
      this.#witness.report(`${name} is offered ${firmware} by a stopped rollout`)
    if (isAbove(firmware, from)) return
    this.#witness.count('firmware offered again, or an older one')
    if (!this.#pins.get(name)?.has(firmware))
      this.#witness.report(`${name} is offered ${firmware} of ${index} in place of ${from}, and is not pinned to it`)
  }

  async #download({ id, url, sha256 }: Order, from: number, to: number): Promise<Piece> {
    const { pathname, searchParams } = new URL(url)
    if (!pathname.endsWith(`/updates/images/${sha256}`)) this.#witness.report(`${sha256} is offered at ${url}`)
    const { body, refused } = await answerOf(
      this.#server.call('readImage', {
        parameters: { sha256 },
        query: Object.fromEntries(searchParams),
        headers: { range: `bytes=${from}-${to - 1}` },
      }),
    )
    if (refused === undefined) return { text: body }
    if (refused !== 'not_found') {
      if (refused !== 'storage' && refused !== 'overloaded')
        this.#witness.report(`the image at ${url} is refused: ${refused}`)
      return 'not now'
    }
    if (this.#isRunning(id)) this.#witness.report(`the image at ${url} is gone, and an update of it is running`)
    return 'gone'
  }

  /** A running update protects its image. */
  #isRunning(id: string): boolean {
    if (!this.#server.assembly.context.system.gate.isSettled || this.#unprotected.has(id)) return false
    return this.#devices.some(({ name }) => {
      const stored = this.#storedOf(name)
      return stored?.context.id === id && stored.counted?.stage === 'running'
    })
  }
}

/**
 * A rollout that was seen stopped or paused, and not changed since: no new device may get a firmware by it. Contract 6.
 */
class StoppedRollout {
  /** The time at which the rollout was seen not running, Unix ms. Undefined: the rollout runs, or may run. */
  #since: number | undefined

  /** Call at rest. */
  seen(rollout: ReadRollout | undefined, now: number): void {
    this.#since = rollout === undefined || rollout.state === 'running' ? undefined : now
  }

  /** A user sets, pauses or resumes the rollout. */
  changed(): void {
    this.#since = undefined
  }

  forbids({ by, offer, beganAt }: UpdateContext): boolean {
    return this.#since !== undefined && by !== 'post' && offer?.rollout != null && beganAt > this.#since
  }
}
