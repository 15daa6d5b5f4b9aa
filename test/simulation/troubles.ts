import type { SeededRandom } from '#bench/random'
import type { Everybody } from '#test/simulation/everybody'
import type { Life } from '#test/simulation/life'
import type { SimulatedDevice } from '#test/simulation/simulated-device'
import { tenant } from '#test/simulation/simulated-server'

/** Sends requests and injects faults right after them, at the most critical moments. */
export class Troubles {
  readonly #random: SeededRandom
  readonly #life: Life
  readonly #everybody: Everybody
  readonly #devices: readonly SimulatedDevice[]

  constructor(random: SeededRandom, life: Life, everybody: Everybody, devices: readonly SimulatedDevice[]) {
    this.#random = random
    this.#life = life
    this.#everybody = everybody
    this.#devices = devices
  }

  /** Changes permissions; now and then just before a fault. */
  async changeRights(): Promise<void> {
    const { people, sessions } = this.#everybody
    for (let left = 1 + this.#random.below(3); left > 0; left--) {
      if (this.#random.next() < 0.6) people.act()
      else sessions.act()
    }
    const tried = this.#random.next()
    if (tried < 0.1) this.#life.failWrite()
    else if (tried < 0.13) await this.#crashAtCommit()
    else if (tried < 0.2) {
      await this.#life.steps(this.#random.below(5))
      await this.#life.crash()
    }
  }

  /** Writes to a device; now and then the store fails or the process dies during the request. */
  async writeProperties(): Promise<void> {
    const { schema, writes } = this.#everybody
    const isMeantAnew = this.#random.next() < 0.2
    if (isMeantAnew) schema.act()
    writes.act(isMeantAnew)
    const tried = this.#random.next()
    if (tried > 0.2 && !isMeantAnew) return
    for (let left = 1 + this.#random.below(5); left > 0; left--) {
      await this.#life.steps(1)
      for (const device of this.#devices) device.socket?.read(8)
    }
    if (tried > 0.2) return
    if (tried < 0.15) this.#life.fillDisk()
    else await this.#life.crash()
  }

  /** Starts an action and reads its progress; now and then a fault follows the read, and the progress is read again. */
  async askMany(): Promise<void> {
    const { actions, people } = this.#everybody
    actions.act()
    const tried = this.#random.next()
    const { outcomesSeen } = actions
    // At the first outcome, or at a random moment.
    const roundsMax = tried < 0.3 ? 40 : this.#random.below(4)
    for (let left = roundsMax; left > 0 && actions.outcomesSeen === outcomesSeen; left--) {
      for (const device of this.#devices) device.socket?.read(8)
      await this.#life.advance(this.#random.between(0, 6))
      actions.look()
      await this.#life.steps(6)
    }
    if (tried > 0.5) return
    if (tried > 0.3) for (let left = this.#random.below(4); left > 0; left--) people.act()
    if (tried > 0.3) await this.#life.steps(this.#random.below(20))
    if (tried > 0.45) this.#life.fillDisk()
    else await this.#life.crash()
    actions.look()
  }

  /** Changes alarms and groups; now and then after some devices went offline, and just before a fault. */
  async changeAlarms(): Promise<void> {
    const { alarms, schema } = this.#everybody
    const isLast = this.#random.next() < 0.3
    if (isLast) for (const device of this.#devices) if (this.#random.next() < 0.4) device.bye()
    if (isLast) await this.#life.steps(5)
    for (let left = 1 + this.#random.below(isLast ? 4 : 2); left > 0; left--) alarms.act()
    if (!isLast) return
    if (this.#random.next() < 0.3) schema.act()
    const tried = this.#random.next()
    if (tried < 0.15) this.#life.fillDisk()
    else if (tried < 0.8) await this.#crashAtCommit()
    else {
      await this.#life.steps(this.#random.below(8))
      await this.#life.crash()
    }
  }

  /** Uploads firmware; now and then a fault occurs while devices install it. */
  async changeFirmware(): Promise<void> {
    for (let left = 1 + this.#random.below(2); left > 0; left--) this.#everybody.updates.act()
    if (this.#random.next() < 0.15) await this.breakSoon(8)
  }

  /** Changes functions and subscriptions; now and then just before a fault. */
  async changeFunctions(): Promise<void> {
    const { functions, subscribers, people, heard } = this.#everybody
    const link = heard.links[this.#random.below(heard.links.length)]
    for (let left = 1 + this.#random.below(3); left > 0; left--) {
      const tried = this.#random.next()
      if (tried < 0.35) functions.act()
      else if (tried < 0.72 || link === undefined) subscribers.act()
      else if (tried < 0.93) subscribers.pressLink(link)
      else people.act()
    }
    const tried = this.#random.next()
    if (tried < 0.06) this.#life.failWrite()
    else if (tried < 0.12) await this.#crashAtCommit()
  }

  /** Triggers a notification; now and then a fault or a change of permissions occurs while it is delivered. */
  async tell(): Promise<void> {
    const { people, mailServer } = this.#everybody
    if (this.#random.next() < 0.3) mailServer.act()
    for (const device of this.#devices) if (this.#random.next() < 0.7) device.report()
    const tried = this.#random.next()
    // When a mail is handed over, or at a random moment.
    const isAwaited = this.#random.next() < 0.6
    for (let left = this.#random.below(30); left > 0 && !(isAwaited && mailServer.underWay > 0); left--) {
      await this.#life.advance(this.#random.below(4))
      await this.#life.steps(1)
    }
    if (tried < 0.15) await this.#life.crash()
    else if (tried < 0.25) this.#life.fillDisk()
    else if (tried < 0.35) for (let left = 4; left > 0; left--) people.act()
    else if (tried < 0.6) await this.#changeHearers()
  }

  /** Changes permissions and addresses while mails are being sent. */
  async #changeHearers(): Promise<void> {
    const { people, functions, subscribers } = this.#everybody
    for (let left = 8; left > 0; left--) {
      const tried = this.#random.next()
      if (tried < 0.5) people.act()
      else if (tried < 0.7) functions.act()
      else if (tried < 0.9) subscribers.act()
      else for (const device of this.#devices) device.report()
      await this.#life.steps(1 + this.#random.below(3))
      await this.#life.advance(this.#random.below(3))
    }
  }

  /** Devices exchange some messages, then the store fails or the process dies. */
  async breakSoon(momentsMax: number): Promise<void> {
    for (let left = this.#random.below(momentsMax); left > 0; left--) {
      await this.#life.steps(2)
      for (const device of this.#devices) {
        device.socket?.read(8)
        device.proceed()
      }
    }
    if (this.#random.next() < 0.3) this.#life.fillDisk()
    else await this.#life.crash()
  }

  /** The request is stored, and the process dies before it has any effect. */
  async #crashAtCommit(): Promise<void> {
    const head = () => this.#life.server.assembly.context.system.registry.head(tenant)
    const { committed } = head()
    for (let left = 20; left > 0 && head().committed === committed; left--) await this.#life.steps(1)
    await this.#life.crash()
  }
}
