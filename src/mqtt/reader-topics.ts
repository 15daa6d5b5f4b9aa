import { deviceAddress } from '#actors/device/device'
import type { DeviceState } from '#actors/device/state'
import type { Hub } from '#events/hub'
import type { DevicePort } from '#link/device-port'
import type { Entry } from '#model/entry'
import { Problem } from '#model/problem'
import type { Scope } from '#model/scope'
import type { Client } from '#mqtt/client'
import type { Delivery, Qos, Subscription } from '#mqtt/control-packets'
import { absentLevel, deviceOfFilter, eventFilterOf, levelOf, readerKindOf } from '#mqtt/reader-filter'
import { reasons } from '#mqtt/reason-codes'
import { changeMessages, type StateEvent, type StateMessage, stateMessages } from '#mqtt/state-topics'
import { isMatchingLevels } from '#mqtt/topic'
import type { Position } from '#runtime/journal'
import type { LocalTopics } from '#runtime/local-topics'
import { readTurnsOf, Slices } from '#runtime/slices'
import { type Listing, namesOf, pagesIn } from '#runtime/storage'
import type { System } from '#runtime/system'

export interface ReaderParts {
  readonly system: System<Entry>
  readonly hub: Hub
  readonly listing: Listing
  readonly localTopics: LocalTopics
  readonly port: DevicePort
}

interface Filter {
  readonly text: string
  readonly levels: readonly string[]
  readonly subscription: Subscription
}

/** A client that subscribes to events. Its socket is one of the event sockets of the hub. */
interface Reader {
  readonly client: Client
  /** Filters by their text. */
  readonly filters: Map<string, Filter>
  /** The tenant, the filters and their options: readers with the same key and rights get the same deliveries. */
  key: string
  /** Whether a filter matches topics of values or of the status. */
  hasValues: boolean
  isListening: boolean
  /** Resolves when the present values for all filters so far are sent. Filters are processed one after the other. */
  scans: Promise<void>
  /** The number of scans that have not ended. */
  scanCount: number
  /** Whether an event could not be sent, so that the next connection must not continue after it. */
  hasMissed: boolean
}

/** A delivery of an event, with the offset of the event in the stream; or a message of the hub that reports a gap. */
type EventDelivery = { readonly delivery: Delivery; readonly offset: number | undefined } | { readonly gap: string }

/** Successive messages of the hub, and their deliveries by the keys of readers. */
interface ReceivedMessages {
  readonly messages: readonly string[]
  readonly byKey: Map<string, { readonly scope: Scope | undefined; readonly deliveries: readonly EventDelivery[] }>
}

const resyncLevels = ['v1', 'events', '$resync']
const namesAtOnce = 64
/** The limit of subscriptions of one client that wait for their present values. */
const scansMax = 100
/** While a client has more unread bytes, it gets no more of the present values. */
const unreadBytesMax = 128 * 1024
const unreadPauseMs = 100

/**
 * Events, values and the status of devices for people and programs. The hub decides which events a client may receive,
 * and catches up a client that was slow or away. Contract 10.
 */
export class ReaderTopics {
  readonly #parts: ReaderParts
  readonly #readers = new Map<Client, Reader>()
  /** The last messages. Clients with the same rights get the same list, one after another. */
  #last: ReceivedMessages | undefined

  constructor(parts: ReaderParts) {
    this.#parts = parts
  }

  /** Returns the granted QoS, or the reason of the refusal. `isNew`: the client did not have this subscription. */
  subscribe(client: Client, subscription: Subscription, isNew: boolean): number {
    if (!client.principal.caller?.now()) return reasons.notAuthorized
    const reader = this.#readerOf(client)
    if (reader.scanCount >= scansMax) return reasons.quotaExceeded
    const filter = filterOf(subscription)
    reader.filters.set(filter.text, filter)
    this.#listen(reader)
    const { rh = 0 } = subscription
    const hasPresentValues = readerKindOf(filter.text) !== 'events' && (rh === 0 || (rh === 1 && isNew))
    if (hasPresentValues) this.#scan(reader, [filter])
    return Math.min(subscription.qos, 1)
  }

  unsubscribe(client: Client, filter: string): void {
    const reader = this.#readers.get(client)
    if (reader?.filters.delete(filter)) this.#listen(reader)
  }

