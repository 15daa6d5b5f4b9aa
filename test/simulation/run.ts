import { memoryPlace, type WriteFault } from '#store/memory'
import { SimulatedDashboard } from '#test/simulation/simulated-dashboard'
import { counterId, counterService, SimulatedDevice } from '#test/simulation/simulated-device'
import { SimulatedPeople } from '#test/simulation/simulated-people'
import { type SimulatedLimits, SimulatedServer, tenant } from '#test/simulation/simulated-server'
import { SimulatedWorld } from '#test/simulation/simulated-world'
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

/**
 * One life of the server from a seed: random devices, people and their dashboards, crashes, failed writes, slow and cut
 * sockets, edits of rights. Throws at the first thing that must not be; the same seed throws at the same thing.
 */
export async function run(seed: number, steps = 300): Promise<RunSummary> {
  const simulation = new Simulation(seed)
  try {
    await simulation.begin()
    for (let step = 0; step < steps; step++) {
      simulation.step = step
      await simulation.act()
      if (step % 60 === 59) await simulation.checkQuiet()
    }
    await simulation.checkQuiet()
    return simulation.summary()
  } catch (error) {
    const what = error instanceof Error ? error.message : error
    const again = `SEED=${seed} npm test -- test/simulation`
    throw new Error(`seed ${seed}, step ${simulation.step}: ${what}. Again: ${again}`, { cause: error })
  }
}

/** How often something is tried before a run that does not come to rest is called stuck. */
const roundsMax = 4_000

