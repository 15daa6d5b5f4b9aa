import { Participant } from '#test/simulation/participant'
import type { Participants } from '#test/simulation/participants'
import type { SimulatedDevice } from '#test/simulation/simulated-device'
import {
  boostId,
  type Execution,
  fanId,
  firstActionTarget,
  firstDesiredTarget,
  heaterService,
  invalidUpdates,
  targetId,
  targetIn,
  targetOf,
} from '#test/simulation/simulated-heater'
import type { Attempt } from '#test/simulation/simulated-requests'
import type { Outcome, SimulatedServer } from '#test/simulation/simulated-server'

type Parts = Pick<Participants, 'requests' | 'schema'> & { readonly devices: readonly SimulatedDevice[] }

/** A write, identified by its unique target value. */
interface Write {
  readonly target: number
  readonly device: SimulatedDevice
  /** The property name of the schema in the request; undefined: the id is used. */
  readonly name: string | undefined
  readonly moment: number
  readonly isWaiting: boolean
  /** The write cannot have left the server: it was refused and not retried. */
  isUnsent: boolean
  /** The process that was asked last. */
  server?: SimulatedServer
  /** The number of failed commits of that process when it was asked. */
  failures?: number
}

const keysOfTarget = [`${targetId}`, '0x2001', '0X2001.UINT32', `${targetId}.uint32`]
/** Refusals before anything is sent to the device. */
const unsent: ReadonlySet<string | undefined> = new Set(['device_offline', 'overloaded', 'invalid', 'property_unknown'])

/** Users who write to devices. The answers are compared with what the devices executed. Contract 3.5, 7. */
export class SimulatedWrites extends Participant<Parts> {
  #writes: Write[] = []
  #lastTarget = 1_000
  #lastDesired = firstDesiredTarget

