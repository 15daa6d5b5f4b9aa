import type { Grant } from '#model/scope'
import { Participant, type Stage } from '#test/simulation/participant'
import { grantsOfMembers, randomGrants, roleByGroup, viewer } from '#test/simulation/random-grants'
import { givesAll, mayDo } from '#test/simulation/reference-filter'
import { Register, type Version } from '#test/simulation/register'
import { endRequested, Person, type PersonState, passwordOf, type Session } from '#test/simulation/simulated-person'
import type { SimulatedRequest, SimulatedServer } from '#test/simulation/simulated-server'

export const rootAddress = 'root@simulated'

/** A request without an answer yet. */
interface Edit {
  readonly name: string
  readonly request: SimulatedRequest
  /** The changes of settings that it causes. */
  readonly makes: readonly Made[]
  readonly ends?: readonly Session[]
  /** Whether a refusal is legitimate; by default it is not. */
  readonly mayBeRefused?: () => boolean
}

interface Addressee {
  readonly person: Person
  /** The owner's account by number, from 0. */
  readonly account: number
}

/** Records the outcome of a request for one setting. */
interface Made {
  stored(moment: number): void
  refused(): void
}

/**
 * All users and their roles: changed through an administrator's requests, which get no answer when the server crashes. Each
 * change is recorded with all its possible outcomes.
 */
export class SimulatedPeople extends Participant<{ readonly devices: readonly string[] }> {
  readonly persons: readonly Person[]
  readonly #roles = new Map<string, Register<readonly Grant[]>>()
  #root = ''
  /** The id of the group of `roleByGroup`. */
  #group = ''
  readonly #addressees = new Map<string, Addressee>()

