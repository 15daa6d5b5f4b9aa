import type { SeededRandom } from '#bench/random'
import type { Participants } from '#test/simulation/participants'
import type { SimulatedDevice } from '#test/simulation/simulated-device'
import { tenant } from '#test/simulation/simulated-server'
import type { Simulation } from '#test/simulation/simulation'

/** Sends requests and injects faults right after them, at the most critical moments. */
export class FaultInjector {
  readonly #random: SeededRandom
  readonly #run: Simulation
  readonly #participants: Participants
  readonly #devices: readonly SimulatedDevice[]

  constructor(random: SeededRandom, run: Simulation, participants: Participants, devices: readonly SimulatedDevice[]) {
    this.#random = random
    this.#run = run
    this.#participants = participants
    this.#devices = devices
  }

  /** Changes permissions; now and then just before a fault. */
  async changeRights(): Promise<void> {
    const { people, sessions } = this.#participants
    for (let left = 1 + this.#random.below(3); left > 0; left--) {
      if (this.#random.next() < 0.6) people.act()
      else sessions.act()
    }
    const tried = this.#random.next()
    if (tried < 0.1) this.#run.failWrite()
    else if (tried < 0.13) await this.#crashAtCommit()
    else if (tried < 0.2) {
      await this.#run.steps(this.#random.below(5))
      await this.#run.crash()
    }
  }

  /** Writes to a device; now and then the store fails or the process dies during the request. */
  async writeProperties(): Promise<void> {
    const { schema, writes } = this.#participants
    const isRenamed = this.#random.next() < 0.2
    if (isRenamed) schema.act()
    writes.act(isRenamed)
    const tried = this.#random.next()
    if (tried > 0.2 && !isRenamed) return
    for (let left = 1 + this.#random.below(5); left > 0; left--) {
      await this.#run.steps(1)
      for (const device of this.#devices) device.socket?.read(8)
    }
    if (tried > 0.2) return
    if (tried < 0.15) this.#run.fillDisk()
    else await this.#run.crash()
  }

  /** Starts an action and reads its progress; now and then a fault follows the read, and the progress is read again. */
  async startAction(): Promise<void> {
    const { actions, people } = this.#participants
    actions.act()
    const tried = this.#random.next()
    const { outcomesSeen } = actions
    // The fault comes at the first outcome, or at a random moment.
    const roundsMax = tried < 0.3 ? 40 : this.#random.below(4)
    for (let left = roundsMax; left > 0 && actions.outcomesSeen === outcomesSeen; left--) {
      for (const device of this.#devices) device.socket?.read(8)
      await this.#run.advance(this.#random.between(0, 6))
      actions.look()
      await this.#run.steps(6)
    }
    if (tried > 0.5) return
    if (tried > 0.3) for (let left = this.#random.below(4); left > 0; left--) people.act()
    if (tried > 0.3) await this.#run.steps(this.#random.below(20))
    if (tried > 0.45) this.#run.fillDisk()
    else await this.#run.crash()
    actions.look()
  }

  /** Changes alarms and groups; now and then after some devices went offline, and just before a fault. */
  async changeAlarms(): Promise<void> {
    const { alarms, schema } = this.#participants
    const isLast = this.#random.next() < 0.3
    if (isLast) for (const device of this.#devices) if (this.#random.next() < 0.4) device.bye()
    if (isLast) await this.#run.steps(5)
    for (let left = 1 + this.#random.below(isLast ? 4 : 2); left > 0; left--) alarms.act()
    if (!isLast) return
    if (this.#random.next() < 0.3) schema.act()
    const tried = this.#random.next()
    if (tried < 0.15) this.#run.fillDisk()
    else if (tried < 0.8) await this.#crashAtCommit()
    else {
      await this.#run.steps(this.#random.below(8))
      await this.#run.crash()
    }
  }

  /**
   * Changes releases, pins or rollouts, or requests updates; now and then a fault occurs while devices install
   * firmware.
   */
  async changeFirmware(): Promise<void> {
    for (let left = 1 + this.#random.below(2); left > 0; left--) this.#participants.updates.act()
    if (this.#random.next() < 0.15) await this.breakSoon(8)
  }

  /** Changes functions and subscriptions; now and then just before a fault. */
  async changeFunctions(): Promise<void> {
    const { functions, subscribers, people, mails } = this.#participants
    const link = mails.links[this.#random.below(mails.links.length)]
    for (let left = 1 + this.#random.below(3); left > 0; left--) {
      const tried = this.#random.next()
      if (tried < 0.35) functions.act()
      else if (tried < 0.72 || link === undefined) subscribers.act()
      else if (tried < 0.93) subscribers.followLink(link)
      else people.act()
    }
    const tried = this.#random.next()
    if (tried < 0.06) this.#run.failWrite()
    else if (tried < 0.12) await this.#crashAtCommit()
  }

  /**
   * Triggers notifications; now and then a fault, or a change of permissions or subscriptions, occurs while they are
   * delivered.
   */
  async notify(): Promise<void> {
    const { people, mailServer } = this.#participants
    if (this.#random.next() < 0.3) mailServer.act()
    for (const device of this.#devices) if (this.#random.next() < 0.7) device.report()
    const tried = this.#random.next()
    // The fault or change comes when a mail is handed over, or at a random moment.
    const isAwaited = this.#random.next() < 0.6
    for (let left = this.#random.below(30); left > 0 && !(isAwaited && mailServer.underWay > 0); left--) {
      await this.#run.advance(this.#random.below(4))
      await this.#run.steps(1)
    }
    if (tried < 0.15) await this.#run.crash()
    else if (tried < 0.25) this.#run.fillDisk()
    else if (tried < 0.35) for (let left = 4; left > 0; left--) people.act()
    else if (tried < 0.6) await this.#changeReceivers()
  }

  /** Changes permissions, addresses, functions and subscriptions while mails are being sent. */
  async #changeReceivers(): Promise<void> {
    const { people, functions, subscribers } = this.#participants
    for (let left = 8; left > 0; left--) {
      const tried = this.#random.next()
      if (tried < 0.5) people.act()
      else if (tried < 0.7) functions.act()
      else if (tried < 0.9) subscribers.act()
      else for (const device of this.#devices) device.report()
      await this.#run.steps(1 + this.#random.below(3))
      await this.#run.advance(this.#random.below(3))
    }
  }

  /** Devices exchange some messages, then the store fails or the process dies. */
  async breakSoon(momentsMax: number): Promise<void> {
    for (let left = this.#random.below(momentsMax); left > 0; left--) {
      await this.#run.steps(2)
      for (const device of this.#devices) {
        device.socket?.read(8)
        device.proceed()
      }
    }
    if (this.#random.next() < 0.3) this.#run.fillDisk()
    else await this.#run.crash()
  }

  /** The process dies right after the next commit, or after 20 steps without one. */
  async #crashAtCommit(): Promise<void> {
    const head = () => this.#run.server.assembly.context.system.registry.head(tenant)
    const { committed } = head()
    for (let left = 20; left > 0 && head().committed === committed; left--) await this.#run.steps(1)
    await this.#run.crash()
  }
}
