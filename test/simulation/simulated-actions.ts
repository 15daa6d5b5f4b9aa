import { Participant } from '#test/simulation/participant'
import type { Participants } from '#test/simulation/participants'
import { mayDo } from '#test/simulation/reference-filter'
import type { BoundTo } from '#test/simulation/simulated-alarms'
import type { SimulatedDevice } from '#test/simulation/simulated-device'
import {
  type Execution,
  firstActionTarget,
  heaterService,
  invalidUpdates,
  targetIn,
  targetOf,
} from '#test/simulation/simulated-heater'
import type { Person } from '#test/simulation/simulated-person'
import type { Outcome, SimulatedRequest, SimulatedServer } from '#test/simulation/simulated-server'
import type { Ground } from '#test/simulation/witness'

type Row = Readonly<Record<string, unknown>> & { readonly deviceIdentifier: string; readonly status: string }

/** `GET /devices/actions/:actionId`. */
interface ReadAction {
  readonly id: string
  readonly state: 'running' | 'done'
  readonly counts: Readonly<Record<string, number>>
  readonly devices: readonly Row[]
}

type Parts = Pick<Participants, 'requests' | 'people' | 'schema' | 'alarms'> & {
  readonly devices: readonly SimulatedDevice[]
}

/** The author whose permissions count: root, an unknown user, or a user. */
type Author = 'root' | 'unknown' | Person

/** An action, identified by its unique target value. */
interface StartedAction {
  readonly target: number
  readonly name: string | undefined
  readonly author: Author
  readonly moment: number
  /** The requested value is invalid for every device. */
  readonly isWrong: boolean
  readonly devices: readonly string[]
  /** The id in the answer; undefined without an answer. */
  id: string | undefined
  /** The process that accepted the action; a later process may repeat requests to devices. */
  server: SimulatedServer | undefined
  /** Devices that surely were in the groups of the action while it was accepted, and devices that may have been. */
  members: { readonly surely: readonly string[]; readonly possibly: readonly string[] } | undefined
  /** All results shown so far. */
  shown: ReadonlyMap<string, Row>
  isDone: boolean
}

const missingDevice = 'NOBODY'
const openMax = 5
const keptMax = 40

/**
 * Users who start actions on many devices and read their progress. The results are compared with what the devices
 * executed, and with earlier results: an outcome never changes. Contract 3.6.
 */
export class SimulatedActions extends Participant<Parts> {
  /** The number of outcomes seen for the first time. */
  outcomesSeen = 0
  /** When the present process began. It decides by permissions that users have had since then. */
  #serverSince = 0
  #all: readonly StartedAction[] = []
  #lastTarget = firstActionTarget

  override moveTo(server: SimulatedServer): void {
    super.moveTo(server)
    this.#serverSince = this.witness.moment
  }