  /** Continues a session after this position. Without a position, everything counts as missed. */
  resume(client: Client, position: Position | undefined): void {
    const filters = [...client.subscriptions.values()].filter(({ topic }) => readerKindOf(topic)).map(filterOf)
    if (filters.length === 0) return
    const reader = this.#readerOf(client)
    for (const filter of filters) reader.filters.set(filter.text, filter)
    this.#listen(reader, position ?? 'lost')
  }

  /**
   * The position up to which everything is acknowledged. Undefined if the client reads no events, or if the present
   * values must be sent again.
   */
  positionOf(client: Client): Position | undefined {
    this.#parts.localTopics.flush()
    const reader = this.#readers.get(client)
    const position = reader && this.#parts.hub.positionOf(client.socket)
    if (!position || reader.scanCount > 0 || reader.hasMissed || client.outgoing.hasOthers) return undefined
    const { firstOffset } = client.outgoing
    return firstOffset === undefined ? position : { ...position, offset: Math.min(position.offset, firstOffset - 1) }
  }

  disconnected(client: Client): void {
    const reader = this.#readers.get(client)
    if (!reader) return
    this.#readers.delete(client)
    this.#leave(reader)
  }

  #readerOf(client: Client): Reader {
    let reader = this.#readers.get(client)
    if (!reader) {
      reader = {
        client,
        filters: new Map(),
        key: '',
        hasValues: false,
        isListening: false,
        scans: Promise.resolve(),
        scanCount: 0,
        hasMissed: false,
      }
      this.#readers.set(client, reader)
      const { hub, localTopics } = this.#parts
      const known = reader
      client.socket.topics = localTopics
      client.socket.onMessage = (message) => {
        localTopics.flush()
        this.#receive(known, [String(message)])
      }
      client.socket.receive = (messages) => this.#receive(known, messages)
      client.onDrained = () => hub.drained(client.socket)
    }
    return reader
  }

  /**
   * Subscribes to the events that the filters need. Continues at the position of the client, or at `from` if the client
   * was not subscribed.
   */
  #listen(reader: Reader, from?: Position | 'lost'): void {
    const { hub } = this.#parts
    const { socket, principal } = reader.client
    reader.key = keyOf(reader)
    reader.hasValues = [...reader.filters.keys()].some((filter) => readerKindOf(filter) !== 'events')
    const before = reader.isListening ? (hub.positionOf(socket) ?? 'lost') : from
    this.#leave(reader)
    // If the sign-in session has ended, `SessionSockets` ends the connection.
    const caller = principal.caller?.now()
    if (reader.filters.size === 0 || !caller) return
    reader.isListening = true
    const { tenant, user, access, scope, scopeSince } = caller
    const filter = eventFilterOf([...reader.filters.keys()])
    const resume = before === undefined || before === 'lost' ? undefined : { after: before }
    hub.add(socket, { tenant, user, access, scope, scopeSince, filter }, resume)
    if (before === 'lost') this.#resync(reader, '{"type":"RESYNC"}')
  }

  #leave(reader: Reader): void {
    if (!reader.isListening) return
    reader.isListening = false
    const { socket } = reader.client
    this.#parts.hub.remove(socket)
    socket.unsubscribeAll()
  }

  #receive(reader: Reader, messages: readonly string[]): void {
    if (this.#last?.messages !== messages) this.#last = { messages, byKey: new Map() }
    const { client } = reader
    let deliveries: readonly EventDelivery[]
    try {
      deliveries = this.#deliveriesOf(reader, this.#last)
    } catch (error) {
      // After a failed commit, the rights of the reader cannot be read for a time.
      reader.hasMissed = true
      client.end(reasons.serverBusy, 'the store is not available')
      if (error instanceof Problem) return
      throw error
    }
    for (const each of deliveries) {
      if ('gap' in each) this.#resync(reader, each.gap)
      else client.outgoing.send(each)
    }
  }

  /** The deliveries of the events themselves and of the values that they change. */
  #deliveriesOf(reader: Reader, { messages, byKey }: ReceivedMessages): readonly EventDelivery[] {
    const caller = reader.hasValues ? reader.client.principal.caller?.now() : undefined
    const known = byKey.get(reader.key)
    if (known && known.scope === caller?.scope) return known.deliveries
    const deliveries = messages.flatMap((text): EventDelivery | EventDelivery[] => {
      const event = JSON.parse(text) as StateEvent & { readonly recovered?: boolean }
      if (event.type === 'STREAM') return event.recovered ? [] : { gap: text }
      if (event.type === 'RESYNC') return { gap: text }
      const { deviceIdentifier: device, serviceIdentifier: service, offset } = event
      const levels = ['v1', 'events', device, service].map((name) => (name === undefined ? absentLevel : levelOf(name)))
      const values = caller ? changeMessages(this.#parts.system, caller, event) : []
      return [{ levels, payload: text }, ...values].flatMap((message) => {
        const delivery = deliveryTo(reader, message)
        return delivery ? { delivery: delivery.qos === 0 ? { ...delivery, packets: {} } : delivery, offset } : []
      })
    })
    byKey.set(reader.key, { scope: caller?.scope, deliveries })
    return deliveries
  }

  /** Reports a gap to subscribers of events, and sends the present values for other filters again. */
  #resync(reader: Reader, text: string): void {
    const filters = [...reader.filters.values()]
    const ofEvents = filters.filter(({ text: filter }) => readerKindOf(filter) === 'events')
    if (ofEvents.length > 0) {
      const qos = Math.max(...ofEvents.map(({ subscription }) => Math.min(subscription.qos, 1))) as Qos
      reader.client.outgoing.send({ delivery: { topic: resyncLevels.join('/'), payload: text, qos } })
    }
    const others = filters.filter((filter) => !ofEvents.includes(filter))
    if (others.length > 0) this.#scan(reader, others)
  }

  #scan(reader: Reader, filters: readonly Filter[]): void {
    reader.scanCount++
    reader.scans = reader.scans
      .then(() => this.#sendPresent(reader, filters))
      .catch(() => reader.client.end(reasons.serverBusy, 'the store is not available'))
      .finally(() => {
        reader.scanCount--
      })
  }

  /** Sends the present values, in slices, and no faster than the client reads. Later changes are sent as events. */
  async #sendPresent(reader: Reader, filters: readonly Filter[]): Promise<void> {
    const { system, listing, port } = this.#parts
    const { world } = system
    const { client } = reader
    const { tenant } = client.principal
    const levels = filters.map((filter) => filter.levels)
    const named = filters.map(({ text }) => deviceOfFilter(text))
    const isNamed = named.every((device) => device !== undefined)
    const names = isNamed ? namesOf(new Set(named)) : listing.actors('device', tenant)
    const slice = new Slices(world, undefined, Slices.notBegun)
    const turns = readTurnsOf(world)
    for await (const page of pagesIn(names, namesAtOnce)) {
      for (const device of page) {
        const reading = client.principal.caller?.now()
        if (!reading) return
        if (slice.isOver) {
          await turns.next(reading)
          slice.begin()
        }
        while (client.socket.bufferedBytes() > unreadBytesMax && !client.isClosed) {
          await new Promise<void>((resolve) => world.after(unreadPauseMs, resolve))
        }
        const caller = client.principal.caller?.now()
        if (client.isClosed || !caller) return
        const state = system.peek(deviceAddress(tenant, device)) as DeviceState | undefined
        if (!state?.exists) continue
        const messages = [...stateMessages(system, caller, state, levels)]
        // After the commit, because the last changes might not be stored yet.
        if (messages.length > 0) {
          port.whenStored(() => {
            this.#parts.localTopics.flush()
            for (const delivery of messages.flatMap((message) => deliveryTo(reader, message, true) ?? []))
              client.outgoing.send({ delivery })
          })
        }
      }
    }
    await system.gate.whenStored()
  }
}

function filterOf(subscription: Subscription): Filter {
  const { topic } = subscription
  return { text: topic, levels: topic.split('/'), subscription }
}

function keyOf({ client, filters }: Reader): string {
  const subscriptions = [...filters.values()].map(({ subscription }) => subscription)
  return JSON.stringify([client.principal.tenant, subscriptions])
}

/** One delivery for all matching filters, with the highest QoS. MQTT-3.3.4-2. */
function deliveryTo(reader: Reader, { levels, payload }: StateMessage, isPresent = false): Delivery | undefined {
  const matching = [...reader.filters.values()].filter((filter) => isMatchingLevels(filter.levels, levels))
  if (matching.length === 0) return undefined
  const subscriptions = matching.map(({ subscription }) => subscription)
  const identifiers = subscriptions.flatMap(({ identifier }) => identifier ?? [])
  return {
    topic: levels.join('/'),
    payload,
    qos: Math.max(...subscriptions.map(({ qos }) => Math.min(qos, 1))) as Qos,
    isRetained: isPresent || (levels[1] !== 'events' && subscriptions.some(({ rap }) => rap)),
    ...(identifiers.length > 0 && { properties: { subscriptionIdentifier: identifiers } }),
  }
}
