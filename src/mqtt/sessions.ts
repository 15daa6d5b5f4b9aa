import {
  devicesRecord,
  idsIn,
  type MqttSessionCommand,
  type MqttSessionCommands,
  mqttSessionAddress,
  noSessionDevices,
  packedIds,
  type SessionDevices,
  type StoredMqttSession,
  type StoredMqttSubscription,
  type StoredPosition,
  sessionRecord,
  subscriptionsRecord,
} from '#actors/mqtt-session/mqtt-session'
import type { Entry } from '#model/entry'
import { tenantKey } from '#model/tenant'
import type { Client, Principal } from '#mqtt/client'
import type { System } from '#runtime/system'

/**
 * The longest time for which a session is kept without its client. Also used if the process ends while the client is
 * connected. Contract 10.
 */
const expiryMsMax = 7 * 24 * 60 * 60_000
/** The stored end of a connected session is postponed after this time, so that the session does not expire. */
const renewedEveryMs = 24 * 60 * 60_000
/** The limit of sessions that one call of `renew` stores. */
const renewedAtOnceMax = 100
/** The limit of sessions that one principal may begin while this process runs. */
const sessionsOfOneMax = 10_000
/** The limit of devices that a continued session connects before their HELLO. Each HELLO stores the names of all. */
export const sessionDevicesMax = 128

/** The session of a connected client. */
export interface Session {
  /** Packet identifiers of QoS 2 whose messages are stored and not released yet. */
  readonly stored: Set<number>
  devices: SessionDevices
  /** The position up to which the client has received the events of the stream. */
  position: StoredPosition | undefined
  expiryMs: number
  readonly isContinued: boolean
  /** When the stored session expires, in Unix ms. */
  endsAt: number
}

/**
 * The persistent sessions of connected clients. An actor stores each session. A change of a session is in the commit of
 * the message that caused it, because both turns run synchronously. Contract 10, Delivery.
 */
export class Sessions {
  readonly #system: System<Entry>
  readonly #open = new Map<Client, Session>()
  readonly #begun = new Map<string, number>()
  /** Clients whose position is not stored yet. */
  readonly #moved = new Set<Client>()

  constructor(system: System<Entry>) {
    this.#system = system
  }

  /** Connected clients whose sessions outlive their connections. */
  clients(): Iterable<Client> {
    return this.#open.keys()
  }

  /** How long the session of the client outlives its connection. */
  expiryMsOf(client: Client): number {
    return this.#open.get(client)?.expiryMs ?? 0
  }

  /** Whether the session of the client outlives its connection. */
  has(client: Client): boolean {
    return this.#open.has(client)
  }

