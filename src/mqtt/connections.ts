import type { SessionSockets } from '#access/session-sockets'
import { Problem } from '#model/problem'
import type { Client } from '#mqtt/client'
import { Connection, type ConnectionContext } from '#mqtt/connection'
import { PacketTurns } from '#mqtt/packet-reader'
import { reasons } from '#mqtt/reason-codes'
import type { Transport } from '#mqtt/transport'
import type { World } from '#runtime/world'

export interface ConnectionsOptions
  extends Pick<ConnectionContext, 'world' | 'topics' | 'principalOf' | 'afterCommit' | 'bug'> {
  /** Whether changes can be stored here. On a node of a cluster: whether it is the owner. */
  readonly isWritable: () => boolean
  /** Ends connections of programs with their sessions; absent with authentication off. */
  readonly sessions?: Pick<SessionSockets, 'add' | 'remove'> | undefined
}

/** The limit of connections of all clients together. Each may hold some kilobytes before its client has signed in. */
export const connectionsMax = 100_000
const tickMs = 1_000
/** The number of connections closed before other work runs. */
const endedAtOnceMax = 200

/** All MQTT connections of this process, over any transport. */
export class Connections {
  readonly world: World
  readonly #context: ConnectionContext
  readonly #sessions: ConnectionsOptions['sessions']
  readonly #isWritable: () => boolean
  readonly #open = new Set<Connection>()
  /** Connections by principal and client identifier. */
  readonly #clients = new Map<string, Connection>()
  #cancelTick: (() => void) | undefined
  #isStopping = false

  constructor({ isWritable, sessions, ...options }: ConnectionsOptions) {
    this.world = options.world
    this.#sessions = sessions
    this.#isWritable = isWritable
    this.#context = {
      ...options,
      turns: new PacketTurns(this.world),
      principalOf: (connect, address) => {
        if (this.#isStopping) throw new Problem('stopping')
        if (!isWritable()) throw new Problem('storage')
        return options.principalOf(connect, address)
      },
      accepted: (connection, client) => this.#accepted(connection, client),
      closed: (connection) => this.#closed(connection),
    }
  }

  get size(): number {
    return this.#open.size
  }

  /** Closes the transport and returns undefined if the server stops or has too many connections. */
  opened(transport: Transport): Connection | undefined {
    if (this.#isStopping || this.#open.size >= connectionsMax) {
      transport.close()
      return undefined
    }
    const connection = new Connection(this.#context, transport)
    this.#open.add(connection)
    if (!this.#cancelTick) this.#tickLater()
    return connection
  }

  /** Accepts nothing more, and disconnects all clients. */
  async stop(): Promise<void> {
    this.#isStopping = true
    this.#cancelTick?.()
    await this.#endAll('the server is stopping')
  }

  /**
   * Disconnects all clients: they have to connect to the new owner. Drops the free topics if this node is not the
   * owner.
   */
  async ownerChanged(): Promise<void> {
    await this.#endAll('another node answers now')
    if (!this.#isWritable()) this.#context.topics.free.clear()
  }

  /** Disconnects all clients, in batches. */
  async #endAll(message: string): Promise<void> {
    for (const [place, connection] of [...this.#open].entries()) {
      if (place % endedAtOnceMax === 0) await new Promise<void>((resolve) => this.world.soon(resolve))
      connection.end(reasons.serverStopping, message)
    }
  }

  /** Ends an older connection of the same principal with the same client identifier. MQTT-3.1.4-3. */
  #accepted(connection: Connection, client: Client): void {
    const name = client.key
    const before = this.#clients.get(name)
    this.#clients.set(name, connection)
    const { caller } = client.principal
    if (caller) this.#sessions?.add(client.socket, caller)
    before?.end(reasons.sessionTakenOver, 'another connection has this client identifier')
  }

  #closed(connection: Connection): void {
    this.#open.delete(connection)
    const { client } = connection
    if (!client) return
    const name = client.key
    if (this.#clients.get(name) === connection) this.#clients.delete(name)
    this.#sessions?.remove(client.socket)
    try {
      this.#context.topics.disconnected(client)
    } catch (error) {
      // Thrown if the store is closed.
      if (!(error instanceof Problem)) throw error
    }
  }

  #tickLater(): void {
    this.#cancelTick = this.world.after(tickMs, () => {
      const now = this.world.monotonic()
      for (const connection of [...this.#open]) if (connection.deadlineMs <= now) connection.expired()
      this.#context.topics.tick()
      if (this.#open.size > 0) this.#tickLater()
      else this.#cancelTick = undefined
    })
  }
}