class Simulation {
  step = 0
  readonly #world: SimulatedWorld
  readonly #place: ReturnType<typeof memoryPlace>
  readonly #devices: SimulatedDevice[]
  readonly #limits: SimulatedLimits
  readonly #witness = new Witness()
  readonly #people: SimulatedPeople
  #dashboards: SimulatedDashboard[] = []
  #server: SimulatedServer
  #fault: WriteFault | undefined
  #crashes = 0
  #failedWrites = 0
  /** Counts of each device found in parts of the stream that are not retained any more. */
  readonly #seen = new Map<string, number[]>()
  #seenUpTo = 0

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
  }

  async begin(): Promise<void> {
    await this.#open()
    await this.#pumped(this.#people.begin())
    for (let count = 0; count < 2; count++) this.#connectDashboard()
  }

  summary(): RunSummary {
    return {
      acknowledged: this.#devices.reduce((sum, device) => sum + device.acknowledged.length, 0),
      crashes: this.#crashes,
      failedWrites: this.#failedWrites,
      events: this.#seenUpTo,
      counts: this.#witness.counts,
    }
  }

  async act(): Promise<void> {
    const { random } = this.#world
    const tried = random.next()
    const device = this.#pick(this.#devices)
    if (tried < 0.33) device?.report()
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
    else if (tried < 0.85) this.#change()
    else if (tried < 0.9) await this.#changeRights()
    else if (tried < 0.91) this.#failWrite()
    else if (tried < 0.92) await this.#crash()
    else if (tried < 0.97) await this.#advance(random.between(0, 40))
    else await this.#advance(random.next() < 0.3 ? random.between(0, 400_000) : random.between(0, 3_000))
    await this.#steps(random.below(6))
    for (const dashboard of this.#dashboards) dashboard.proceed()
    await this.#steps(1)
    this.#checkErrors()
  }

  /** Lets everything come to rest, and compares everybody with what is stored. */
  async checkQuiet(): Promise<void> {
    this.#place.setRoom(true)
    this.#fault = undefined
    await this.#comeToRest(() => this.#people.isIdle, 3)
    await this.#pumped(this.#people.settle())
    await this.#comeToRest(() => this.#dashboards.every((dashboard) => dashboard.isAtRest))
    await this.#checkStream()
    const { body } = await this.#pumped(this.#server.call('listDevices', { query: { depth: 2 } }))
    const open = this.#dashboards.filter((dashboard) => dashboard.isOpen)
    for (const dashboard of open) {
      const { name } = dashboard.person
      if (dashboard.isIntruder) throw new Error(`${name} is connected, and the session is over`)
      const found = dashboard.differences(JSON.parse(body))
      if (found.length > 0) throw new Error(`${name} knows otherwise: ${found.join('; ')}`)
    }
    const { size } = this.#server.identity.sockets
    if (size !== open.length) throw new Error(`${size} sockets of sessions are known, and ${open.length} are open`)
    this.#checkErrors()
  }

  async #comeToRest(isDone: () => boolean, roundsLeast = 0): Promise<void> {
    for (let round = 0; round < roundsMax; round++) {
      // With jitter, as devices are told to: all at once they would refuse each other for ever.
      for (const device of this.#devices) {
        if (!device.hasSocket && this.#world.random.next() < 0.3) this.#linkDevices([device])
      }
      for (const socket of [...this.#server.sockets.sockets]) socket.read(1_000)
      for (const dashboard of this.#dashboards) {
        const isWanted = !dashboard.isOpen && !dashboard.isComing
        if (isWanted && dashboard.person.isActive) dashboard.connect(2_000)
        dashboard.proceed()
      }
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

  /** Every acknowledged frame is in the stream, once; each device's frames are there in its order. */
  async #checkStream(): Promise<void> {
    const stream = await this.#pumped(this.#server.stream())
    const { retainedFrom } = this.#server.assembly.context.reader as unknown as { retainedFrom(tenant: string): number }
    const from = retainedFrom.call(this.#server.assembly.context.reader, tenant)
    if (from > this.#seenUpTo + 1) {
      // Part of it went before anybody looked: what remains can still be checked for order and doubles.
      this.#isPartlySeen = true
    }
    for (const { offset, entry } of stream) {
      if (offset <= this.#seenUpTo) continue
      if (entry.kind !== 'reported' || entry.shape.serviceIdentifier !== counterService) continue
      const counts = this.#seen.get(entry.device) ?? []
      counts.push(entry.items[1] as number)
      this.#seen.set(entry.device, counts)
    }
    this.#seenUpTo = this.#server.assembly.context.system.registry.head(tenant).committed
    for (const device of this.#devices) {
      const counts = this.#seen.get(device.name) ?? []
      counts.forEach((count, index) => {
        if (index > 0 && count <= (counts[index - 1] as number)) {
          throw new Error(`${device.name}: ${count} is stored after ${counts[index - 1]} (property ${counterId})`)
        }
      })
      if (this.#isPartlySeen) continue
      const stored = new Set(counts)
      const lost = device.acknowledged.filter((count) => !stored.has(count))
      if (lost.length > 0) throw new Error(`${device.name}: acknowledged and not stored: ${lost.join(', ')}`)
    }
  }

  #isPartlySeen = false

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

  async #open(): Promise<void> {
    await this.#pumped(this.#server.open())
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
    this.#people.moveTo(this.#server)
    for (const dashboard of this.#dashboards) dashboard.moveTo(this.#server)
    await this.#open()
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
    const free = this.#devices.filter((device) => !device.hasSocket || this.#world.random.next() < 0.1)
    this.#linkDevices(free.slice(0, 1 + this.#world.random.below(3)))
  }

  /** Opens one link for some devices, as a gateway does. */
  #linkDevices(devices: readonly SimulatedDevice[]): void {
    if (devices.length === 0) return
    const peer = {
      heard: (message: string) => {
        for (const device of devices) if (device.socket === socket) device.heard(message)
      },
      closed: () => {
        for (const device of devices) if (device.socket === socket) device.closed()
      },
    }
    const opening = { tenant, protocol: 'json' as const, origin: 'http://simulated' }
    const socket = this.#server.sockets.open(this.#server.assembly.context.links, opening, peer, 1_000_000)
    for (const device of devices) device.hello(socket)
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
    const dashboard = new SimulatedDashboard(this.#server, person, this.#witness)
    dashboard.connect(300 + random.below(3_000))
    this.#dashboards = [...this.#dashboards, dashboard]
  }

  /** People change something. Refusals are none of our business here. */
  #change(): void {
    const { random } = this.#world
    const device = this.#pick(this.#devices)?.name ?? ''
    const parameters = { deviceIdentifier: device, serviceIdentifier: 'climate' }
    const calls = [
      () =>
        this.#server.call('patchMeta', { parameters, body: { note: random.below(5), [`k${random.below(3)}`]: null } }),
      () => this.#server.call('putSchema', { parameters, body: { name: `n${random.below(3)}`, properties: {} } }),
      () => this.#server.call('deleteSchema', { parameters }),
      () => this.#server.call('deleteDevice', { parameters }),
      () => this.#server.call('listServices', { query: { depth: 2 } }),
      () => this.#server.call('readMeta', { parameters, query: {} }),
    ]
    this.#pick(calls)?.().catch(() => {})
  }

  /** People's rights change; now and then in the last moment before something breaks. */
  async #changeRights(): Promise<void> {
    const { random } = this.#world
    for (let left = 1 + random.below(2); left > 0; left--) this.#people.act()
    const tried = random.next()
    if (tried < 0.1) this.#fault = { fail: 'full', reachedDisk: random.next() < 0.5 }
    else if (tried < 0.2) {
      await this.#steps(random.below(5))
      await this.#crash()
    }
  }

  #checkErrors(): void {
    const [fault] = [...this.#witness.faults, ...this.#server.errors]
    if (fault !== undefined) throw fault
  }

  #pick<T>(from: readonly T[]): T | undefined {
    return from[this.#world.random.below(from.length)]
  }
}