  /**
   * Continues the stored session of the client, or begins another session. `isPresent`: a session was continued. If
   * `expiryMs` is 0, or the principal began too many sessions, the session ends with the connection.
   * @throws Problem `storage`
   */
  begin(client: Client, isClean: boolean, expiryMs: number): { isPresent: boolean; session: Session } {
    const { principal, clientId } = client
    const now = this.#system.world.now()
    const kept = this.#kept(principal, clientId, now)
    const continued = isClean ? undefined : kept
    const session: Session = {
      stored: new Set(idsIn(continued?.open ?? [])),
      devices: continued?.devices ?? noSessionDevices,
      position: continued?.position,
      expiryMs: Math.min(expiryMs, expiryMsMax),
      isContinued: continued !== undefined,
      endsAt: now + expiryMsMax,
    }
    for (const id of session.stored) client.openPacketIds.add(id)
    for (const each of continued?.subscriptions ?? []) client.subscriptions.set(each.topic, each)
    if (expiryMs > 0 && (kept || this.#mayBegin(principal))) {
      this.#open.set(client, session)
      this.#save(client, session, { devices: session.devices, subscriptions: [...client.subscriptions.values()] })
    } else if (kept) this.#turn(client, { type: 'forget' })
    return { isPresent: continued !== undefined, session }
  }

  /** Sets how long the session lasts after the end of the connection. */
  setExpiry(client: Client, expiryMs: number): void {
    const session = this.#open.get(client)
    if (session) session.expiryMs = Math.min(expiryMs, expiryMsMax)
  }

  /** The message with this identifier was accepted. The identifier is stored in the commit of the message. */
  received(client: Client, packetId: number): void {
    const session = this.#open.get(client)
    if (!session) return
    session.stored.add(packetId)
    this.#save(client, session)
  }

  /** The client may use the identifier again as soon as this is stored. */
  released(client: Client, packetId: number): void {
    const session = this.#open.get(client)
    if (session?.stored.delete(packetId)) this.#save(client, session)
  }

  /** The devices that the client has connected have changed. */
  devicesChanged(client: Client, devices: SessionDevices): void {
    const session = this.#open.get(client)
    if (!session) return
    session.devices = devices
    this.#save(client, session, { devices })
  }

  /** The subscriptions of the client have changed. */
  subscriptionsChanged(client: Client): void {
    const session = this.#open.get(client)
    if (session) this.#save(client, session, { subscriptions: [...client.subscriptions.values()] })
  }

  /** The client has received the events up to this position, which is stored with the next change or by `renew`. */
  positioned(client: Client, position: StoredPosition | undefined): void {
    const session = this.#open.get(client)
    if (!session || session.position?.offset === position?.offset) return
    session.position = position
    this.#moved.add(client)
  }

  /** The client has gone. The session ends after `expiryMs`. */
  left(client: Client): void {
    const session = this.#open.get(client)
    if (!session) return
    this.#open.delete(client)
    this.#moved.delete(client)
    // If the end cannot be stored, the session ends after the longest possible time.
    if (!this.#system.isServing || !this.#system.gate.isOpen) return
    session.endsAt = this.#system.world.now() + session.expiryMs
    if (session.expiryMs === 0) this.#turn(client, { type: 'forget' })
    else this.#save(client, session)
  }

  /** Stores new positions, and sessions that would expire. Called every second. */
  renew(): void {
    const due = this.#system.world.now() + expiryMsMax - renewedEveryMs
    let count = 0
    for (const client of this.#moved) {
      if (count >= renewedAtOnceMax || !this.#system.gate.isOpen) return
      count++
      this.#moved.delete(client)
      this.#save(client, this.#open.get(client) as Session)
    }
    for (const [client, session] of this.#open) {
      if (session.endsAt > due || !this.#system.gate.isOpen) continue
      session.endsAt = this.#system.world.now() + expiryMsMax
      this.#save(client, session)
      if (++count >= renewedAtOnceMax) return
    }
  }

  #kept({ tenant, key }: Principal, clientId: string, now: number) {
    const address = mqttSessionAddress(tenant, key, clientId)
    const session = this.#system.recordOf(address, sessionRecord) as StoredMqttSession | undefined
    if (!session || session.endsAt <= now) return undefined
    const devices = this.#system.recordOf(address, devicesRecord) as SessionDevices | undefined
    const subscriptions = this.#system.recordOf(address, subscriptionsRecord) as StoredMqttSubscription[] | undefined
    return { ...session, devices: devices ?? noSessionDevices, subscriptions: subscriptions ?? [] }
  }

  #mayBegin({ tenant, key }: Principal): boolean {
    const name = tenantKey(tenant, key)
    const count = (this.#begun.get(name) ?? 0) + 1
    if (count > sessionsOfOneMax) return false
    this.#begun.set(name, count)
    return true
  }

  #save(
    client: Client,
    { stored, endsAt, position }: Session,
    changed: Pick<MqttSessionCommands['save'], 'devices' | 'subscriptions'> = {},
  ): void {
    this.#turn(client, { type: 'save', open: packedIds(stored), endsAt, position, ...changed })
  }

  /** Passes 0 bytes, because the command of an accepted message must not be refused for overload. */
  #turn({ principal, clientId }: Client, command: MqttSessionCommand): void {
    const address = mqttSessionAddress(principal.tenant, principal.key, clientId)
    this.#system.turn(address, command, ignoreAnswer, 0)
  }
}

const ignoreAnswer = { answered: () => {}, refused: () => {} }
