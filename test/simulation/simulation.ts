import { runningActionIndex } from '#actors/action/action'
import { memoryPlace, type WriteFault } from '#store/memory'
import { changeSomething } from '#test/simulation/changes'
import { linkDevices } from '#test/simulation/gateway'
import { SimulatedActions } from '#test/simulation/simulated-actions'
import { heldMs, SimulatedAlarms } from '#test/simulation/simulated-alarms'
import { SimulatedDashboard } from '#test/simulation/simulated-dashboard'
import { SimulatedDevice } from '#test/simulation/simulated-device'
import { SimulatedPeople } from '#test/simulation/simulated-people'
import { SimulatedRequests } from '#test/simulation/simulated-requests'
import { SimulatedSchema } from '#test/simulation/simulated-schema'
import { type SimulatedLimits, SimulatedServer, tenant } from '#test/simulation/simulated-server'
import { SimulatedWorld } from '#test/simulation/simulated-world'
import { SimulatedWrites } from '#test/simulation/simulated-writes'
import { StoredReports } from '#test/simulation/stored-reports'
import { Witness } from '#test/simulation/witness'

/** What a run did, for the reader of a report. */
export interface RunSummary {
  readonly acknowledged: number
  readonly crashes: number
  readonly failedWrites: number
  readonly events: number
  /** How often what else came to pass. */
  readonly counts: Readonly<Record<string, number>>
}

/** How often something is tried before a run that does not come to rest is called stuck. */
const roundsMax = 4_000
/** How often it is looked whether actions go on, a little later each time. */
const actionRoundsMax = 40

/** One life of the server from a seed: what happens in it, and what must be at rest. */
export class Simulation {
  step = 0
  readonly #world: SimulatedWorld
  readonly #place: ReturnType<typeof memoryPlace>
  readonly #devices: SimulatedDevice[]
  readonly #limits: SimulatedLimits
  readonly #witness = new Witness()
  readonly #stored = new StoredReports()
  readonly #people: SimulatedPeople
  readonly #schema: SimulatedSchema
  readonly #requests: SimulatedRequests
  readonly #writes: SimulatedWrites
  readonly #alarms: SimulatedAlarms
  readonly #actions: SimulatedActions
  #dashboards: SimulatedDashboard[] = []
  #server: SimulatedServer
  #fault: WriteFault | undefined
  #crashes = 0
  #failedWrites = 0

