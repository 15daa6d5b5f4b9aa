import { type DeviceEntry, FoldedState } from '#bench/dashboard/folded-state'
import type { Resume } from '#events/hub'
import type { Caller } from '#model/caller'
import { Problem } from '#model/problem'
import {
  AlarmView,
  type ListedRow,
  type Lists,
  type ListView,
  SubscriptionView,
  UpdateView,
} from '#test/simulation/list-view'
import type { Participants } from '#test/simulation/participants'
import { ReceivedCounts } from '#test/simulation/received-counts'
import { mayRead, mayReceive, mayReceiveAnything, readable } from '#test/simulation/reference-filter'
import type { Person, Session } from '#test/simulation/simulated-person'
import { answerOf, type SimulatedServer, tenant, ticketLifetimeMs } from '#test/simulation/simulated-server'
import type { Peer, SimulatedSocket } from '#test/simulation/simulated-sockets'
import { removeEmptyDevices, removeUnseenDeletions } from '#test/simulation/unseen-devices'
import type { Witness } from '#test/simulation/witness'

type ReceivedChecker = Pick<Participants, 'checkReceived'>
type Event = Readonly<Record<string, unknown>> & { readonly type: string; readonly offset: number }

/**
 * A client that follows the documentation: it signs in, requests a ticket, opens a socket, reads the full state, applies
 * events, and resumes from its position. It checks everything it receives, and that it is admitted if permitted.
 */
export class SimulatedDashboard implements Peer {
  readonly person: Person
  readonly state = new FoldedState()
  readonly #views: readonly ListView[] = [new AlarmView(), new UpdateView(), new SubscriptionView(() => this.#account)]
  readonly #participants: ReceivedChecker
  readonly #witness: Witness
  #server: SimulatedServer
  /** The buffer size of the connection to open; undefined: no connection is to be opened. */
  #limitBytes: number | undefined
  #isEntering = false
  #session: Session | undefined
  /** The account of the position: another account starts again, even with the same name. */
  #account = ''
  #ticket: { readonly text: string; readonly at: number } | undefined
  #socket: SimulatedSocket | undefined
  #openedAt = 0
  #resume: Exclude<Resume, undefined> = 'now'
  #mustRecover = false
  #epoch = ''
  /** The offset of the last received event or read. */
  #position = 0
  #lastReceived = 0
  /** The lists that are being read. */
  readonly #reads = new Set<string>()
  /** The server answered that the client may read nothing. */
  #isBlind = false
  #retainedFrom = 0
  #needsRead = true
  #resyncs = 0
  #waiting: Event[] = []
  readonly #counts = new ReceivedCounts()

  constructor(server: SimulatedServer, person: Person, witness: Witness, participants: ReceivedChecker) {
    this.#server = server
    this.person = person
    this.#witness = witness
    this.#participants = participants
  }

  get isOpen(): boolean {
    return this.#socket !== undefined
  }

  get isComing(): boolean {
    return this.#limitBytes !== undefined
  }

