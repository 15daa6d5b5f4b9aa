import { FoldedState } from '#bench/dashboard/fold'
import { isHeard } from '#events/audience'
import type { Resume } from '#events/hub'
import { anonymous } from '#iam/anonymous'
import type { Caller } from '#iam/caller'
import type { EventType } from '#model/event'
import type { Scope } from '#model/scope'
import { counterId, counterService } from '#test/simulation/simulated-device'
import type { SimulatedServer } from '#test/simulation/simulated-server'
import { tenant } from '#test/simulation/simulated-server'
import type { Peer, SimulatedSocket } from '#test/simulation/simulated-sockets'

type Event = Readonly<Record<string, unknown>> & { readonly type: string; readonly offset: number }

/** What a kind of dashboard may read, and since when. Changed while sockets are open. */
export interface Access {
  readonly name: string
  scope: Scope
  since: number
}

/**
 * A dashboard as clients are told to be: socket first, then the full state, then events folded in; it resumes from where
 * it was. It checks all it hears and throws at the first thing that must not be.
 */
export class SimulatedDashboard implements Peer {
  readonly access: Access
  readonly state = new FoldedState()
  #server: SimulatedServer
  #socket: SimulatedSocket | undefined
  #asked: Exclude<Resume, undefined> = 'now'
  #epoch = ''
  /** What it has heard or read up to. */
  #position = 0
  #lastHeard = 0
  #isReading = false
  #retainedFrom = 0
  #needsRead = true
  #resyncs = 0
  #waiting: Event[] = []
  /** Scopes it may have been judged by since the last RESYNC. */
  #scopes: Scope[]
  #counts = new Map<string, number>()

  constructor(server: SimulatedServer, access: Access) {
    this.#server = server
    this.access = access
    this.#scopes = [access.scope]
  }

  get isOpen(): boolean {
    return this.#socket !== undefined
  }

  get socket(): SimulatedSocket | undefined {
    return this.#socket
  }

  /** It knows all it can know for now. */
  get isCurrent(): boolean {
    return this.isOpen && !this.#needsRead && !this.#isReading && !this.#socket?.hasUnread
  }

  moveTo(server: SimulatedServer): void {
    this.#server = server
  }

  scopeChanged(): void {
    this.#scopes.push(this.access.scope)
  }

  connect(limitBytes: number): void {
    const { eventRoom } = this.#server.assembly
    const { name, scope, since } = this.access
    const caller: Caller = { ...anonymous, tenant, access: name, scope, scopeSince: since }
    this.#asked = this.#needsRead ? 'now' : { after: { epoch: this.#epoch, offset: this.#position } }
    const resume = this.#asked
    this.#lastHeard = 0
    this.#counts = new Map()
    this.#scopes = [scope]
    this.#retainedFrom = this.#server.assembly.context.reader.retainedFrom(tenant)
    this.#socket = this.#server.sockets.open(eventRoom, { caller, filter: {}, resume }, this, limitBytes)
  }

  /** Asks where it is: a quiet socket keeps its position by that. */
  askPosition(): void {
    this.#socket?.say({ type: 'PING' })
  }

  closed(): void {
    this.#socket = undefined
    this.#isReading = false
    this.#waiting = []
  }

  heard(text: string): void {
    const event = JSON.parse(text) as Event
    if (event.type === 'STREAM') this.#began(event)
    else if (event.type === 'PONG') this.#positioned(event)
    else if (event.type === 'RESYNC') this.#resync(event)
    else this.#told(event)
  }