  act(): void {
    if (this.#open.length < openMax) this.#ask()
    else this.look()
  }

  look(): void {
    for (const action of this.#open) this.watch(this.#read(action))
  }

  /** A device receives a request for the first time. */
  writeReceived(device: SimulatedDevice, updates: Execution['updates']): void {
    const target = targetIn(updates)
    const action = this.#all.find((other) => other.target === target?.value)
    if (!target || !action) return
    const from = Math.max(action.moment, this.#serverSince)
    if (action.name !== undefined) this.parts.schema.checkMeaning(action.name, target.propId, from)
    const { author } = action
    if (author === 'root') return
    const what = () => `${device.name} is asked for ${action.target} without permission`
    this.witness.check(what, author === 'unknown' ? [] : groundsOf(author, from, device.name))
  }

  /** Reads the final results. For a server at rest without running actions. */
  async settle(): Promise<void> {
    this.#checkExecutions()
    for (const action of this.#all) {
      if (action.id === undefined) continue
      await this.#read(action)
      if (!action.isDone) this.witness.report(`${nameOf(action)} is not done, and no work is left`)
    }
    this.#all = this.#all.slice(-keptMax)
  }

  get #open(): readonly StartedAction[] {
    return this.#all.filter(({ id, isDone }) => id !== undefined && !isDone)
  }

  #ask(): void {
    const random = this.random
    const name = random.next() < 0.15 ? 'aim' : undefined
    const isWrong = random.next() < 0.05
    const groups = this.parts.alarms.groupsThere.filter(() => random.next() < 0.5)
    const devices = this.parts.devices.map((device) => device.name).filter(() => random.next() < 0.7)
    if (random.next() < 0.1) devices.push(missingDevice)
    const isNamed = groups.length === 0 || random.next() < 0.7
    const bound: BoundTo = { ...(isNamed && { devices }), ...(groups.length > 0 && { groups }) }
    const [author, request] = this.#author()
    const { moment } = this.witness
    const action: StartedAction = {
      ...{ target: ++this.#lastTarget, name, author, moment, isWrong, devices: isNamed ? devices : [] },
      ...{ id: undefined, server: undefined, members: undefined, shown: new Map(), isDone: false },
    }
    const updates = {
      ...(random.next() < 0.5 && { '0x2002': true }),
      [name ?? '0x2001']: action.target,
      ...(isWrong && random.pick(invalidUpdates)),
    }
    this.#all = [...this.#all, action]
    this.parts.requests.ask({
      name: 'createAction',
      request: { ...request, body: { ...bound, serviceIdentifier: heaterService, updates } },
      sent: ({ isOver }) => {
        const server = this.server
        return (outcome) => this.#taken(action, outcome, { groups }, isOver ? undefined : server)
      },
    })
  }

  #taken(action: StartedAction, { status, body }: Outcome, bound: BoundTo, server: SimulatedServer | undefined): void {
    if (status !== 202) return
    const { id } = JSON.parse(body)
    if (action.id !== undefined && action.id !== id) this.witness.report(`${nameOf(action)} is ${id} too`)
    action.id = id
    action.server ??= server
    action.members ??= {
      surely: this.parts.alarms.surelyBound(bound, action.moment),
      possibly: this.parts.alarms.possiblyBound(bound, action.moment),
    }
    // The action was forgotten here, and its request repeated under the key.
    if (!this.#all.includes(action)) this.#all = [...this.#all, action]
  }

  /** The administrator in the name of root or a user, or a user directly, with or without permission. */
  #author(): readonly [Author, SimulatedRequest] {
    const { root, persons } = this.parts.people
    const tried = this.random.next()
    const person = persons[this.random.below(persons.length)]
    if (!person || tried < 0.55) return ['root', { as: root }]
    if (tried < 0.6) return ['unknown', {}]
    const session = [...person.sessions].find(({ isBegun }) => isBegun)
    return [person, session && tried < 0.8 ? { authorization: session.authorization } : { as: person.account }]
  }

  async #read(action: StartedAction): Promise<void> {
    const known = action.shown
    const wasDone = action.isDone
    const { body, refused } = await this.answerTo('readAction', { parameters: { actionId: action.id } })
    if (refused === 'not_found') this.witness.report(`${nameOf(action)} was accepted, and is gone`)
    if (refused !== undefined) return
    const entry: ReadAction = JSON.parse(body)
    const settled = entry.devices.filter(({ status }) => status !== 'PENDING')
    action.shown = new Map([...action.shown, ...settled.map((row) => [row.deviceIdentifier, row] as const)])
    action.isDone ||= entry.state === 'done'
    if (wasDone && entry.state !== 'done') this.witness.report(`${nameOf(action)} was done, and is running again`)
    this.#checkCounts(action, entry, known)
    for (const row of entry.devices) this.#checkRow(action, row, known.get(row.deviceIdentifier))
    this.#checkDevices(action, entry)
    this.witness.count(`actions seen ${entry.state}`)
  }

