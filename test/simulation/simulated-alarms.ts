import { Participant } from '#test/simulation/participant'
import type { Participants } from '#test/simulation/participants'
import { type Author, randomAuthor } from '#test/simulation/random-author'
import { roleByGroup } from '#test/simulation/random-grants'
import { alarmFaults, type ReadAlarm, type ReadGroup, type ReadRow } from '#test/simulation/reference-alarms'
import { mayRead } from '#test/simulation/reference-filter'
import { Register, unordered } from '#test/simulation/register'
import { counterService } from '#test/simulation/simulated-device'
import { heaterService } from '#test/simulation/simulated-heater'
import type { Person } from '#test/simulation/simulated-person'
import type { Attempt } from '#test/simulation/simulated-requests'
import type { Outcome, SimulatedServer } from '#test/simulation/simulated-server'

/** A binding; without both fields: all devices. */
export interface BoundTo {
  readonly devices?: readonly string[]
  readonly groups?: readonly string[]
}

/** Longer than any alarm's delay. */
export const heldMs = 31_000

const alarmsMax = 8
const groupsMax = 3

type Named = BoundTo & { readonly name: string }
type Parts = Pick<Participants, 'requests' | 'people' | 'schema'> & { readonly devices: readonly string[] }

/** Bindings by id; null: deleted. */
type BindingRegisters = Map<string, Register<BoundTo | null>>

const heat = ['0x2000', '0x2000.FLOAT', 'heat']

/**
 * Alarms and groups that are created, edited and deleted during the run, by users and in the name of users, whose
 * permissions decide the result. Contract 5.1, 5.3.
 */
export class SimulatedAlarms extends Participant<Parts> {
  readonly #alarms: BindingRegisters = new Map()
  readonly #groups: BindingRegisters = new Map()
  /** Names of retried requests with unknown outcome: if deleted since, the retry creates the alarm or group again. */
  readonly #retried = new Set<string>()
  #named = 0

