import { hashOf, newSecret } from '#access/secret-text'
import type { Hello, Report, Write, WriteOrder } from '#actors/device/commands'
import { deviceAddress, registrarRecord, secretRecord } from '#actors/device/device'
import type { DeviceState } from '#actors/device/state'
import { tenantAddress } from '#actors/tenant/address'
import type { AdmitDevice } from '#actors/tenant/commands'
import type { Entry } from '#model/entry'
import { Problem } from '#model/problem'
import type { Activation } from '#runtime/activation'
import type { Asker } from '#runtime/actor'
import { QueuedAsker } from '#runtime/gate'
import type { System } from '#runtime/system'

/** The credentials of a connection. Neither `device` nor `key`: IAM is off, and every device is permitted. Contract 7. */
export interface Speaker {
  readonly tenant: string
  /** The credentials belong to this device, which may speak for itself alone. */
  readonly device?: string
  /** The credentials are this provisioning key, by its id. */
  readonly key?: string
}

/**
 * A device on a connection of any protocol: the side of the port that receives answers. Each report gets one of them, after
 * its commit and in the order of the reports.
 */
export interface PortDevice {
  readonly tenant: string
  readonly device: string
  /** The actor. The port wakes it again when it was released. */
  activation: Activation<Entry>
  /** Everything up to `seq` is stored. */
  acknowledged(seq: number): void
  /**
   * Called within `report`: this report will be refused, for a reason that passes. No later report may be stored, because
   * its acknowledgement would cover this one.
   */
  refusing(): void
  refused(seq: number, problem: Problem): void
}

export interface Admitted {
  readonly activation: Activation<Entry>
  /** Of a device that a provisioning key has just created. It is sent once. */
  readonly secret?: string
}

/** Receives the answer for a device that is not admitted. */
export interface AdmissionRefusal {
  /** Called at once, for a reason that passes. Frames behind it must not be taken. */
  refusing(): void
  /** Called after the commit, once. */
  refused(problem: Problem): void
}

/**
 * The port between device connections and the turns of device actors. A connection gives an accepted message to its device
 * here, and the answer returns by a callback after the commit.
 */
export class DevicePort {
  readonly #system: System<Entry>

  constructor(system: System<Entry>) {
    this.#system = system
  }

  /** Whether messages can be stored. */
  get isOpen(): boolean {
    return this.#system.isServing && this.#system.gate.isOpen
  }

  report(to: PortDevice, report: Report, bytes: number): void {
    const pending = new PendingReport(to, report.seq)
    if (to.activation.isAlive) {
      this.#system.turnOf(to.activation, report, pending, bytes)
      return
    }
    const address = deviceAddress(to.tenant, to.device)
    this.#system.turn(address, report, pending, bytes)
    const awake = this.#system.registry.awake(address)
    if (awake) to.activation = awake
  }

  hello(activation: Activation<Entry>, hello: Hello, asker: Asker, bytes: number): void {
    this.#system.turnOf(activation, hello, asker, bytes)
  }

  /** Checks a write. Nothing is stored. @throws Problem */
  async orderOf(tenant: string, device: string, write: Write): Promise<WriteOrder> {
    return (await this.#system.ask(deviceAddress(tenant, device), write)) as WriteOrder
  }

  /** Runs the task after everything that was taken before it is stored, or could not be stored. */
  inOrder(task: () => void): void {
    this.#system.gate.say({ leave: task, refuse: task })
  }

  /**
   * Why these credentials do not permit this device; undefined if they do. A key permits the devices that it created, and
   * those without a secret, so unknown devices too. Contract 7.
   * @throws Problem `storage`
   */
  whyNotPermitted({ tenant, device: own, key }: Speaker, device: string): Problem | undefined {
    if (own !== undefined) {
      return own === device ? undefined : new Problem('forbidden', `these credentials are not those of ${device}`)
    }
    if (key === undefined) return undefined
    const address = deviceAddress(tenant, device)
    if (this.#system.recordOf(address, registrarRecord) === key) return undefined
    if (this.#system.recordOf(address, secretRecord) === undefined) return undefined
    return new Problem('forbidden', `${device} has a secret of its own, and another let it in`)
  }

  /** Released by `releaseIfEmpty` when the device does not exist. */
  wake(tenant: string, device: string): Activation<Entry> {
    return this.#system.registry.wake(deviceAddress(tenant, device))
  }

  releaseIfEmpty(activation: Activation<Entry>): void {
    this.#system.registry.forgetNothing(activation)
  }

  /**
   * Wakes the device, and creates it on the first contact of a permitted connection. Contract 3.11. A device with
   * credentials existed before: if it does not exist now, it was removed with them.
   */
  admit({ tenant, device: own, key }: Speaker, device: string, refusal: AdmissionRefusal): Admitted | undefined {
    const system = this.#system
    const before = this.wake(tenant, device)
    if (isThere(before)) return { activation: before }
    if (own !== undefined) {
      this.releaseIfEmpty(before)
      const problem = new Problem('forbidden', `${device} was removed, and its credentials with it`)
      this.inOrder(() => refusal.refused(problem))
      return undefined
    }
    const secret = key === undefined ? undefined : newSecret((byteCount) => system.world.random(byteCount))
    const admit: AdmitDevice = {
      type: 'admit_device',
      device,
      meta: {},
      ...(key !== undefined && { key }),
      ...(secret !== undefined && { secretHash: hashOf(secret) }),
    }
    // The turn runs at once, and the turn of the device follows in the same commit.
    let isMade = false
    system.turn(tenantAddress(tenant), admit, {
      answered: () => {
        if (!isMade) refusal.refused(new Problem('overloaded'))
      },
      refusing: () => refusal.refusing(),
      refused: (problem) => refusal.refused(problem),
    })
    const activation = this.wake(tenant, device)
    isMade = isThere(activation)
    if (isMade) return { activation, ...(secret !== undefined && { secret }) }
    this.releaseIfEmpty(activation)
    return undefined
  }
}

/** A report on its way to the commit and back: the only object that the port creates for it. */
class PendingReport extends QueuedAsker {
  readonly #to: PortDevice
  readonly #seq: number

  constructor(to: PortDevice, seq: number) {
    super()
    this.#to = to
    this.#seq = seq
  }

  answered(seq: unknown): void {
    this.#to.acknowledged(seq as number)
  }

  refusing(): void {
    this.#to.refusing()
  }

  refused(problem: Problem): void {
    this.#to.refused(this.#seq, problem)
  }
}

function isThere({ state }: Activation<Entry>): boolean {
  return (state as DeviceState).isThere
}