  /** No step is left: the client is up to date, or cannot be admitted. */
  get isAtRest(): boolean {
    if (this.#isEntering || this.#reads.size > 0) return false
    if (!this.#socket) return !this.person.isActive
    if (this.#socket.hasUnread) return false
    const isRead = !this.#needsRead || this.#isBlind
    return this.isIntruder || (isRead && !this.#views.some(({ needsRead }) => needsRead))
  }

  /** The client is connected although its session has ended. */
  get isIntruder(): boolean {
    return this.isOpen && (!this.#session || this.#session.isSurelyOver(this.#server.now()))
  }

  moveTo(server: SimulatedServer): void {
    this.#server = server
    this.#ticket = undefined
    this.#isEntering = false
  }

  /** Starts to connect, beginning with the next step. */
  connect(limitBytes: number): void {
    this.#limitBytes = limitBytes
  }

  /** Takes the next step, if any. */
  proceed(): void {
    const tasks = this.#socket ? [this.#read(), ...this.#views.map((view) => this.#readList(view))] : [this.#enter()]
    for (const task of tasks) task.catch((error) => this.#witness.faults.push(error))
  }

  /** Sends PING: by the PONG, an idle client learns its position. */
  askPosition(): void {
    this.#socket?.transmit({ type: 'PING' })
  }

  closed(code: number): void {
    if (code === 4401 && !this.#session?.mayBeOver(this.#server.now()))
      this.#report('is closed, and its session is valid')
    if (code === 4403 && !this.person.mayLack(this.#openedAt, mayReceiveAnything))
      this.#report('is closed, and may receive events')
    if (code === 1011) this.#report('is closed by a bug')
    this.#witness.count(`closed ${code}`)
    if (code === 4401) this.#session = undefined
    this.#socket = undefined
    this.#reads.clear()
    this.#waiting = []
  }

  received(text: string): void {
    const event = JSON.parse(text) as Event
    if (event.type === 'STREAM') this.#began(event)
    else if (event.type === 'PONG') this.#positioned(event)
    else if (event.type === 'RESYNC') this.#resync(event)
    else this.#receive(event)
  }

  /** Differences from the expected state: `entries` are all devices, `lists` the other lists by name. */
  differences(entries: readonly DeviceEntry[], lists: Lists): readonly string[] {
    const { grants } = this.person
    const there = new FoldedState()
    there.replace(readable(grants, entries))
    removeEmptyDevices(there)
    removeEmptyDevices(this.state)
    removeUnseenDeletions(this.state, there, grants)
    if (there.devices.size > 0) this.#witness.count('compared')
    const faults = this.#views.flatMap((view) => view.faults(lists, grants, this.#witness))
    return [...this.state.differences(there), ...faults]
  }

  /** Takes one step towards the connection. */
  async #enter(): Promise<void> {
    if (this.#limitBytes === undefined || this.#isEntering) return
    this.#isEntering = true
    if (!this.#session) await this.#signIn()
    else if (!this.#ticket) await this.#askTicket(this.#session)
    else this.#open(this.#session, this.#ticket, this.#limitBytes)
    this.#isEntering = false
  }

  async #signIn(): Promise<void> {
    const { person } = this
    const server = this.#server
    const { moment } = this.#witness
    const session = person.signIn()
    const { body, refused } = await answerOf(server.call('readToken', person.credentials))
    const states = person.state.since(moment).map(({ value }) => value)
    if (refused !== undefined) {
      person.sessions.delete(session)
      this.#limitBytes = undefined
      if (refused === 'unauthorized') {
        this.#witness.count('refused to sign in')
        if (states.every((state) => state === 'active')) this.#report('may sign in, and is refused')
      } else this.#mustBeForNow(refused)
      return
    }
    if (!states.includes('active')) this.#report(`signs in, being ${states.join(' or ')}`)
    this.#witness.count('signed in')
    const account = session.begun(body, server.now())
    this.#session = session
    if (account !== this.#account) this.#needsRead = true
    this.#account = account
  }

  async #askTicket(session: Session): Promise<void> {
    const server = this.#server
    const at = server.now()
    const wasOver = session.isSurelyOver(at)
    const { body, refused } = await answerOf(server.call('createTicket', { authorization: session.authorization }))
    if (refused === undefined) {
      if (wasOver) this.#report('has a ticket, and its session is over')
      this.#ticket = { text: JSON.parse(body).ticket, at }
    } else this.#refusedBy(session, refused)
  }

  #open(session: Session, ticket: { text: string; at: number }, limitBytes: number): void {
    const server = this.#server
    const { context, eventSocketHandler } = server.assembly
    this.#ticket = undefined
    const wasOver = session.isSurelyOver(server.now())
    let caller: Caller
    try {
      caller = context.events.tickets.consume(ticket.text)
    } catch (error) {
      if (!(error instanceof Problem)) throw error
      if (server.now() - ticket.at <= ticketLifetimeMs) this.#refusedBy(session, error.code)
      return
    }
    if (wasOver) this.#report('is admitted by a ticket, and its session is over')
    this.#limitBytes = undefined
    const offset = this.#resumesAt
    this.#resume = this.#needsRead ? 'now' : { after: { epoch: this.#epoch, offset } }
    if (this.#needsRead) this.#forgetLists()
    this.#retainedFrom = context.events.reader.retainedFrom(tenant)
    this.#mustRecover = !this.#needsRead && this.#isRecoverable(server, offset)
    this.#lastReceived = 0
    this.#isBlind = false
    this.#counts.forget()
    this.#openedAt = this.#witness.moment
    const opening = { caller, filter: {}, resume: this.#resume }
    this.#socket = server.sockets.open(eventSocketHandler, opening, this, limitBytes)
  }

  /** Each list was read at its own moment: events from the earliest on are applied. */
  get #resumesAt(): number {
    const read = this.#views.filter(({ needsRead }) => !needsRead)
    return Math.min(this.#position, ...read.map(({ position }) => position))
  }

  /** The permissions are unchanged since the last event, and all later events are retained. */
  #isRecoverable({ assembly: { context } }: SimulatedServer, offset: number): boolean {
    const { sameSince } = this.person
    if (sameSince === undefined || offset <= sameSince) return false
    return offset + 1 >= this.#retainedFrom && context.events.reader.lastOffsetUnder(tenant, this.#epoch) !== undefined
  }

  /** An ended session is dropped; a valid one is refused only temporarily. */
  #refusedBy(session: Session, code: string): void {
    if (code !== 'unauthorized') this.#mustBeForNow(code)
    else if (session.mayBeRefused(this.#server.now())) {
      this.#witness.count('refused after the session')
      this.#session = undefined
    } else this.#report('is refused, and its session is valid')
  }

  #mustBeForNow(code: string): void {
    if (code !== 'storage' && code !== 'overloaded') this.#report(`is refused as ${code}`)
  }

  /** Reads the full state if needed. */
  async #read(): Promise<void> {
    if (!this.#needsRead || this.#isBlind) return
    const read = await this.#ask('listDevices', { depth: 2 })
    if (!read) return
    const { answer, moment, isStale } = read
    if (answer.refused !== undefined) {
      if (!this.person.mayLack(moment, (grants) => mayRead(grants, 'service'))) this.#report('may read, and is refused')
      if (isStale) return
      this.#witness.count('may read nothing')
      this.#isBlind = true
      this.#waiting = []
      this.state.replace([])
      return
    }
    const entries = JSON.parse(answer.body) as readonly DeviceEntry[]
    this.#checkShown(entries, moment)
    if (isStale) return
    this.#needsRead = false
    this.state.replace(entries)
    this.#epoch = answer.headers?.['Stream-Epoch'] ?? ''
    this.#position = Number(answer.headers?.['Stream-Offset'])
    const waiting = this.#waiting
    this.#waiting = []
    for (const event of waiting) if (event.offset > this.#position) this.#fold(event)
  }

  /** Reads a list if needed, with its own position. */
  async #readList(view: ListView): Promise<void> {
    if (!view.needsRead) return
    const { list, query, resource } = view
    const read = await this.#ask(list, query)
    if (!read) return
    const { answer, moment, isStale } = read
    if (answer.refused !== undefined) {
      if (!this.person.mayLack(moment, (grants) => mayRead(grants, resource))) this.#report(`may read ${resource}`)
      if (!isStale) view.replace([], Math.max(this.#lastReceived, this.#position))
      return
    }
    const rows = JSON.parse(answer.body) as readonly ListedRow[]
    for (const { deviceIdentifier: device } of rows) {
      const grounds = this.person.grounds(moment, (grants) => mayRead(grants, resource, device))
      this.#witness.check(() => `${this.person.name} is shown ${resource} of ${device}`, grounds)
    }
    if (!isStale) view.replace(rows, Number(answer.headers?.['Stream-Offset']))
  }

  /** The answer, unless the client is to ask again later. */
  async #ask(list: string, query: object) {
    const session = this.#session
    if (this.#reads.has(list) || !session) return undefined
    this.#reads.add(list)
    const [server, socket, resyncs] = [this.#server, this.#socket, this.#resyncs]
    const { moment } = this.#witness
    const wasOver = session.isSurelyOver(server.now())
    const answer = await answerOf(server.call(list, { query, authorization: session.authorization }))
    if (this.#socket === socket) this.#reads.delete(list)
    if (answer.refused !== undefined) {
      if (!this.#isForbidden(session, answer.refused)) return undefined
    } else if (wasOver) this.#report(`reads ${list}, and its session is over`)
    // A read that began before a RESYNC may lack events that were not sent.
    return { answer, moment, isStale: this.#socket !== socket || this.#resyncs !== resyncs }
  }

  #forgetLists(): void {
    this.#needsRead = true
    for (const view of this.#views) view.forget()
  }

  /** False: the client may retry later, perhaps with a new session. */
  #isForbidden(session: Session, refused: string): boolean {
    if (refused === 'unauthorized') {
      const now = this.#server.now()
      if (!session.mayBeRefused(now)) this.#report('may not read, and its session is valid')
      if (!session.mayBeOver(now)) {
        // A refresh without an answer has replaced the token, and the socket may be open.
        this.#session = undefined
        this.#socket?.cut()
      }
    } else if (refused !== 'forbidden') this.#mustBeForNow(refused)
    return refused === 'forbidden'
  }

  /** Everything shown must have been readable at some moment during the request. */
  #checkShown(entries: readonly DeviceEntry[], moment: number): void {
    for (const { deviceIdentifier: device, services = [] } of entries) {
      for (const name of [undefined, ...services.map(({ serviceIdentifier }) => serviceIdentifier)]) {
        const grounds = this.person.grounds(moment, (grants) => mayRead(grants, 'service', device, name))
        this.#witness.check(() => `${this.person.name} is shown ${device} ${name ?? ''}`, grounds)
      }
    }
  }

  #began({ recovered, epoch, offset }: Event): void {
    // Only later events are sent.
    this.#lastReceived = offset
    if (this.#resume === 'now') return
    const { offset: requested } = this.#resume.after
    this.#witness.count(recovered ? (this.#mustRecover ? 'recovered, as it must' : 'recovered') : 'not recovered')
    if (recovered === true) {
      if (requested + 1 < this.#retainedFrom) this.#report(`is recovered at ${requested}, before ${this.#retainedFrom}`)
      if (offset !== requested) this.#report(`is recovered at ${offset}, requested ${requested}`)
      this.#epoch = String(epoch)
      return
    }
    if (this.#mustRecover)
      this.#report(`must read again at ${requested}, although nothing changed for it since ${this.person.sameSince}`)
    this.#forgetLists()
  }

  #positioned({ epoch, offset }: Event): void {
    if (this.#needsRead) return
    if (offset < this.#lastReceived) this.#report(`gets a PONG that goes back from ${this.#lastReceived} to ${offset}`)
    this.#epoch = String(epoch)
    this.#position = Math.max(this.#position, offset)
    for (const view of this.#views) view.positioned(offset)
  }

  #resync({ offset }: Event): void {
    this.#forgetLists()
    this.#isBlind = false
    this.#resyncs++
    this.#witness.count('ordered to read again')
    this.#lastReceived = Math.max(this.#lastReceived, offset)
    this.#counts.forget()
    this.#waiting = []
  }

  #receive(event: Event): void {
    const { offset } = event
    if (offset <= this.#lastReceived) this.#report(`receives offset ${offset} after ${this.#lastReceived}`)
    this.#lastReceived = offset
    const publishedAt = this.#witness.publishedAt(offset)
    const from = Math.max(this.#openedAt, publishedAt)
    const grounds = this.person.grounds(from, (grants) => mayReceive(grants, event))
    this.#witness.check(() => `${this.person.name} receives ${JSON.stringify(event)}`, grounds)
    this.#witness.count(`received ${event.type}`)
    this.#participants.checkReceived(this.person, this.#account, event, { publishedAt, from })
    const fault = this.#counts.faultOf(event)
    if (fault !== undefined) this.#report(fault)
    for (const view of this.#views) view.receive(event)
    if (this.#isBlind) return
    if (this.#needsRead) this.#waiting.push(event)
    else if (offset > this.#position) this.#fold(event)
  }

  #fold(event: Event): void {
    this.state.apply(event)
    this.#position = event.offset
  }

  #report(what: string): void {
    this.#witness.report(`${this.person.name} ${what}`)
  }
}