  act(isNamed = this.random.next() < 0.3): void {
    const random = this.random
    if (!isNamed && random.next() < 0.3) {
      this.#desire()
      return
    }
    const able = this.parts.devices.filter(({ isLinked, heater }) => isLinked && heater.isOffered)
    const device = this.pick(able.length > 0 && random.next() < 0.8 ? able : this.parts.devices)
    const name = isNamed ? 'aim' : undefined
    const isWaiting = random.next() < 0.8
    const { moment } = this.witness
    const write: Write = { target: ++this.#lastTarget, device, name, moment, isWaiting, isUnsent: false }
    const isWrong = random.next() < 0.05
    const body = {
      ...(random.next() < 0.5 && { '0x2002': true }),
      [name ?? this.pick(keysOfTarget)]: write.target,
      ...(isWrong && this.pick(invalidUpdates)),
    }
    const parameters = { deviceIdentifier: device.name, serviceIdentifier: heaterService }
    this.#writes.push(write)
    this.parts.requests.ask({
      name: this.pick(['writeDeviceProperties', 'writeServiceProperties']),
      request: { parameters, body, query: write.isWaiting ? {} : { wait: false } },
      sent: (attempt) => {
        write.server = this.server
        write.failures = this.#failures
        return (outcome) => {
          if (isWrong && outcome.status < 300) this.witness.report(`${JSON.stringify(body)} is written`)
          this.#answered(write, outcome, attempt)
        }
      },
    })
  }

  /** Sets a desired value, each time another one. A device that is not connected gets it when it connects. */
  #desire(): void {
    const device = this.pick(this.parts.devices)
    const body = { [fanId]: ++this.#lastDesired }
    const parameters = { deviceIdentifier: device.name, serviceIdentifier: heaterService }
    this.parts.requests.ask({
      name: this.pick(['patchDeviceDesired', 'patchServiceDesired', 'putDeviceDesired']),
      request: { parameters, body },
      sent: () => (outcome) => {
        if (outcome.status === 200) this.witness.count('desired')
      },
    })
  }

  /** Connected devices have received each value that they should have. For a server at rest. */
  async checkDesired(): Promise<void> {
    for (const device of this.parts.devices) {
      if (!device.isLinked || !device.heater.isOffered) continue
      const parameters = { deviceIdentifier: device.name, serviceIdentifier: heaterService }
      const { status, body } = await this.server.call('readDeviceDesired', { parameters })
      if (status !== 200) continue
      const desired: Readonly<Record<string, { value: unknown; status: string }>> = JSON.parse(body)
      for (const { value, status: progress } of Object.values(desired)) {
        this.witness.count(`desired ${progress}`)
        if (progress === 'REJECTED') continue
        const isReceived = device.heater.executions.some((done) => targetOf(done) === value)
        if (!isReceived || progress === 'PENDING')
          this.witness.report(`${device.name} is connected, and ${value} is ${progress}`)
      }
    }
  }

  /** Checks that no device executed a refused write, or a write twice. */
  check(stored: ReadonlySet<number> | undefined): void {
    const doneUnder = new Map<number, string>()
    for (const { heater, name } of this.parts.devices) {
      for (const execution of heater.executions) {
        const target = targetOf(execution)
        if (target !== undefined && target > firstActionTarget) continue
        const other = target === undefined ? undefined : doneUnder.get(target)
        if (target === undefined) this.witness.report(`${name} gets a request without a target, ${execution.id}`)
        else if (other !== undefined)
          this.witness.report(`${name} executes ${target} under ${other} and ${execution.id}`)
        else doneUnder.set(target, execution.id)
      }
    }
    for (const { target, isUnsent } of this.#writes) {
      if (isUnsent && doneUnder.has(target)) this.witness.report(`${target} is executed, and was refused`)
    }
    for (const [target, { device, address }] of this.#reportedTargets) {
      if (device.address === address && stored && !stored.has(target))
        this.witness.report(`${device.name} reported ${target} before its answer, and it is not stored`)
    }
    this.#reportedTargets.clear()
    this.#writes = this.#writes.slice(-100)
  }

  /**
   * Targets that devices reported before the answer, with the device's address at that time: reports of a device that was
   * removed at that moment may be lost.
   */
  readonly #reportedTargets = new Map<number, { readonly device: SimulatedDevice; readonly address: number }>()

  get #failures(): number {
    return this.server.assembly.context.system.gate.closedCount
  }

  /** A device receives a write for the first time. */
  writeReceived(updates: Execution['updates']): void {
    const target = targetIn(updates)
    const write = this.#writes.find((other) => other.target === target?.value)
    if (target && write?.name !== undefined) this.parts.schema.checkMeaning(write.name, target.propId, write.moment)
  }

  #answered(write: Write, { status, body, refused }: Outcome, { isKeyed }: Attempt): void {
    write.isUnsent = !isKeyed && unsent.has(refused)
    if (status === 200 || status === 202) this.#check(write, JSON.parse(body).updates)
    if ((status === 200) !== write.isWaiting && status < 300)
      this.witness.report(`${write.device.name}: ${write.target} is answered with ${status}`)
  }

  #check(write: Write, updates: readonly object[]): void {
    const { target, device, isWaiting } = write
    if (!isWaiting) {
      const isSent = updates.every((update) => 'status' in update && update.status === 'SENT')
      if (!isSent) this.witness.report(`${device.name}: ${target} has a result although the caller did not wait`)
      return
    }
    const execution = device.heater.executions.find((done) => targetOf(done) === target)
    if (!execution) this.witness.report(`${device.name} did not execute ${target}, and the answer is that it did`)
    else if (JSON.stringify(execution.results) !== JSON.stringify(updates))
      this.witness.report(
        `${device.name} answered ${JSON.stringify(execution.results)}; the caller got ${JSON.stringify(updates)}`,
      )
    else if (execution.isReportedFirst && write.server === this.server && write.failures === this.#failures)
      this.#reportedTargets.set(target, { device, address: execution.address })
    this.witness.count(execution?.results.some(({ propId }) => propId === boostId) ? 'written, two' : 'written')
  }
}
