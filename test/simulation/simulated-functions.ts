import { Participant } from '#test/simulation/participant'
import { type Author, randomAuthor } from '#test/simulation/random-author'
import { type Cause, template } from '#test/simulation/reference-mails'
import { Register, unordered, type Version } from '#test/simulation/register'
import { type BoundTo, idIn, type SimulatedAlarms } from '#test/simulation/simulated-alarms'
import { counterId, counterService } from '#test/simulation/simulated-device'
import { degreesId, heaterService } from '#test/simulation/simulated-heater'
import type { SimulatedPeople } from '#test/simulation/simulated-people'
import type { Attempt, SimulatedRequests } from '#test/simulation/simulated-requests'
import type { SimulatedServer } from '#test/simulation/simulated-server'

/** The edited part of a function. */
export interface FunctionNow extends BoundTo {
  readonly enabled: boolean
}

/** The constant part of a function: its graph. Identified by its unique name. */
export interface Plan {
  readonly name: string
  readonly cause: Cause
  /** Only each n-th count triggers it. */
  readonly every: number
  /** The minimum interval, per device. */
  readonly throttleMs: number
  readonly graph: object
}

export interface KnownFunction {
  readonly id: string
  readonly plan: Plan
  /** Null: deleted. */
  readonly now: Register<FunctionNow | null>
  /** The author whose permissions count; undefined while that is open. */
  author: string | undefined
}

/** `GET /functions`. */
interface ReadFunction {
  readonly resourceIdentifier: string
  readonly name: string
  readonly enabled: boolean
  readonly binding: BoundTo
  readonly updatedBy: string
}

interface Parts {
  readonly requests: SimulatedRequests
  readonly people: SimulatedPeople
  readonly alarms: SimulatedAlarms
  readonly devices: readonly string[]
  /** Whether status changes send mails. Devices come and go meanwhile: with few mails an hour, some would always wait. */
  readonly hasStatusMails: boolean
}

const functionsMax = 7

/**
 * Functions that are created, edited and deleted during the run in the name of users, whose permissions decide the result.
 * The first two belong to root and never change: their notifications must never be missing. Contract 5.1, 5.4.
 */
export class SimulatedFunctions extends Participant<Parts> {
  readonly #known = new Map<string, KnownFunction>()
  readonly #plans = new Map<string, Plan>()
  /** Names of retried requests with unknown outcome: if deleted since, the retry creates the function again. */
  readonly #retried = new Set<string>()
  #lasting: readonly KnownFunction[] = []

  override moveTo(server: SimulatedServer): void {
    super.moveTo(server)
    for (const { now } of this.#known.values()) now.lost(this.witness.moment)
  }

  /** Creates the two permanent functions: one reports each third count, the other at most one in 30 s. */
  async begin(): Promise<void> {
    await this.server.call('putTemplate', { parameters: { name: 'mail' }, body: template })
    this.#lasting = [await this.#begin({ every: 3 }), await this.#begin({ throttleMs: 30_000 })]
  }

  get lasting(): readonly KnownFunction[] {
    return this.#lasting
  }

  get there(): readonly KnownFunction[] {
    return [...this.#known.values()].filter(({ now }) => now.certain !== null)
  }

  named(name: string): KnownFunction | undefined {
    return [...this.#known.values()].find(({ plan }) => plan.name === name)
  }

  by(id: string): KnownFunction | undefined {
    return this.#known.get(id)
  }

  act(): void {
    const tried = this.random.next()
    const known = this.random.pick(this.there.filter((each) => !this.#lasting.includes(each)))
    if (known && tried < 0.5) this.#edit(known)
    else if (known && tried < 0.65) this.#delete(known)
    else if (this.there.length < functionsMax) this.#make()
  }

  /** Reads the final state of everything. For a server at rest. */
  async settle(): Promise<void> {
    const { moment } = this.witness
    const listed: readonly ReadFunction[] = JSON.parse((await this.server.call('listFunctions')).body)
    const there = new Map(listed.map((entry) => [idIn(entry.resourceIdentifier), entry]))
    if (new Set(listed.map(({ name }) => name)).size < listed.length) this.witness.report('a function was made twice')
    for (const [id, { now, plan }] of this.#known) {
      const entry = there.get(id)
      if (now.certain === null && entry && this.#retried.has(plan.name)) this.#known.delete(id)
      else now.found(entry ? nowIn(entry) : null, moment)
    }
    for (const [id, entry] of there) {
      const known = this.#known.get(id) ?? this.#learn(id, entry.name, nowIn(entry))
      known.author = entry.updatedBy
    }
  }

  /** The versions of the function since `from` that may report this device. */
  notifyingVersions({ now }: KnownFunction, device: string, from: number): readonly Version<FunctionNow | null>[] {
    return now.since(from).filter(({ value }) => value?.enabled && this.#mayMean(value, device, from))
  }

  #mayMean(bound: FunctionNow, device: string, from: number): boolean {
    if (!bound.devices && !bound.groups) return true
    return [...(bound.devices ?? []), ...this.parts.alarms.possiblyBound(bound, from)].includes(device)
  }

  async #begin(some: Partial<Plan>): Promise<KnownFunction> {
    const { root } = this.parts.people
    const plan = this.#planOf({ cause: 'counter', every: 1, throttleMs: 0, ...some })
    const { name, graph } = plan
    const { body } = await this.server.call('createFunction', {
      as: root,
      body: { name, enabled: true, binding: {}, graph },
    })
    const id = idIn(JSON.parse(body).resourceIdentifier)
    const known = this.#learn(id, name, { enabled: true })
    known.author = root
    return known
  }

  #learn(id: string, name: string, now: FunctionNow): KnownFunction {
    const plan = this.#plans.get(name)
    if (!plan) throw new Error(`function ${name} was never requested`)
    const register = new Register<FunctionNow | null>(now, { ...unordered, moment: this.witness.moment })
    const known: KnownFunction = { id, plan, now: register, author: undefined }
    this.#known.set(id, known)
    return known
  }

  #make(): void {
    const { name, cause, graph } = this.#randomPlan()
    const bound = this.#randomBinding()
    const { request, check } = this.#author(bound, cause)
    const enabled = this.random.next() < 0.9
    this.parts.requests.ask({
      name: 'createFunction',
      request: { ...request, body: { name, enabled, binding: bound, graph } },
      sent: ({ isFirst, isOver }) => {
        if (!isFirst && !isOver) this.#retried.add(name)
        return ({ status, body }) => {
          if (status !== 201 || !isFirst) return
          check()
          const { resourceIdentifier, updatedBy } = JSON.parse(body)
          const id = idIn(resourceIdentifier)
          if (!this.#known.has(id)) this.#learn(id, name, { ...bound, enabled }).author = updatedBy
        }
      },
    })
  }

  #edit(known: KnownFunction): void {
    const { id, plan } = known
    const bound = this.#randomBinding()
    const { request, check } = this.#author(bound, plan.cause)
    const enabled = this.random.next() < 0.75
    this.parts.requests.ask({
      name: 'updateFunction',
      request: { ...request, parameters: { functionId: id }, body: { enabled, binding: bound } },
      sent: (attempt) => this.#changeOf(known, { ...bound, enabled }, attempt, check),
    })
  }

  #delete(known: KnownFunction): void {
    this.parts.requests.ask({
      name: 'deleteFunction',
      request: { parameters: { functionId: known.id } },
      sent: (attempt) => this.#changeOf(known, null, attempt),
    })
  }

  #changeOf(known: KnownFunction, value: FunctionNow | null, attempt: Attempt, check = () => {}) {
    known.author = undefined
    return this.changing(known.now, value, attempt, check)
  }

  #author(bound: BoundTo, cause: Cause): Author {
    const { people, alarms } = this.parts
    const service = cause === 'counter' || cause === 'heater' ? { service: cause } : {}
    const surelyBound = (from: number) => alarms.surelyBound(bound, from)
    return randomAuthor(
      { random: this.random, witness: this.witness, people },
      { resource: 'functions', ...service, surelyBound },
    )
  }