  override moveTo(server: SimulatedServer): void {
    super.moveTo(server)
    for (const registers of [this.#alarms, this.#groups])
      for (const register of registers.values()) register.lost(this.witness.moment)
  }

  get groupsThere(): readonly string[] {
    return existingIds(this.#groups)
  }

  get alarmsThere(): readonly string[] {
    return existingIds(this.#alarms)
  }

  act(): void {
    const tried = this.random.next()
    const alarm = this.random.pick(existingIds(this.#alarms))
    const group = this.random.pick(existingIds(this.#groups))
    if (tried < 0.12) this.#makeGroup()
    else if (tried < 0.22 && group) this.#editGroup(group)
    else if (tried < 0.26 && group) this.#delete('deleteGroup', { groupId: group }, this.#groups, group)
    else if (tried < 0.36 && alarm) this.#delete('deleteAlarm', { alarmId: alarm }, this.#alarms, alarm)
    else if (tried < 0.65 && alarm) this.#put(alarm)
    else if (tried > 0.9 && alarm) this.#acknowledge(alarm)
    else if (existingIds(this.#alarms).length < alarmsMax) this.#make()
  }

  /** Reads the final state of everything. For a server at rest. */
  async settle(): Promise<void> {
    const alarms = await this.#listed<ReadAlarm>('listAlarms')
    const names = alarms.map(({ name }) => name)
    if (new Set(names).size < names.length) this.witness.report(`an alarm was made twice: ${names.join(', ')}`)
    this.#found(this.#alarms, alarms)
    const groups = await this.#listed<ReadGroup>('listGroups')
    // Only the administrator edits the group of the role.
    this.#found(
      this.#groups,
      groups.filter(({ name }) => name !== roleByGroup),
    )
  }

  /** The wrong alarm states. For a server that was at rest for longer than any alarm's delay. */
  async faults(entries: Parameters<typeof alarmFaults>[0]['entries']): Promise<readonly string[]> {
    const rows = await this.#listed<ReadRow>('listAlarmStatus')
    for (const { active } of rows) this.witness.count(active ? 'alarm active' : 'alarm inactive')
    return alarmFaults({
      entries,
      rows,
      alarms: await this.#listed<ReadAlarm>('listAlarms'),
      groups: await this.#listed<ReadGroup>('listGroups'),
      names: { [heaterService]: await this.parts.schema.read() },
      grantsOf: (author) => this.parts.people.grantsOf(author),
    })
  }

  async rows(): Promise<readonly ReadRow[]> {
    return this.#listed<ReadRow>('listAlarmStatus')
  }

  /**
   * A client received the change or deletion of an alarm: every bound device must have been within the user's permissions.
   *
   * @param publishedAt when it was sent; the binding of that time counts
   * @param from the earliest time at which the client may have received it
   */
  checkReceived(person: Person, event: Readonly<Record<string, unknown>>, publishedAt: number, from: number): void {
    const payload = event.payload as BoundTo
    const id = idIn(String(event.resourceIdentifier))
    // A deleted alarm had one of these bindings.
    const bounds = 'name' in payload ? [payload] : this.#boundSince(id, publishedAt)
    const lacks = (device: string) => person.grounds(from, (grants) => mayRead(grants, 'alarms', device)).length === 0
    const lacking = bounds.map((bound) => this.surelyBound(bound, publishedAt).find(lacks))
    if (bounds.length === 0 || lacking.some((device) => device === undefined)) return
    this.witness.report(
      `${person.name} receives alarm ${id} without permission for ${lacking[0]}: ${JSON.stringify(event)}`,
    )
  }

  /** An alarm or group whose creation was never answered is known from now on. */
  #found(registers: BindingRegisters, listed: readonly (Named & { readonly resourceIdentifier: string })[]) {
    const now = new Map(listed.map((entry) => [idIn(entry.resourceIdentifier), entry]))
    for (const [id, register] of registers) {
      const entry = now.get(id)
      const mayBeGone = register.since(this.witness.moment).some(({ value }) => value === null)
      if (mayBeGone && entry && this.#retried.has(entry.name)) registers.delete(id)
      else register.found(entry ? boundIn(entry) : null, this.witness.moment)
    }
    for (const [id, entry] of now)
      if (!registers.has(id)) registers.set(id, new Register<BoundTo | null>(boundIn(entry), unordered))
  }

  #boundSince(id: string, from: number): readonly BoundTo[] {
    const versions = this.#alarms.get(id)?.since(from) ?? []
    return versions.flatMap(({ value }) => (value === null ? [] : [value]))
  }

  /** Devices that were bound at every moment since `from`: by name, or in a group of the binding; `*` for all devices. */
  surelyBound({ devices, groups }: BoundTo, from: number): readonly string[] {
    if (!devices && !groups) return ['*']
    const members = (groups ?? []).flatMap((group) => {
      const versions = this.#groups.get(group)?.since(from) ?? []
      const [first, ...others] = versions.map(({ value }) => value?.devices ?? [])
      return (first ?? []).filter((device) => others.every((other) => other.includes(device)))
    })
    return [...(devices ?? []), ...members]
  }

  /** Whether the groups of the binding are unchanged since this moment. */
  isSteadySince({ groups = [] }: BoundTo, moment: number): boolean {
    return groups.every((group) => this.#groups.get(group)?.isSteadySince(moment))
  }

  /** Devices that were in a group of the binding at some moment since `from`. */
  possiblyBound({ groups = [] }: BoundTo, from: number): readonly string[] {
    const versions = groups.flatMap((group) => this.#groups.get(group)?.since(from) ?? [])
    return versions.flatMap(({ value }) => value?.devices ?? [])
  }

  #make(): void {
    const body = this.#body()
    const { request, check } = this.#author(body)
    this.parts.requests.ask({
      name: 'createAlarm',
      request: { ...request, body },
      sent: (attempt) => this.#making(this.#alarms, body, attempt, check),
    })
  }

  #put(id: string): void {
    const body = this.#body()
    const { request, check } = this.#author(body)
    this.parts.requests.ask({
      name: 'putAlarm',
      request: { ...request, parameters: { alarmId: id }, body },
      sent: (attempt) => this.#changeOf(this.#alarms, id, body, attempt, check),
    })
  }

  /**
   * Acknowledges an alarm on each device, because it is active on few. The views of clients show lost acknowledgements.
   */
  #acknowledge(id: string): void {
    for (const deviceIdentifier of this.parts.devices) {
      this.parts.requests.ask({
        name: 'acknowledgeAlarm',
        request: { parameters: { alarmId: id, deviceIdentifier }, body: { comment: `c${++this.#named}` } },
        sent: () => (outcome) => {
          if (outcome.status === 200) this.witness.count('alarm acknowledged')
        },
      })
    }
  }

  #makeGroup(): void {
    if (existingIds(this.#groups).length >= groupsMax) return
    const body = { name: `g${++this.#named}`, devices: this.#randomDevices() }
    this.parts.requests.ask({
      name: 'createGroup',
      request: { body },
      sent: (attempt) => this.#making(this.#groups, body, attempt),
    })
  }

  #editGroup(id: string): void {
    const body = { devices: this.#randomDevices() }
    this.parts.requests.ask({
      name: 'updateGroup',
      request: { parameters: { groupId: id }, body },
      sent: (attempt) => this.#changeOf(this.#groups, id, body, attempt),
    })
  }

  #delete(name: string, parameters: object, registers: BindingRegisters, id: string): void {
    this.parts.requests.ask({
      name,
      request: { parameters },
      sent: (attempt) => this.#changeOf(registers, id, null, attempt),
    })
  }

  /** Records a created alarm or group; not after a retry, because it may have been deleted since. */
  #making(registers: BindingRegisters, body: Named, { isFirst, isOver }: Attempt, check = () => {}) {
    if (!isFirst && !isOver) this.#retried.add(body.name)
    return ({ status, body: answer }: Outcome) => {
      if (status !== 201 || !isFirst) return
      check()
      const id = idIn(JSON.parse(answer).resourceIdentifier)
      if (!registers.has(id)) registers.set(id, new Register<BoundTo | null>(boundIn(body), unordered))
    }
  }

  #changeOf(registers: BindingRegisters, id: string, body: BoundTo | null, attempt: Attempt, check = () => {}) {
    const register = registers.get(id)
    return register ? this.changing(register, body && boundIn(body), attempt, check) : () => {}
  }

  #author({ serviceIdentifier: service, ...bound }: BoundTo & { readonly serviceIdentifier: string }): Author {
    const surelyBound = (from: number) => this.surelyBound(bound, from)
    const { random, witness, parts } = this
    return randomAuthor({ random, witness, people: parts.people }, { resource: 'alarms', service, surelyBound })
  }

  #body() {
    const random = this.random
    const [serviceIdentifier, condition] = this.#condition()
    const groups = this.groupsThere.filter(() => random.next() < 0.4)
    const tried = random.next()
    return {
      name: `n${++this.#named}`,
      severity: 'info' as const,
      serviceIdentifier,
      condition,
      forSeconds: this.random.pick([0, 0, 0, 5, 20, 30]) ?? 0,
      ...(tried < 0.7 && { devices: this.#randomDevices() }),
      ...(tried > 0.4 && tried < 0.9 && groups.length > 0 && { groups: groups.sort() }),
    }
  }

  #condition(): readonly [service: string, condition: unknown] {
    const random = this.random
    const warm = { var: this.random.pick(heat) }
    const limit = 3 + random.below(5)
    const isBoosted = { var: ['0x2002', false] }
    const conditions: readonly (readonly [string, unknown])[] = [
      [heaterService, { '>': [warm, limit] }],
      [heaterService, { '<': [warm, limit] }],
      [heaterService, { and: [{ '>=': [warm, limit - 3] }, { '!': [isBoosted] }] }],
      [heaterService, { or: [{ '>': [warm, limit] }, isBoosted] }],
      [heaterService, { '==': [{ '%': [{ var: this.random.pick(['0x2001', 'fan', '0x2004']) }, 2] }, 0] }],
      [counterService, { '<': [{ '%': [{ var: '0x1' }, 4] }, 2] }],
      ['climate', { '==': [{ var: '0x2002' }, true] }],
    ]
    return this.random.pick(conditions) ?? [counterService, true]
  }

  #randomDevices(): readonly string[] {
    return this.parts.devices.filter(() => this.random.next() < 0.6)
  }

  async #listed<T>(name: string): Promise<readonly T[]> {
    return JSON.parse((await this.server.call(name)).body)
  }
}

export function idIn(resourceIdentifier: string): string {
  return resourceIdentifier.slice(resourceIdentifier.indexOf(':') + 1)
}

function boundIn({ devices, groups }: BoundTo): BoundTo {
  return { ...(devices && { devices }), ...(groups && { groups }) }
}

function existingIds(registers: BindingRegisters): readonly string[] {
  return [...registers].filter(([, register]) => register.certain !== null).map(([id]) => id)
}
