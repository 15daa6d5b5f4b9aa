import { runningActionIndex } from '#actors/action/action'
import { FaultInjector } from '#test/simulation/fault-injector'
import { randomLimits } from '#test/simulation/limits'
import { type Lists, subscriptionRows } from '#test/simulation/list-view'
import { MailsAtRest } from '#test/simulation/mails-at-rest'
import { Participants } from '#test/simulation/participants'
import { changeSomething } from '#test/simulation/random-changes'
import { heldMs } from '#test/simulation/simulated-alarms'
import { SimulatedDashboard } from '#test/simulation/simulated-dashboard'
import { linkDevices, SimulatedDevice } from '#test/simulation/simulated-device'
import { SimulatedNodes } from '#test/simulation/simulated-nodes'
import { type SimulatedLimits, SimulatedServer, tenant } from '#test/simulation/simulated-server'
import { SimulatedWorld } from '#test/simulation/simulated-world'
import { StoredReports } from '#test/simulation/stored-reports'
import { UpdatesAtRest } from '#test/simulation/updates-at-rest'
import { Witness } from '#test/simulation/witness'
import { type MemoryBackend, memoryStorage, type WriteFault } from '#test/store/memory'

/** The result of a run. Two runs with the same seed have the same result. */
export interface RunSummary {
  readonly acknowledged: number
  readonly crashes: number
  readonly failedWrites: number
  readonly events: number
  /** Counts of further situations. */
  readonly counts: Readonly<Record<string, number>>
}

/** Attempts before a run that does not come to rest is considered stuck. */
const roundsMax = 4_000
/** The number of checks whether all actions have ended. */
const actionRoundsMax = 40

/** In every fifth run the server has several nodes. */
const clusterEvery = 5

/** One life of the server from a seed: its steps, and the checks at rest. */
export class Simulation {
  step = 0
  /** The server that runs now. After a crash it is another one. */
  server: SimulatedServer
  readonly #world: SimulatedWorld
  readonly #backend: MemoryBackend
  /** In some runs with several nodes, one follows the server, and continues after the next crash. */
  #follower: { readonly server: SimulatedServer; readonly opened: Promise<void> } | undefined
  readonly #devices: SimulatedDevice[]
  readonly #limits: SimulatedLimits
  readonly #witness = new Witness()
  readonly #stored = new StoredReports()
  readonly #participants: Participants
  readonly #injector: FaultInjector
  readonly #updatesAtRest: UpdatesAtRest
  readonly #mailsAtRest: MailsAtRest
  #dashboards: SimulatedDashboard[] = []
  #fault: WriteFault | undefined
  #crashes = 0
  #failedWrites = 0

