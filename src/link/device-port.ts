import type { LinkCaller } from '#access/link-credentials'
import { hashOf, newSecret } from '#access/secret-text'
import type { DeviceCommand, DeviceCommands, Hello, Report, WriteOrder } from '#actors/device/commands'
import { deviceAddress, registrarRecord, secretRecord } from '#actors/device/device'
import type { DeviceState } from '#actors/device/state'
import { type TenantCommand, tenantAddress } from '#actors/tenant/commands'
import type { Entry } from '#model/entry'
import { Problem } from '#model/problem'
import type { Activation } from '#runtime/activation'
import type { CommandOf, Responder } from '#runtime/actor'
import { QueuedResponder } from '#runtime/answer'
import type { System } from '#runtime/system'

/**
 * The credentials of a connection. With neither `device` nor `key`, authentication is off and all devices are
 * permitted. Contract 7.
 */
export type ConnectionCredentials = LinkCaller

/**
 * A device on a connection of any protocol, as the receiver of answers. Each report gets one answer, after its commit
 * and in the order of the reports.
 */
export interface PortDevice {
  readonly tenant: string
  readonly device: string
  /** The actor of the device. The port replaces the activation after the actor was released. */
  activation: Activation<Entry>
  /** Everything up to `seq` is stored. */
  acknowledged(seq: number): void
  /**
   * Called synchronously by `report`: this report will be refused, for a temporary reason. No later report may be
   * stored, because its acknowledgement would include this one.
   */
  refusing(): void
  refused(seq: number, problem: Problem): void
}

export interface Admission {
  readonly activation: Activation<Entry>
  /** The secret of a device that a provisioning key has just created. It is sent once. */
  readonly secret?: string
}

/** Receives the answer if the device is not admitted. */
export interface AdmissionRefusal {
  /** Called synchronously, for a temporary reason. Later frames must not be taken. */
  refusing(): void
  /** Called after the commit, once. */
  refused(problem: Problem): void
}

/**
 * The port between device connections and device actors. A connection passes accepted messages to the actor of the
 * device; the answer is a callback after the commit.
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

  hello(activation: Activation<Entry>, hello: Hello, responder: Responder, bytes: number): void {
    this.#system.turnOf(activation, hello, responder, bytes)
  }

  /** Checks a write, and returns its order. Nothing is stored. @throws Problem */
  async orderOf(tenant: string, device: string, write: CommandOf<DeviceCommands, 'write'>): Promise<WriteOrder> {
    return (await this.ask(tenant, device, write)) as WriteOrder
  }

  /** @throws Problem */
  ask(tenant: string, device: string, command: DeviceCommand, bytes?: number): Promise<unknown> {
    return this.#system.ask(deviceAddress(tenant, device), command, bytes)
  }

  /** Runs the task after the commit of everything taken before, even if that commit fails. */
  inOrder(task: () => void): void {
    this.#system.gate.afterCommit({ committed: task, failed: task })
  }

  /** Like `inOrder`, but does not run the task if that commit fails. */
  whenStored(task: () => void): void {
    this.#system.gate.afterCommit({ committed: task, failed: () => {} })
  }

  /**
   * Returns why these credentials do not permit this device; undefined if they do. A key permits the devices that it
   * created, and devices without a secret, including unknown ones. Contract 7.
   * @throws Problem `storage`
   */
  whyNotPermitted({ tenant, device: own, key }: ConnectionCredentials, device: string): Problem | undefined {
    if (own !== undefined) {
      return own === device ? undefined : new Problem('forbidden', `these credentials do not belong to ${device}`)
    }
    if (key === undefined) return undefined
    const address = deviceAddress(tenant, device)
    if (this.#system.recordOf(address, registrarRecord) === key) return undefined
    if (this.#system.recordOf(address, secretRecord) === undefined) return undefined
    return new Problem('forbidden', `${device} has its own secret, but the connection used other credentials`)
  }

  /** If the device possibly does not exist, the caller uses `releaseIfEmpty` afterwards. */
  wake(tenant: string, device: string): Activation<Entry> {
    return this.#system.registry.wake(deviceAddress(tenant, device))
  }

  releaseIfEmpty(activation: Activation<Entry>): void {
    this.#system.registry.releaseIfEmpty(activation)
  }

  /**
   * Activates the actor of the device, and creates the device on the first contact of a permitted connection. Returns
   * undefined if the device is not admitted. A device with its own credentials existed before. If such a device does
   * not exist now, it was removed together with its credentials. Contract 3.11.
   */
  admit(
    { tenant, device: own, key }: ConnectionCredentials,
    device: string,
    refusal: AdmissionRefusal,
  ): Admission | undefined {
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
    const admit: TenantCommand = {
      type: 'admit_device',
      device,
      meta: {},
      ...(key !== undefined && { key }),
      ...(secret !== undefined && { secretHash: hashOf(secret) }),
    }
    // The turn runs synchronously, and the next turn of the device is in the same commit.
    let isCreated = false
    system.turn(tenantAddress(tenant), admit, {
      answered: () => {
        if (!isCreated) refusal.refused(new Problem('overloaded'))
      },
      refusing: () => refusal.refusing(),
      refused: (problem) => refusal.refused(problem),
    })
    const activation = this.wake(tenant, device)
    isCreated = isThere(activation)
    if (isCreated) return { activation, ...(secret !== undefined && { secret }) }
    this.releaseIfEmpty(activation)
    return undefined
  }
}

/** Receives the answer to a report. It is the only object that the port creates for a report. */
class PendingReport extends QueuedResponder {
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
  return (state as DeviceState).exists
}