  constructor(seed: number) {
    this.#world = new SimulatedWorld(seed)
    const { random } = this.#world
    this.#limits = {
      // Little enough that redo holds retention back, or enough that nobody has to read anew.
      retainedBytesMax: this.#pick([1_000, 3_000, 20_000]) ?? 0,
      // Little enough that a few frames are too many, or enough for all.
      uncommittedBytesMax: this.#pick([1_200, 4_000, 1_000_000]) ?? 0,
      // Sessions that end by themselves in between, or hold throughout.
      tokenMs: this.#pick([200_000, 3_600_000]) ?? 0,
    }
    this.#place = memoryPlace({
      world: this.#world.process().world,
      delayMsMax: random.next() < 0.5 ? 0 : 6,
      faults: {
        beforeWrite: () => {
          const fault = this.#fault
          this.#fault = undefined
          if (fault) this.#failedWrites++
          return fault
        },
      },
    })
    this.#devices = Array.from({ length: 2 + random.below(5) }, (_, index) => new SimulatedDevice(`D${index}`, random))
    this.#server = new SimulatedServer(this.#world, this.#place, this.#limits)
    const names = this.#devices.map(({ name }) => name)
    this.#people = new SimulatedPeople(this.#server, random, this.#witness, names)
    this.#schema = new SimulatedSchema(this.#server, random, this.#witness)
    this.#requests = new SimulatedRequests(this.#server, random, this.#witness)
    this.#writes = new SimulatedWrites(this.#server, this.#requests, random, this.#witness, this.#devices, this.#schema)
    const parts = { requests: this.#requests, people: this.#people, schema: this.#schema }
    this.#alarms = new SimulatedAlarms(this.#server, random, this.#witness, { ...parts, devices: names })
    const many = { ...parts, alarms: this.#alarms, devices: this.#devices }
    this.#actions = new SimulatedActions(this.#server, random, this.#witness, many)
    for (const device of this.#devices) {
      device.onAsked = (updates) => {
        this.#writes.askedOf(updates)
        this.#actions.askedOf(device, updates)
      }
    }
  }

  async begin(): Promise<void> {
    await this.#pumped(this.#server.open())
    await this.#pumped(this.#people.begin())
    for (let count = 0; count < 2; count++) this.#connectDashboard()
  }

  summary(): RunSummary {
    return {
      acknowledged: this.#devices.reduce((sum, device) => sum + device.acknowledged.length, 0),
      crashes: this.#crashes,
      failedWrites: this.#failedWrites,
      events: this.#stored.upTo,
      counts: this.#witness.counts,
    }
  }

  async act(): Promise<void> {
    const { random } = this.#world
    const tried = random.next()
    const device = this.#pick(this.#devices)
    if (tried < 0.21) device?.report()
    else if (tried < 0.25) await this.#writeProperties()
    else if (tried < 0.27) this.#requests.askAgain()
    else if (tried < 0.29) await this.#askMany()
    else if (tried < 0.32) await this.#changeAlarms()
    else if (tried < 0.33) this.#schema.act()
    else if (tried < 0.36) await this.#flood(device)
    else if (tried < 0.46) this.#link()
    else if (tried < 0.5) this.#pick([...this.#server.sockets.sockets])?.cut()
    else if (tried < 0.53) device?.redeclare()
    else if (tried < 0.55) device?.misreport()
    else if (tried < 0.57) device?.reboot()
    else if (tried < 0.58) device?.bye()
    else if (tried < 0.64) this.#connectDashboard()
    else if (tried < 0.78) this.#pick([...this.#server.sockets.sockets])?.read(1 + random.below(8))
    else if (tried < 0.8) this.#pick(this.#dashboards)?.askPosition()
    else if (tried < 0.85) changeSomething(this.#server, random, device?.name ?? '')
    else if (tried < 0.9) await this.#changeRights()
    else if (tried < 0.91) this.#failWrite()
    else if (tried < 0.92) await this.#crash()
    else if (tried < 0.97) await this.#advance(random.between(0, 40))
    else await this.#advance(random.next() < 0.3 ? random.between(0, 400_000) : random.between(0, 3_000))
    await this.#steps(random.below(6))
    for (const dashboard of this.#dashboards) dashboard.proceed()
    for (const device of this.#devices) device.proceed()
    await this.#steps(1)
    this.#checkErrors()
  }

  /** Lets everything come to rest, and compares everybody with what is stored. */
  async checkQuiet(): Promise<void> {
    this.#place.setRoom(true)
    this.#fault = undefined
    await this.#comeToRest(() => this.#people.isIdle && this.#schema.isIdle, 3)
    await this.#endActions()
    // The last word is a device's own: nothing that was edited has it judged once more.
    for (const device of this.#devices) if (this.#world.random.next() < 0.7) device.report()
    await this.#comeToRest(() => true)
    await this.#advance(heldMs)
    await this.#comeToRest(() => this.#requests.isIdle)
    await this.#pumped(Promise.all([this.#people.settle(), this.#schema.settle(), this.#alarms.settle()]))
    await this.#comeToRest(() => this.#dashboards.every((dashboard) => dashboard.isAtRest))
    await this.#checkStream()
    await this.#pumped(this.#actions.settle())
    const { body } = await this.#pumped(this.#server.call('listDevices', { query: { depth: 2 } }))
    const [fault] = await this.#pumped(this.#alarms.faults(JSON.parse(body)))
    if (fault) throw new Error(fault)
    const rows = await this.#pumped(this.#alarms.rows())
    const open = this.#dashboards.filter((dashboard) => dashboard.isOpen)
    for (const dashboard of open) {
      const { name } = dashboard.person
      if (dashboard.isIntruder) throw new Error(`${name} is connected, and the session is over`)
      const found = dashboard.differences(JSON.parse(body), rows)
      if (found.length > 0) throw new Error(`${name} knows otherwise: ${found.join('; ')}`)
    }
    const { size } = this.#server.identity.sockets
    if (size !== open.length) throw new Error(`${size} sockets of sessions are known, and ${open.length} are open`)
    this.#checkErrors()
  }

  /** Devices have their time to come back after a start, and are asked again and again in it. */
  async #endActions(): Promise<void> {
    for (let round = 0; round < actionRoundsMax; round++) {
      const { listing } = this.#server.assembly.context
      const running = listing.entries(runningActionIndex, tenant)
      const ids = await this.#pumped(running.next(1))
      await this.#pumped(running.close())
      if (ids.length === 0) return
      await this.#advance(1_000 + round * 500)
      await this.#comeToRest(() => true)
    }
    throw new Error('an action does not end')
  }

  async #comeToRest(isDone: () => boolean, roundsLeast = 0): Promise<void> {
    for (let round = 0; round < roundsMax; round++) {
      // With jitter, as devices are told to: all at once they would refuse each other for ever.
      for (const device of this.#devices) {
        const isMissing = !device.hasSocket && !device.isAway
        if (isMissing && this.#world.random.next() < 0.3) linkDevices(this.#server, [device])
      }
      for (const socket of [...this.#server.sockets.sockets]) socket.read(1_000)
      for (const dashboard of this.#dashboards) {
        const isWanted = !dashboard.isOpen && !dashboard.isComing
        if (isWanted && dashboard.person.isActive) dashboard.connect(2_000)
        dashboard.proceed()
      }
      for (const device of this.#devices) device.proceed(true)
      await this.#steps(20)
      await this.#advance(round % 50 === 49 ? 2_000 : 5)
      this.#checkErrors()
      const { database, context } = this.#server.assembly
      const isQuiet =
        database.status === 'ok' &&
        this.#world.isIdle &&
        context.system.gate.isQuiet &&
        context.hub.behindCount() === 0 &&
        isDone() &&
        this.#devices.every((device) => device.isSettled) &&
        ![...this.#server.sockets.sockets].some((socket) => socket.hasUnread)
      if (isQuiet && round >= roundsLeast) return
    }
    throw new Error('it does not come to rest')
  }

  /** What was acknowledged and answered is in the stream. */
  async #checkStream(): Promise<void> {
    const stream = await this.#pumped(this.#server.stream())
    const { reader, system } = this.#server.assembly.context
    this.#stored.gather(stream, reader.retainedFrom(tenant), system.registry.head(tenant).committed)
    this.#writes.check(this.#stored.numbers)
    for (const device of this.#devices) this.#stored.check(device)
  }

  async #steps(count: number): Promise<void> {
    for (let left = count; left > 0; left--) {
      await this.#world.step()
      this.#witness.passed(this.#told)
    }
  }

  async #advance(ms: number): Promise<void> {
    await this.#world.advance(ms)
    this.#witness.passed(this.#told)
  }

  get #told(): number {
    return this.#server.assembly.context.hub.toldTo(tenant)
  }

  /** Waits for what needs tasks to run. */
  async #pumped<T>(promise: Promise<T>): Promise<T> {
    let isDone = false
    const done = promise.finally(() => {
      isDone = true
    })
    done.catch(() => {})
    for (let round = 0; round < roundsMax && !isDone; round++) {
      await this.#steps(1)
      if (this.#world.isIdle) await this.#advance(1)
    }
    if (!isDone) throw new Error('an answer does not come')
    return done
  }

  async #crash(): Promise<void> {
    this.#crashes++
    // What acknowledgements were on their way is read first or lost: both happen.
    if (this.#world.random.next() < 0.5) for (const socket of [...this.#server.sockets.sockets]) socket.read(3)
    this.#server.die()
    this.#fault = undefined
    this.#place.setRoom(true)
    this.#place.crash(this.#world.random.below(3))
    this.#server = new SimulatedServer(this.#world, this.#place, this.#limits)
    const people = [this.#people, this.#schema, this.#requests, this.#writes, this.#alarms]
    for (const part of [...people, this.#actions, ...this.#dashboards]) part.moveTo(this.#server)
    await this.#pumped(this.#server.open())
  }

  /** One device says much at once, while commits come and go. */
  async #flood(device: SimulatedDevice | undefined): Promise<void> {
    for (let count = 0; count < 15; count++) {
      device?.report()
      if (this.#world.random.next() < 0.5) await this.#steps(1)
    }
  }

  #failWrite(): void {
    const { random } = this.#world
    this.#fault = { fail: 'full', reachedDisk: random.next() < 0.5 }
    this.#place.setRoom(random.next() < 0.5)
  }

  #link(): void {
    const { random } = this.#world
    const free = this.#devices.filter((device) => random.next() < (device.hasSocket || device.isAway ? 0.1 : 1))
    for (const device of free) device.isAway = false
    linkDevices(this.#server, free.slice(0, 1 + random.below(3)))
  }

  #connectDashboard(): void {
    const { random } = this.#world
    const closed = this.#dashboards.find((dashboard) => !dashboard.isOpen && !dashboard.isComing)
    if (closed) {
      closed.connect(300 + random.below(3_000))
      return
    }
    if (this.#dashboards.length >= 5) return
    const person = this.#pick(this.#people.persons)
    if (!person) return
    const dashboard = new SimulatedDashboard(this.#server, person, this.#witness, this.#alarms)
    dashboard.connect(300 + random.below(3_000))
    this.#dashboards = [...this.#dashboards, dashboard]
  }

  /** People's rights change; now and then in the last moment before something breaks. */
  async #changeRights(): Promise<void> {
    const { random } = this.#world
    for (let left = 1 + random.below(2); left > 0; left--) this.#people.act()
    const tried = random.next()
    if (tried < 0.1) this.#fault = { fail: 'full', reachedDisk: random.next() < 0.5 }
    else if (tried < 0.13) await this.#crashAtCommit()
    else if (tried < 0.2) {
      await this.#steps(random.below(5))
      await this.#crash()
    }
  }

  /** Somebody writes; now and then the store fails, or the process dies, while the device is being asked. */
  async #writeProperties(): Promise<void> {
    const { random } = this.#world
    const isMeantAnew = random.next() < 0.2
    if (isMeantAnew) this.#schema.act()
    this.#writes.act(isMeantAnew)
    const tried = random.next()
    if (tried > 0.2 && !isMeantAnew) return
    for (let left = 1 + random.below(5); left > 0; left--) {
      await this.#steps(1)
      for (const device of this.#devices) device.socket?.read(8)
    }
    if (tried > 0.2) return
    if (tried < 0.15) this.#failWrite()
    else await this.#crash()
  }

  /** Somebody asks many at once, and looks how far it is; now and then all breaks behind what he saw, and he looks again. */
  async #askMany(): Promise<void> {
    const { random } = this.#world
    this.#actions.act()
    const tried = random.next()
    const { outcomesSeen } = this.#actions
    // In the moment in which he sees the first one, or whenever it may be.
    const roundsMax = tried < 0.3 ? 40 : random.below(4)
    for (let left = roundsMax; left > 0 && this.#actions.outcomesSeen === outcomesSeen; left--) {
      for (const device of this.#devices) device.socket?.read(8)
      await this.#advance(random.between(0, 6))
      this.#actions.look()
      await this.#steps(6)
    }
    if (tried > 0.5) return
    if (tried > 0.3) for (let left = random.below(4); left > 0; left--) this.#people.act()
    if (tried > 0.3) await this.#steps(random.below(20))
    if (tried > 0.45) this.#failWrite()
    else await this.#crash()
    this.#actions.look()
  }

  /** Alarms and groups change; now and then some devices have left, and it is the last moment before something breaks. */
  async #changeAlarms(): Promise<void> {
    const { random } = this.#world
    const isLast = random.next() < 0.3
    if (isLast) for (const device of this.#devices) if (random.next() < 0.4) device.bye()
    if (isLast) await this.#steps(5)
    for (let left = 1 + random.below(isLast ? 4 : 2); left > 0; left--) this.#alarms.act()
    if (!isLast) return
    if (random.next() < 0.3) this.#schema.act()
    const tried = random.next()
    if (tried < 0.15) this.#failWrite()
    else if (tried < 0.8) await this.#crashAtCommit()
    else {
      await this.#steps(random.below(8))
      await this.#crash()
    }
  }

  /** What was asked is stored, and the process dies before anything comes of it. */
  async #crashAtCommit(): Promise<void> {
    const head = () => this.#server.assembly.context.system.registry.head(tenant)
    const { committed } = head()
    for (let left = 20; left > 0 && head().committed === committed; left--) await this.#steps(1)
    await this.#crash()
  }

  #checkErrors(): void {
    const [fault] = [...this.#witness.faults, ...this.#server.errors]
    if (fault !== undefined) throw fault
  }

  #pick<T>(from: readonly T[]): T | undefined {
    return from[this.#world.random.below(from.length)]
  }
}