  constructor(seed: number) {
    this.#world = new SimulatedWorld(seed)
    const { random } = this.#world
    this.#limits = randomLimits(random, () => this.#world.now())
    const storage = {
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
    }
    this.#backend = seed % clusterEvery === 0 ? new SimulatedNodes(this.#world, storage) : memoryStorage(storage)
    this.#devices = Array.from({ length: 2 + random.below(5) }, (_, index) => new SimulatedDevice(`D${index}`, random))
    this.server = new SimulatedServer(this.#world, this.#backend, this.#limits)
    const stage = { server: this.server, random, witness: this.#witness }
    this.#participants = new Participants(stage, this.#devices, this.#limits.mails)
    this.#injector = new FaultInjector(random, this, this.#participants, this.#devices)
    const { people, updates } = this.#participants
    this.#updatesAtRest = new UpdatesAtRest(random, this.#witness, this, {
      ...{ people, updates, injector: this.#injector, devices: this.#devices },
      ...this.#limits.updates,
    })
    this.#mailsAtRest = new MailsAtRest(this.#witness, this, this.#participants, this.#limits.mails.storedRequestsMax)
    for (const device of this.#devices) {
      device.onCounted = (count) => this.#mailsAtRest.counted(device.name, count)
      device.onAcknowledged = (count) => this.#mailsAtRest.acknowledged(device.name, count)
    }
  }

  async begin(): Promise<void> {
    await this.pumped(this.server.open())
    this.#follow()
    await this.pumped(this.#participants.begin())
    for (let count = 0; count < 2; count++) this.#participants.updates.upload()
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
    const device = this.#world.random.pick(this.#devices)
    if (tried < 0.19) device?.report()
    else if (tried < 0.23) await this.#injector.writeProperties()
    else if (tried < 0.25) this.#participants.requests.askAgain()
    else if (tried < 0.27) await this.#injector.startAction()
    else if (tried < 0.3) await this.#injector.changeAlarms()
    else if (tried < 0.31) this.#participants.schema.act()
    else if (tried < 0.34) await this.#flood(device)
    else if (tried < 0.4) await this.#injector.changeFirmware()
    else if (tried < 0.48) this.#link()
    else if (tried < 0.51) this.#world.random.pick([...this.server.sockets.sockets])?.cut()
    else if (tried < 0.54) device?.redeclare()
    else if (tried < 0.55) device?.misreport()
    else if (tried < 0.57) device?.reboot()
    else if (tried < 0.58) device?.bye()
    else if (tried < 0.63) this.#connectDashboard()
    else if (tried < 0.66) await this.#injector.changeFunctions()
    else if (tried < 0.68) await this.#injector.notify()
    else if (tried < 0.78) this.#world.random.pick([...this.server.sockets.sockets])?.read(1 + random.below(8))
    else if (tried < 0.8) this.#world.random.pick(this.#dashboards)?.askPosition()
    else if (tried < 0.85) changeSomething(this.server, random, this.#witness, device?.name ?? '')
    else if (tried < 0.9) await this.#injector.changeRights()
    else if (tried < 0.904) this.fillDisk()
    else if (tried < 0.91) this.server.sockets.failsNext = true
    else if (tried < 0.92) await this.crash()
    else if (tried < 0.97) await this.advance(random.between(0, 40))
    else await this.advance(random.next() < 0.3 ? random.between(0, 400_000) : random.between(0, 3_000))
    await this.steps(random.below(6))
    for (const dashboard of this.#dashboards) dashboard.proceed()
    for (const device of this.#devices) device.proceed()
    await this.steps(1)
    this.#checkErrors()
  }

  /** Waits for rest and compares all clients with the store. */
  async checkQuiet(): Promise<void> {
    this.#backend.setRoom(true)
    this.#fault = undefined
    const { people, sessions, schema, requests, writes, alarms, actions } = this.#participants
    await this.#rest(() => people.isIdle && sessions.isIdle && schema.isIdle, 3)
    await this.#endActions()
    await this.#rest(() => requests.isIdle && this.#participants.updates.isIdle)
    await this.#updatesAtRest.end()
    for (const device of this.#devices) device.report()
    await this.#rest(() => true)
    await this.#mailsAtRest.end()
    // The last event is a device's own, so that no pending change causes a later evaluation.
    for (const device of this.#devices) if (this.#world.random.next() < 0.7) device.report()
    await this.#rest(() => true)
    await this.advance(heldMs)
    await this.#rest(() => requests.isIdle)
    await this.pumped(this.#participants.settle())
    const subscriptions = await this.pumped(this.#participants.subscribers.settle())
    await this.#mailsAtRest.checkStored(subscriptions)
    await this.#rest(() => this.#dashboards.every((dashboard) => dashboard.isAtRest))
    await this.#checkStream()
    await this.pumped(actions.settle())
    await this.pumped(writes.checkDesired())
    const { body } = await this.pumped(this.server.call('listDevices', { query: { depth: 2 } }))
    await this.#checkFollower(body)
    const [fault] = await this.pumped(alarms.faults(JSON.parse(body)))
    if (fault) throw new Error(fault)
    const lists: Lists = {
      listAlarmStatus: await this.pumped(alarms.rows()),
      listSubscriptions: subscriptionRows(subscriptions),
      listUpdates: await this.pumped(this.#updatesAtRest.shown()),
    }
    const open = this.#dashboards.filter((dashboard) => dashboard.isOpen)
    for (const dashboard of open) {
      const { name } = dashboard.person
      if (dashboard.isIntruder) throw new Error(`${name} is connected, and the session is over`)
      const found = dashboard.differences(JSON.parse(body), lists)
      if (found.length > 0) throw new Error(`${name} differs from the store: ${found.join('; ')}`)
    }
    const { size } = this.server.identity.sockets
    if (size !== open.length) throw new Error(`${size} sockets of sessions are registered, and ${open.length} are open`)
    this.#checkErrors()
  }

  /** Devices have a grace period to reconnect after a start, and are asked repeatedly within it. */
  async #endActions(): Promise<void> {
    for (let round = 0; round < actionRoundsMax; round++) {
      const { listing } = this.server.assembly.context
      const running = listing.entries(runningActionIndex, tenant)
      const ids = await this.pumped(running.next(1))
      await this.pumped(running.close())
      if (ids.length === 0) return
      await this.advance(1_000 + round * 500)
      await this.#rest(() => true)
    }
    throw new Error('an action does not end')
  }

  /** Runs until no work and no pending answer is left. */
  comeToRest(): Promise<void> {
    this.#fault = undefined
    this.#backend.setRoom(true)
    return this.#rest(() => this.#participants.updates.isIdle && this.#participants.requests.isIdle)
  }

  async #rest(isDone: () => boolean, roundsLeast = 0): Promise<void> {
    for (let round = 0; round < roundsMax; round++) {
      // With jitter, as the protocol requires of devices: at once they would cause endless refusals.
      for (const device of this.#devices) {
        const isMissing = !device.hasSocket && !device.isAway
        if (isMissing && this.#world.random.next() < 0.3) linkDevices(this.server, [device])
      }
      for (const socket of [...this.server.sockets.sockets]) socket.read(1_000)
      for (const dashboard of this.#dashboards) {
        const isWanted = !dashboard.isOpen && !dashboard.isComing
        if (isWanted && dashboard.person.isActive) dashboard.connect(2_000)
        dashboard.proceed()
      }
      for (const device of this.#devices) device.proceed(true)
      await this.steps(20)
      await this.advance(round % 50 === 49 ? 2_000 : 5)
      this.#checkErrors()
      const { database, context } = this.server.assembly
      const isQuiet =
        database.status === 'ok' &&
        this.#world.isIdle &&
        context.system.gate.isSettled &&
        context.events.hub.behindCount() === 0 &&
        isDone() &&
        this.#devices.every((device) => device.isSettled) &&
        ![...this.server.sockets.sockets].some((socket) => socket.hasUnread)
      if (isQuiet && round >= roundsLeast) return
    }
    throw new Error('it does not come to rest')
  }

  /** Every acknowledged or answered change is in the stream. */
  async #checkStream(): Promise<void> {
    const stream = await this.pumped(this.server.stream())
    const {
      events: { reader },
      system,
    } = this.server.assembly.context
    this.#stored.gather(stream, reader.retainedFrom(tenant), system.registry.head(tenant).committed)
    await this.#updatesAtRest.checkStatuses(this.#stored)
    this.#participants.writes.check(this.#stored.numbers)
    for (const device of this.#devices) this.#stored.check(device)
  }

  /** Takes this number of steps; fewer if nothing is pending. */
  async steps(count: number): Promise<void> {
    for (let left = count; left > 0; left--) {
      const wasIdle = this.#world.isIdle
      await this.#world.step()
      this.#witness.passed(this.#published)
      if (wasIdle && this.#world.isIdle) return
    }
  }

  async advance(ms: number): Promise<void> {
    await this.#world.advance(ms)
    this.#witness.passed(this.#published)
  }

  /** Advances time in one large step. */
  async leap(ms: number): Promise<void> {
    await this.#world.leap(ms)
    this.#witness.passed(this.#published)
  }

  get #published(): number {
    return this.server.assembly.context.events.hub.publishedTo(tenant)
  }

  /** Waits for a promise that needs tasks to run. */
  pumped<T>(promise: Promise<T>): Promise<T> {
    return this.#world.pumped(promise, 1, () => this.#witness.passed(this.#published))
  }

  async crash(): Promise<void> {
    this.#crashes++
    // Acknowledgements on their way are sometimes read first and sometimes lost.
    if (this.#world.random.next() < 0.5) for (const socket of [...this.server.sockets.sockets]) socket.read(3)
    this.server.die()
    this.#fault = undefined
    this.#backend.setRoom(true)
    this.#backend.crash(this.#world.random.below(3))
    const { epoch } = this.server.assembly.context.events.reader
    const follower = this.#follower
    this.#follower = undefined
    this.server = follower?.server ?? new SimulatedServer(this.#world, this.#backend, this.#limits)
    for (const part of [this.#participants, ...this.#dashboards]) part.moveTo(this.server)
    await this.pumped(follower?.opened ?? this.server.open())
    if (this.#backend.isShared && this.server.assembly.context.events.reader.epoch !== epoch)
      throw new Error('the node that took over began another epoch')
    this.#follow()
  }

  #follow(): void {
    if (!(this.#backend instanceof SimulatedNodes) || this.#world.random.next() < 0.3) return
    const server = new SimulatedServer(this.#world, this.#backend.follower(), this.#limits)
    const opened = server.open()
    // Rejects when it has taken over, or never.
    opened.catch(() => {})
    this.#follower = { server, opened }
  }

  /** A node that follows has the state of the server, and the whole stream. */
  async #checkFollower(state: string): Promise<void> {
    const server = this.#follower?.server
    if (!server) return
    const { database, context } = server.assembly
    const hasAll = () => database.status === 'ok' && context.events.hub.publishedTo(tenant) === this.#published
    for (let round = 0; round < roundsMax && !hasAll(); round++) await this.advance(5)
    if (!hasAll()) throw new Error('a node that follows does not get all events')
    const { body } = await this.pumped(server.call('listDevices', { query: { depth: 2 } }))
    if (body !== state) throw new Error(`a node that follows answers ${body}, and the owner ${state}`)
    if (context.events.reader.epoch !== this.server.assembly.context.events.reader.epoch)
      throw new Error('a node that follows has another epoch than the owner')
  }

  /** One device sends a burst while commits take place. */
  async #flood(device: SimulatedDevice | undefined): Promise<void> {
    for (let count = 0; count < 15; count++) {
      device?.report()
      if (this.#world.random.next() < 0.5) await this.steps(1)
    }
  }

  /** Makes the next write fail. */
  failWrite(): void {
    this.#fault = { fail: 'full', reachedDisk: this.#world.random.next() < 0.5 }
  }

  /** Makes the next write fail, and perhaps the following ones, as on a full disk. */
  fillDisk(): void {
    this.failWrite()
    this.#backend.setRoom(this.#world.random.next() < 0.5)
  }

  #link(): void {
    const { random } = this.#world
    const free = this.#devices.filter((device) => random.next() < (device.hasSocket || device.isAway ? 0.1 : 1))
    for (const device of free) device.isAway = false
    linkDevices(this.server, free.slice(0, 1 + random.below(3)))
  }

  #connectDashboard(): void {
    const { random } = this.#world
    const closed = this.#dashboards.find((dashboard) => !dashboard.isOpen && !dashboard.isComing)
    if (closed) {
      closed.connect(300 + random.below(3_000))
      return
    }
    if (this.#dashboards.length >= 5) return
    const person = this.#world.random.pick(this.#participants.people.persons)
    if (!person) return
    const dashboard = new SimulatedDashboard(this.server, person, this.#witness, this.#participants)
    dashboard.connect(300 + random.below(3_000))
    this.#dashboards = [...this.#dashboards, dashboard]
  }

  #checkErrors(): void {
    const [fault] = [...this.#witness.faults, ...this.server.errors, ...(this.#follower?.server.errors ?? [])]
    if (fault !== undefined) throw fault
  }
}