  constructor(stage: Stage, devices: readonly string[]) {
    super(stage, { devices })
    const { random, witness } = stage
    for (let count = 3 + random.below(2); count > 0; count--) this.#roles.set(`r${count}`, new Register(this.#grants()))
    this.#roles.set('viewer', new Register([viewer]))
    this.#roles.set(roleByGroup, new Register(grantsOfMembers(this.#members())))
    this.persons = Array.from({ length: 3 + random.below(3) }, (_, index) => {
      const start = {
        roles: new Register(this.#randomRoles()),
        state: new Register<PersonState>('active'),
        address: new Register<string | null>(this.#randomAddress()),
        isOffline: random.next() < 0.5,
      }
      const person = new Person(`user ${index}`, start, this.#roles, witness)
      if (typeof start.address.certain === 'string') this.#addressees.set(start.address.certain, { person, account: 0 })
      return person
    })
  }

  /** Creates all users before the first step. */
  async begin(): Promise<void> {
    const devices = this.#roles.get(roleByGroup)?.certain?.flatMap((grant) => grant.devices)
    const made = await this.server.call('createGroup', { body: { name: roleByGroup, devices } })
    this.#group = JSON.parse(made.body).resourceIdentifier.split(':').at(-1)
    for (const role of this.#editable()) {
      const given = this.#roles.get(role)?.certain
      const isByGroup = role === roleByGroup
      const grants = isByGroup ? given?.map((grant) => ({ ...grant, devices: [], groups: [this.#group] })) : given
      await this.server.call('putRole', { parameters: { role }, body: { grants } })
    }
    this.#root = await this.#accountOf('root')
    await this.server.call('updateUser', { parameters: { name: 'root' }, body: { email: rootAddress } })
    for (const person of this.persons) {
      const { name, roles, address } = person
      const invited = { name, roles: roles.certain, ...emailOf(address.certain) }
      const { body } = await this.server.call('createUser', { as: this.#root, body: invited })
      person.account = JSON.parse(body).resourceIdentifier
      await this.server.call('signUp', { body: signUpBody(name, body) })
    }
  }

  /** The resource name of the administrator. */
  get root(): string {
    return this.#root
  }

  /** Possible `createdBy` values: users, including deleted ones, root, and unknown users. */
  get accounts(): readonly (string | undefined)[] {
    return [...this.persons.map(({ account }) => account), this.#root, undefined]
  }

  isThere(account: string): boolean {
    return account === this.#root || this.persons.some((person) => person.account === account && person.isThere)
  }

  /** The session with this token, if recorded. */
  sessionBy(authorization: string): Session | undefined {
    for (const { sessions, over } of this.persons)
      for (const session of [...sessions, ...over]) if (session.authorization === authorization) return session
    return undefined
  }

  /** The user, and the account, that got this address. */
  addressed(address: string): Addressee | undefined {
    return this.#addressees.get(address)
  }

  /** The permissions of an author. For a server at rest. */
  grantsOf(author: string): readonly Grant[] {
    if (author === this.#root) return [{ permissions: { '*': ['*'] }, devices: ['*'], services: ['*'] }]
    const person = this.persons.find(({ account }) => account === author)
    return person?.isActive ? person.grants : []
  }

  /** The process died: pending requests may be stored or not. */
  override moveTo(server: SimulatedServer): void {
    super.moveTo(server)
    for (const person of this.persons) {
      person.isBusy = false
      for (const session of person.sessions) if (!session.isBegun) person.sessions.delete(session)
    }
  }

  /** Changes a role or a user, or ends a session, at random. */
  act(): void {
    const tried = this.random.next()
    const person = this.random.pick(this.persons)
    if (!person) return
    if (tried < 0.4) this.#editRole(this.random.pick(this.#editable()))
    else if (tried < 0.6) this.#giveRoles(person)
    else if (tried < 0.7) this.#switch(person)
    else if (tried < 0.77) this.#moveMail(person)
    else if (tried < 0.87) this.#endSession(person)
    else this.#recreate(person)
  }

  /** Reads the final state of everything. For a server at rest. */
  async settle(): Promise<void> {
    const group = await this.server.call('readGroup', { parameters: { groupId: this.#group } })
    this.#roles.get(roleByGroup)?.found(grantsOfMembers(JSON.parse(group.body).devices), this.witness.moment)
    for (const role of this.#editable()) {
      if (role === roleByGroup) continue
      const { body } = await this.server.call('readRole', { parameters: { role } })
      this.#roles.get(role)?.found(JSON.parse(body).grants, this.witness.moment)
    }
    for (const person of this.persons) await this.#settlePerson(person)
    this.witness.settle()
  }

  async #settlePerson(person: Person): Promise<void> {
    const parameters = { name: person.name }
    const { context } = this.server.assembly
    const { moment } = this.witness
    const { body, refused } = await this.answerTo('readUser', { parameters })
    if (refused !== undefined && refused !== 'not_found') throw new Error(`reading a user was refused: ${refused}`)
    if (refused === 'not_found') person.state.found('gone', moment)
    else {
      const { resourceIdentifier, roles, state, email = null } = JSON.parse(body)
      person.account = resourceIdentifier
      person.state.found(state, moment)
      person.roles.found(roles, moment)
      person.address.found(email, moment)
    }
    person.sameSince = context.events.hub.publishedTo('default')
    const listed = person.state.certain === 'gone' ? '[]' : await this.#sessionsOf(person)
    const there = new Set(JSON.parse(listed).map(({ id }: { id: string }) => id))
    const now = this.server.now()
    for (const session of person.sessions) {
      const isThere = there.has(session.id)
      if (!isThere && !session.mayBeOver(now))
        this.witness.report(`${person.name}: a session is gone without a request to end it`)
      if (isThere && session.isSurelyOver(now)) this.witness.report(`${person.name}: a session is there after its end`)
      session.doubts = 0
      if (!isThere) person.forget(session)
    }
  }

  async #accountOf(name: string): Promise<string> {
    return JSON.parse((await this.server.call('readUser', { parameters: { name } })).body).resourceIdentifier
  }

  async #sessionsOf({ name }: Person): Promise<string> {
    return (await this.server.call('listUserSessions', { parameters: { name } })).body
  }

  #editRole(role: string | undefined): void {
    const register = role === undefined ? undefined : this.#roles.get(role)
    if (role === undefined || !register) return
    for (const person of this.persons) if (person.mayHold(role)) person.sameSince = undefined
    const isByGroup = role === roleByGroup
    const devices = this.#members()
    const grants = isByGroup ? grantsOfMembers(devices) : this.#grants()
    const makes = [this.#requested(register, grants)]
    if (isByGroup)
      this.#send({ name: 'updateGroup', request: { parameters: { groupId: this.#group }, body: { devices } }, makes })
    else this.#send({ name: 'putRole', request: { parameters: { role }, body: { grants } }, makes })
  }

  #giveRoles(person: Person): void {
    const roles = this.#randomRoles()
    const { moment } = this.witness
    person.sameSince = undefined
    this.#send({
      name: 'updateUser',
      request: { parameters: { name: person.name }, body: { roles } },
      makes: [this.#requested(person.roles, roles)],
      mayBeRefused: () => person.state.since(moment).some(({ value }) => value === 'gone'),
    })
  }

  /** Changes or removes a mail address. */
  #moveMail(person: Person): void {
    const { moment } = this.witness
    const email = this.#addressOf(person)
    this.#send({
      name: 'updateUser',
      request: { parameters: { name: person.name }, body: { email } },
      makes: [this.#requested(person.address, email)],
      mayBeRefused: () => person.state.since(moment).some(({ value }) => value === 'gone'),
    })
  }

  /** Disables or enables a user. */
  #switch(person: Person): void {
    const { certain } = person.state
    if (person.isBusy || (certain !== 'active' && certain !== 'disabled')) return
    const state = certain === 'active' ? 'disabled' : 'active'
    this.#alone(person, () =>
      this.#ask({
        name: 'updateUser',
        request: { parameters: { name: person.name }, body: { state } },
        makes: [this.#requested(person.state, state)],
        ...(state === 'disabled' && { ends: [...person.sessions] }),
      }),
    )
  }

  #endSession(person: Person): void {
    const session = this.random.pick([...person.sessions].filter(({ isBegun }) => isBegun))
    if (!session) return
    const { moment } = this.witness
    this.#send({
      name: 'endUserSession',
      request: { parameters: { name: person.name, id: session.id } },
      makes: [],
      ends: [session],
      mayBeRefused: () =>
        session.mayBeOver(this.server.now()) || person.state.since(moment).some(({ value }) => value === 'gone'),
    })
  }

  #recreate(person: Person): void {
    const { name } = person
    if (person.isBusy || person.state.certain === undefined) return
    this.#alone(person, async () => {
      person.sameSince = undefined
      if (person.state.certain !== 'gone') {
        const removed = await this.#ask({
          name: 'deleteUser',
          request: { parameters: { name } },
          makes: [this.#requested(person.state, 'gone')],
          ends: [...person.sessions],
        })
        if (removed === undefined) return
      }
      const roles = this.#randomRoles()
      person.accountCount++
      const address = this.#addressOf(person)
      const maker = this.random.next() < 0.3 ? this.random.pick(this.persons) : undefined
      const as = maker?.account ?? this.#root
      const invited = await this.#ask({
        name: 'createUser',
        request: { as, body: { name, roles, ...emailOf(address) } },
        makes: [
          this.#requested(person.state, 'invited'),
          this.#requested(person.roles, roles),
          this.#requested(person.address, address),
        ],
      })
      if (invited === undefined) return
      person.account = JSON.parse(invited).resourceIdentifier
      const moment = this.witness.moment
      const signedUp = await this.#ask({
        name: 'signUp',
        request: { body: signUpBody(name, invited) },
        makes: [this.#requested(person.state, 'active')],
        mayBeRefused: () => maker !== undefined,
      })
      if (maker && signedUp !== undefined) this.#checkCode(person, maker, as, moment)
    })
  }

  /** A code gives no more than its author may give, by all permissions that the author may have had since `moment`. */
  #checkCode(person: Person, maker: Person, as: string, moment: number): void {
    if (maker.account !== as) return
    this.witness.count('took a code of a user')
    const mayBeHeld = maker.grantsSince(moment)
    const given = person.hasSteadyRolesSince(moment) ? person.grants : []
    if (mayDo(mayBeHeld, 'users', ['create']) && givesAll(mayBeHeld, given)) return
    this.witness.report(`${person.name} took a code of ${maker.name} without permission to give it`)
  }

  /** Runs a task, during which no other one changes the state of the account. */
  #alone(person: Person, task: () => Promise<unknown>): void {
    person.isBusy = true
    this.watch(
      task().finally(() => {
        person.isBusy = false
      }),
    )
  }

  #send(edit: Edit): void {
    this.watch(this.#ask(edit))
  }

  /** The answer; undefined if there is none, or a refusal. */
  async #ask({ name, request, makes, ends = [], mayBeRefused = () => false }: Edit): Promise<string | undefined> {
    const ending = endRequested(ends)
    const { body, refused } = await this.answerTo(name, request)
    this.witness.count(`${name} ${refused ?? 'stored'}`)
    // The change may have reached the disk: the server then has it when the store is read again.
    if (refused === 'storage') return undefined
    if (refused === undefined) {
      for (const made of makes) made.stored(this.witness.moment)
      ending.done()
      return body
    }
    if (refused !== 'overloaded' && !mayBeRefused()) this.witness.report(`${name}: ${refused}`)
    for (const made of makes) made.refused()
    ending.refused()
    return undefined
  }

  #requested<T>(register: Register<T>, value: T): Made {
    const version: Version<T> = register.request(value, this.witness.moment)
    return { stored: (moment) => register.stored(version, moment), refused: () => register.refused(version) }
  }

  #editable(): readonly string[] {
    return [...this.#roles.keys()].filter((role) => role !== 'viewer')
  }

  #addressOf(person: Person): string | null {
    const address = this.#randomAddress()
    if (address !== null) this.#addressees.set(address, { person, account: person.accountCount })
    return address
  }

  /** A random address, which now and then has no mailbox; null: none. */
  #randomAddress(): string | null {
    const tried = this.random.next()
    if (tried < 0.06) return null
    const start = tried < 0.12 ? 'gone' : tried < 0.16 ? '"at home"' : 'user'
    return `${start}${this.random.below(1_000_000)}@simulated`
  }

  #randomRoles(): readonly string[] {
    const names = [...this.#roles.keys()]
    const first = this.random.below(names.length)
    const count = this.random.next() < 0.5 ? 1 : 1 + this.random.below(3)
    return Array.from({ length: count }, (_, index) => names[(first + index) % names.length] ?? '')
  }

  #members(): readonly string[] {
    return this.parts.devices.filter(() => this.random.next() < 0.5)
  }

  #grants(): readonly Grant[] {
    return randomGrants(this.random, this.parts.devices)
  }
}

function emailOf(address: string | null | undefined) {
  return typeof address === 'string' ? { email: address } : {}
}

function signUpBody(name: string, invitation: string) {
  return { name, code: JSON.parse(invitation).code as string, password: passwordOf(name) }
}