  #randomBinding(): BoundTo {
    const random = this.random
    const some = (names: readonly string[]) => names.filter(() => random.next() < 0.6)
    const groups = some(this.parts.alarms.groupsThere).sort()
    const tried = random.next()
    return {
      ...(tried < 0.6 && { devices: some(this.parts.devices) }),
      ...(tried > 0.3 && tried < 0.85 && groups.length > 0 && { groups }),
    }
  }

  #randomPlan(): Plan {
    const random = this.random
    const hasStatusMails = this.parts.hasStatusMails && random.next() < 0.4
    const causes: readonly Cause[] = hasStatusMails ? ['status'] : ['counter', 'counter', 'heater', 'alarm']
    const throttleMs = random.next() < 0.3 ? 20_000 : 0
    return this.#planOf({ cause: this.random.pick(causes) ?? 'counter', every: 1 + random.below(3), throttleMs })
  }

  #planOf({ cause, every, throttleMs }: Omit<Plan, 'name' | 'graph'>): Plan {
    const alarm = this.random.pick(this.parts.alarms.alarmsThere)
    const isOfAlarm = cause === 'alarm' && alarm !== undefined
    const triggers = {
      counter: { on: 'property', serviceIdentifier: counterService, propId: counterId },
      heater: { on: 'property', serviceIdentifier: heaterService, propId: degreesId },
      status: { on: 'status' },
      alarm: { on: 'alarm', alarmId: alarm },
    }
    const actualCause = cause === 'alarm' && !isOfAlarm ? 'counter' : cause
    const isCounted = actualCause === 'counter' && every > 1
    const nodes = [
      { id: 'trigger', type: 'trigger', ...triggers[actualCause] },
      ...(isCounted
        ? [{ id: 'some', type: 'condition', logic: { '==': [{ '%': [{ var: 'value' }, every] }, 0] } }]
        : []),
      ...(throttleMs > 0 ? [{ id: 'few', type: 'throttle', seconds: throttleMs / 1_000 }] : []),
      { id: 'mail', type: 'email', template: 'mail' },
    ]
    const edges = nodes.slice(1).map(({ id }, index) => [nodes[index]?.id, id])
    edges.push([nodes.at(-2)?.id, 'call'])
    const call = { id: 'call', type: 'webhook', url: 'https://receiver' }
    const name = `f${this.#plans.size}`
    const plan = {
      name,
      cause: actualCause,
      every: isCounted ? every : 1,
      throttleMs,
      graph: { nodes: [...nodes, call], edges },
    }
    this.#plans.set(name, plan)
    return plan
  }
}

function nowIn({ enabled, binding: { devices, groups } }: ReadFunction): FunctionNow {
  return { ...(devices && { devices }), ...(groups && { groups }), enabled }
}