  #checkDevices(action: StartedAction, { devices: rows }: ReadAction): void {
    const names = rows.map(({ deviceIdentifier }) => deviceIdentifier)
    if (JSON.stringify(names) !== JSON.stringify([...new Set(names)].sort()))
      this.witness.report(`${nameOf(action)} is for ${names.join(', ')}`)
    const { devices, members } = action
    if (!members) return
    const missing = [...devices, ...members.surely].filter((device) => !names.includes(device))
    const others = names.filter((device) => !devices.includes(device) && !members.possibly.includes(device))
    if (missing.length > 0) this.witness.report(`${nameOf(action)} is not for ${missing.join(', ')}`)
    if (others.length > 0) this.witness.report(`${nameOf(action)} is for ${others.join(', ')} too`)
  }

  /** The server reads the counts before the rows: rows may be further, but not after the action is done. */
  #checkCounts(action: StartedAction, read: ReadAction, known: StartedAction['shown']): void {
    const { state, counts, devices: rows } = read
    const { total, ...byStatus } = counts
    const wrong = Object.entries(byStatus).filter(([status, count]) => {
      const shown = rows.filter((row) => row.status === status).length
      const before = [...known.values()].filter((row) => row.status === status).length
      if (count < before) return true
      return state === 'done' ? count !== shown : status === 'PENDING' ? count < shown : count > shown
    })
    const sum = Object.values(byStatus).reduce((all, count) => all + count, 0)
    const isPendingDone = state === 'done' && counts.PENDING !== 0
    if (wrong.length > 0 || total !== rows.length || total !== sum || isPendingDone)
      this.witness.report(`${nameOf(action)}, ${state}, counts ${JSON.stringify(counts)} of ${JSON.stringify(rows)}`)
  }

  #checkRow(action: StartedAction, row: Row, before: Row | undefined): void {
    const { deviceIdentifier: name, status } = row
    const report = (what: string) => this.witness.report(`${nameOf(action)}: ${name} ${what}: ${JSON.stringify(row)}`)
    if (before && JSON.stringify(before) !== JSON.stringify(row)) report(`was ${JSON.stringify(before)}`)
    if (status === 'PENDING') return
    const device = this.parts.devices.find((other) => other.name === name)
    const executions = device?.heater.executions.filter((execution) => targetOf(execution) === action.target) ?? []
    if (!device && status !== 'NOT_FOUND') report('does not exist')
    if (action.isWrong && status !== 'INVALID' && status !== 'NOT_FOUND') report('must refuse this value')
    if (action.isWrong && executions.length > 0) report('executed an invalid write')
    if (action.author === 'unknown' && status !== 'NOT_FOUND') report('must not be changed by the author')
    if (status === 'OK' && !executions.some(({ results }) => results.every((each) => each.status === 'OK')))
      report('did not execute it')
    const results = executions.map((execution) => JSON.stringify(execution.results))
    if (status === 'REJECTED' && !results.includes(JSON.stringify(row.updates))) report(`answered ${results}`)
    const isUnsent = status === 'DEVICE_OFFLINE' || status === 'INVALID'
    if (isUnsent && action.server === this.server && executions.length > 0) report('executed it')
    if (before) return
    this.outcomesSeen++
    this.witness.count(`action ${status}`)
  }

  /**
   * No device may have executed a request twice under one address. A device that was created again has another address.
   */
  #checkExecutions(): void {
    for (const { name, heater } of this.parts.devices) {
      const doneUnder = new Map<string, string>()
      for (const execution of heater.executions) {
        const target = targetOf(execution)
        if (target === undefined || target <= firstActionTarget) continue
        const place = `${target} at ${execution.address}`
        const other = doneUnder.get(place)
        if (other !== undefined) this.witness.report(`${name} executes ${place} under ${other} and ${execution.id}`)
        doneUnder.set(place, execution.id)
      }
    }
  }
}

/** The grants that may have allowed a change of a device's heater at some moment since `from`. */
function groundsOf(person: Person, from: number, device: string): readonly Ground[] {
  const active = person.state.since(from).filter(({ value }) => value === 'active')
  const may = person.grounds(from, (grants) => mayDo(grants, 'service', ['update'], device, heaterService))
  return may.flatMap((ground) => active.map((state) => [...ground, state]))
}

function nameOf({ target, id }: StartedAction): string {
  return `action ${id ?? 'unknown'} of ${target}`
}