  /** Reads the full state when it has to. */
  async read(): Promise<void> {
    if (!this.#needsRead || this.#isReading || !this.isOpen) return
    this.#isReading = true
    const server = this.#server
    const socket = this.#socket
    const resyncs = this.#resyncs
    let reply: Awaited<ReturnType<SimulatedServer['call']>>
    try {
      reply = await server.call('listDevices', { query: { depth: 2 }, scope: this.access.scope })
    } catch {
      // The store is being read again; later.
      this.#isReading = false
      return
    }
    if (this.#socket !== socket || socket === undefined) return
    this.#isReading = false
    // Begun before we were told to read again: it may lack what we were not told.
    if (this.#resyncs !== resyncs) return
    this.#needsRead = false
    this.state.replace(JSON.parse(reply.body))
    this.#epoch = reply.headers?.['Stream-Epoch'] ?? ''
    this.#position = Number(reply.headers?.['Stream-Offset'])
    const waiting = this.#waiting
    this.#waiting = []
    for (const event of waiting) if (event.offset > this.#position) this.#fold(event)
  }

  /** What it should know, as its scope allows, by the server's own word. */
  async differences(): Promise<readonly string[]> {
    const reply = await this.#server.call('listDevices', { query: { depth: 2 }, scope: this.access.scope })
    const there = new FoldedState()
    there.replace(JSON.parse(reply.body))
    withoutEmptyDevices(there)
    withoutEmptyDevices(this.state)
    return this.state.differences(there)
  }

  #began({ recovered, epoch, offset }: Event): void {
    if (this.#asked === 'now') return
    if (recovered === true) {
      const { offset: asked } = this.#asked.after
      if (asked + 1 < this.#retainedFrom) throw new Error(`recovered at ${asked}, before ${this.#retainedFrom}`)
      if (offset !== asked) throw new Error(`recovered at ${offset}, asked for ${asked}`)
      this.#epoch = String(epoch)
    } else this.#needsRead = true
  }

  #positioned({ epoch, offset }: Event): void {
    if (this.#needsRead) return
    if (offset < this.#lastHeard) throw new Error(`a PONG goes back from ${this.#lastHeard} to ${offset}`)
    this.#epoch = String(epoch)
    this.#position = Math.max(this.#position, offset)
  }

  #resync({ offset }: Event): void {
    this.#needsRead = true
    this.#resyncs++
    this.#lastHeard = Math.max(this.#lastHeard, offset)
    this.#counts = new Map()
    this.#waiting = []
  }

  #told(event: Event): void {
    const { type, offset, deviceIdentifier, serviceIdentifier } = event
    if (offset <= this.#lastHeard) throw new Error(`offset ${offset} after ${this.#lastHeard}`)
    this.#lastHeard = offset
    if (!this.#mayHear(type as EventType, deviceIdentifier, serviceIdentifier)) {
      throw new Error(`${this.access.name} heard what it may not: ${JSON.stringify(event)}`)
    }
    this.#checkOrder(event)
    if (this.#needsRead) {
      this.#waiting.push(event)
      return
    }
    if (offset > this.#position) this.#fold(event)
  }

  #fold(event: Event): void {
    this.state.apply(event)
    this.#position = event.offset
  }

  #mayHear(type: EventType, device: unknown, service: unknown): boolean {
    const text = (value: unknown) => (typeof value === 'string' ? value : undefined)
    return this.#scopes.some((scope) =>
      isHeard(
        { topic: '', access: '', filter: {}, redefinedAt: -1, sockets: 0, scope },
        type,
        text(device),
        text(service),
      ),
    )
  }

  /** A device counts its frames: nobody hears one twice, or an older one later. */
  #checkOrder(event: Event): void {
    if (event.serviceIdentifier !== counterService) return
    const device = String(event.deviceIdentifier)
    for (const { propId, tag, value } of event.updates as { propId: number; tag: string; value?: number }[]) {
      if (propId !== counterId || tag !== 'value' || value === undefined) continue
      const before = this.#counts.get(device) ?? 0
      if (value <= before) throw new Error(`${device}: count ${value} after ${before}`)
      this.#counts.set(device, value)
    }
  }

  /** From here on only the present scope may have been meant. */
  settleScopes(): void {
    this.#scopes = [this.access.scope]
  }
}

/** A device that shows nothing is not told to everybody who may read it. */
function withoutEmptyDevices({ devices }: FoldedState): void {
  for (const [device, services] of devices) if (services.size === 0) devices.delete(device)
}
