import { hash } from 'node:crypto'
import { deviceAddress } from '#actors/device/device'
import { type DeviceState, serviceOf } from '#actors/device/state'
import { parseJson } from '#http/validation'
import type { LinkedDevice } from '#link/link'
import type { Links } from '#link/links'
import { type Entry, isPropertyError } from '#model/entry'
import { deviceIdentifierOf, formatPropertyIdHex } from '#model/identifier'
import { isJsonObject } from '#model/json-value'
import { messageCharactersMax, type ResultMessage } from '#model/link-message'
import { Problem } from '#model/problem'
import type { PropertyValue } from '#model/property-type'
import { type Client, type ClientMessage, ClientSocket } from '#mqtt/client'
import {
  attributesOf,
  type FreeReports,
  type FreeService,
  type FreeValues,
  readJsonObject,
  telemetryOf,
} from '#mqtt/free-reports'
import { type Answer, type ClientLink, type LinkExchange, PublishedFrames } from '#mqtt/link-exchange'
import { reasonOf, reasons } from '#mqtt/reason-codes'
import { isMatching } from '#mqtt/topic'
import type { System } from '#runtime/system'

export interface ThingsBoardParts {
  readonly system: System<Entry>
  readonly links: Links
  readonly exchange: LinkExchange
  readonly reports: FreeReports
}

/**
 * A client that uses these topics. It has a device connection of its own, because messages on `v1/link` have another
 * form.
 */
interface Peer extends ClientLink {
  readonly socket: ClientSocket
  /** The names of the gateway's devices as the gateway writes them, by device identifier. */
  readonly names: Map<string, string>
  /** Writes that the client has not answered, by the number of their request, the oldest first. */
  readonly requests: Map<number, PendingRequest>
}

interface PendingRequest {
  readonly linked: LinkedDevice
  readonly id: string
  readonly propIds: readonly number[]
}

interface WriteMessage {
  readonly type: string
  readonly flakeAddress: number
  readonly id: string
  readonly serviceIdentifier: string
  readonly updates: readonly { readonly propId: number; readonly value: PropertyValue }[]
}

const devicePrefix = 'v1/devices/me/'
const gatewayPrefix = 'v1/gateway/'
const attributeRequest = 'attributes/request/'
const rpcResponse = 'rpc/response/'
const readers = { telemetry: telemetryOf, attributes: attributesOf } as const
const requestsMax = 1_024
/** The limit of devices in a message. Each device may have to be connected and stored. */
const devicesMax = 128
const keysMax = 1_024

/** The topics of ThingsBoard. A device moves to this server by a change of host and token. Contract 10. */
export class ThingsBoardTopics {
  readonly #parts: ThingsBoardParts
  readonly #peers = new Map<Client, Peer>()

  constructor(parts: ThingsBoardParts) {
    this.#parts = parts
  }

  static isTopic(topic: string): boolean {
    return topic.startsWith(devicePrefix) || topic.startsWith(gatewayPrefix)
  }

  publish(client: Client, message: ClientMessage, answer: Answer): void {
    const peer = this.#peerOf(client)
    if (!peer) {
      answer({ reason: reasons.notAuthorized, message: 'only devices and gateways publish to this topic' })
      return
    }
    const { exchange } = this.#parts
    if (!exchange.isRepeated(client, message)) this.#attempt(peer, () => this.#take(client, peer, message))
    exchange.answer(client, peer, message, answer)
  }

  /**
   * Connects the device if the filter is for topics of a single device. Returns false if the client is neither a device
   * nor a gateway.
   */
  subscribed(client: Client, filter: string): boolean {
    const peer = this.#peerOf(client)
    if (!peer) return false
    if (!filter.startsWith(devicePrefix)) return true
    this.#attempt(peer, () => this.#own(client, peer))
    // A refusal here must not become the answer to a message.
    this.#parts.links.port.inOrder(() => {
      peer.frames.refusal = undefined
    })
    return true
  }

  disconnected(client: Client): void {
    const peer = this.#peers.get(client)
    if (peer && this.#peers.delete(client)) this.#parts.links.closed(peer.socket)
  }

  #peerOf(client: Client): Peer | undefined {
    const known = this.#peers.get(client)
    const { link: credentials } = client.principal
    if (known || !credentials) return known
    const { links } = this.#parts
    const socket = new ClientSocket(client)
    const frames = new PublishedFrames()
    const link = links.opened(socket, { ...credentials, codec: frames, isMqtt: true, origin: '' })
    const peer: Peer = { socket, link, frames, names: new Map(), requests: new Map() }
    socket.onMessage = (text) => {
      const message = JSON.parse(String(text)) as WriteMessage
      if (message.type === 'WRITE') this.#write(client, peer, message)
    }
    this.#peers.set(client, peer)
    return peer
  }

  /** Runs a task. A refusal becomes the answer to the message, after the answers to earlier messages. */
  #attempt(peer: Peer, task: () => void): void {
    try {
      task()
    } catch (error) {
      if (!(error instanceof Problem)) throw error
      this.#refuse(peer, error)
    }
  }

  #refuse({ link, frames }: Peer, problem: Problem): void {
    this.#parts.links.counts.refused++
    this.#parts.links.port.inOrder(() => {
      if (problem.kind.isTemporary) link.refuse(problem)
      else frames.refusal = { reason: reasonOf(problem), message: problem.message }
    })
  }

  #take(client: Client, peer: Peer, { topic, payload }: ClientMessage): void {
    if (topic.startsWith(gatewayPrefix)) {
      this.#takeOfGateway(client, peer, topic.slice(gatewayPrefix.length), payload)
      return
    }
    const path = topic.slice(devicePrefix.length)
    const number = path.slice(path.lastIndexOf('/') + 1)
    const bytes = payload.byteLength
    if (path === 'telemetry' || path === 'attributes') {
      this.#report(peer, this.#own(client, peer), path, readers[path](parseJson(payload)), bytes)
    } else if (path === attributeRequest + number) this.#answerAttributes(client, peer, number, readJsonObject(payload))
    else if (path === rpcResponse + number) {
      this.#result(peer, Number(number), payload.byteLength === 0 ? undefined : parseJson(payload))
    } else throw notTopic(topic)
  }

  #takeOfGateway(client: Client, peer: Peer, path: string, payload: Uint8Array): void {
    const json = readJsonObject(payload)
    switch (path) {
      case 'connect':
        this.#named(client, peer, json.device)
        break
      case 'disconnect': {
        const linked = this.#present(peer, identifierOf(json.device))
        if (!linked) break
        peer.names.delete(linked.device)
        this.#parts.links.bye(peer.link, linked.flakeAddress)
        break
      }
      case 'telemetry':
      case 'attributes':
        this.#reportAll(client, peer, path, json, payload.byteLength)
        break
      case 'attributes/request':
        this.#answerGateway(client, peer, json)
        break
      case 'rpc':
        this.#result(peer, Number(json.id), json.data)
        break
      default:
        throw notTopic(gatewayPrefix + path)
    }
  }

  /**
   * Reads the values of all devices before it stores the first values. If a device is refused, the values of the other
   * devices are stored nevertheless.
   */
  #reportAll(
    client: Client,
    peer: Peer,
    service: FreeService,
    json: Readonly<Record<string, unknown>>,
    bytes: number,
  ): void {
    const entries = Object.entries(json)
    if (entries.length > devicesMax) throw new Problem('bad_request', `more than ${devicesMax} devices in one message`)
    const devices = entries.map(([name, values]) => [name, readers[service](values)] as const)
    for (const [name, times] of devices) {
      this.#attempt(peer, () => this.#report(peer, this.#named(client, peer, name), service, times, bytes))
    }
  }

  /** `linked` is undefined if the device was refused; the reason is noted already. */
  #report(
    peer: Peer,
    linked: LinkedDevice | undefined,
    service: FreeService,
    times: readonly FreeValues[],
    bytes: number,
  ): void {
    if (!linked) return
    this.#parts.reports.report(linked, service, times, bytes, (problem) => this.#refuse(peer, problem))
  }

  /**
   * Connects the single device for which the client signed in. Undefined if the connection is refused. @throws Problem
   * `forbidden`
   */
  #own({ principal }: Client, peer: Peer): LinkedDevice | undefined {
    const device = principal.link?.device ?? principal.me
    if (device === undefined) throw new Problem('forbidden', 'these credentials are not those of a single device')
    return this.#connected(peer, device)
  }

  #named(client: Client, peer: Peer, name: unknown): LinkedDevice | undefined {
    const device = identifierOf(name)
    const linked = this.#connected(peer, device)
    if (linked && client.principal.link?.device !== device) peer.names.set(device, String(name))
    return linked
  }

  #connected(peer: Peer, device: string): LinkedDevice | undefined {
    const present = this.#present(peer, device)
    if (present) return present
    this.#parts.links.hellos.connect(peer.link, device)
    return this.#present(peer, device)
  }

  #present({ link }: Peer, device: string): LinkedDevice | undefined {
    const linked = this.#parts.links.linkedOf(link.opening.tenant, device)
    return linked?.link === link ? linked : undefined
  }

  /** An attribute of the device and a shared attribute of the same name are one property. */
  #answerAttributes(client: Client, peer: Peer, number: string, json: Readonly<Record<string, unknown>>): void {
    const linked = this.#own(client, peer)
    if (!linked) return
    const { clientKeys, sharedKeys } = json
    const isWhole = clientKeys === undefined && sharedKeys === undefined
    const read = (keys: unknown) => this.#attributes(linked, isWhole ? undefined : keysOf(String(keys)))
    const answer = () => ({
      ...((isWhole || clientKeys !== undefined) && { client: read(clientKeys) }),
      ...((isWhole || sharedKeys !== undefined) && { shared: read(sharedKeys) }),
    })
    this.#send(client, `${devicePrefix}attributes/response/${number}`, answer)
  }

  #answerGateway(client: Client, peer: Peer, { id, device, key, keys }: Readonly<Record<string, unknown>>): void {
    const linked = this.#named(client, peer, device)
    if (!linked) return
    const names = Array.isArray(keys) ? keys.slice(0, keysMax).map(String) : keysOf(String(key ?? keys ?? ''))
    const read = () => this.#attributes(linked, names)
    const values = () => (typeof key === 'string' ? { value: read()[key] ?? null } : { values: read() })
    this.#send(client, `${gatewayPrefix}attributes/response`, () => ({ id, device, ...values() }))
  }

  /** Sends a message once everything before the request is stored. */
  #send(client: Client, topic: string, payload: () => unknown): void {
    this.#parts.links.port.whenStored(() => this.#deliver(client, topic, payload()))
  }

  /** Returns false if the client does not subscribe to the topic. */
  #deliver(client: Client, topic: string, payload: unknown): boolean {
    const isSubscribed = [...client.subscriptions.keys()].some((filter) => isMatching(filter, topic))
    if (isSubscribed) client.deliver({ topic, payload: JSON.stringify(payload), qos: 0 })
    return isSubscribed
  }

  /** The present values of attributes by name; without `keys`, of all attributes. */
  #attributes({ tenant, device }: LinkedDevice, keys: readonly string[] | undefined): Record<string, PropertyValue> {
    const { system, reports } = this.#parts
    const state = system.peek(deviceAddress(tenant, device)) as DeviceState | undefined
    const service = state && serviceOf(state, 'attributes')
    const ids = reports.idsOf(tenant, 'attributes')
    const values = (keys ?? [...ids.keys()]).flatMap((name) => {
      const place = service?.shape.indexOf.get(ids.get(name) ?? -1)
      const value = place === undefined ? null : (service?.stateOf(place) ?? null)
      return value === null || isPropertyError(value) ? [] : [[name, value] as const]
    })
    return Object.fromEntries(values)
  }

  /** Devices do not answer writes to attributes, so such a write is done once it is sent. Contract 10. */
  #write(client: Client, peer: Peer, { flakeAddress, id, serviceIdentifier: service, updates }: WriteMessage): void {
    const linked = peer.link.devices.get(flakeAddress)
    if (!linked) return
    const { tenant, device } = linked
    const names = new Map([...this.#parts.reports.idsOf(tenant, service)].map(([name, propId]) => [propId, name]))
    const values = Object.fromEntries(
      updates.map(({ propId, value }) => [names.get(propId) ?? formatPropertyIdHex(propId), value]),
    )
    const isAttributes = service === 'attributes'
    const number = numberOf(id)
    const request = { method: 'setProperties', params: values }
    const name = peer.names.get(device)
    const [topic, payload] =
      name === undefined
        ? isAttributes
          ? [`${devicePrefix}attributes`, values]
          : [`${devicePrefix}rpc/request/${number}`, request]
        : isAttributes
          ? [`${gatewayPrefix}attributes`, { device: name, data: values }]
          : [`${gatewayPrefix}rpc`, { device: name, data: { id: number, ...request } }]
    const propIds = updates.map(({ propId }) => propId)
    if (!this.#deliver(client, topic, payload)) {
      this.#answer({ linked, id, propIds }, `the device does not subscribe to ${topic}`)
    } else if (isAttributes) this.#parts.links.writes.sent(linked, id)
    else this.#remember(peer, number, { linked, id, propIds })
  }

  #remember({ requests }: Peer, number: number, request: PendingRequest): void {
    requests.delete(number)
    requests.set(number, request)
    const [oldest] = requests.keys()
    if (requests.size > requestsMax && oldest !== undefined) requests.delete(oldest)
  }

  /** An answer that comes too late is ignored. */
  #result({ requests }: Peer, number: number, body: unknown): void {
    const request = requests.get(number)
    if (!request) return
    requests.delete(number)
    const error = isJsonObject(body) ? body.error : undefined
    const text = typeof error === 'string' ? error : JSON.stringify(error)
    this.#answer(request, text)
  }

  /** Passes on the result of a write. `message` is undefined if the device accepted it. */
  #answer({ linked, id, propIds }: PendingRequest, message: string | undefined): void {
    const results = propIds.map((propId): ResultMessage['results'][number] => {
      if (message === undefined) return { propId, status: 'OK' }
      return { propId, status: 'REJECTED', message: message.slice(0, messageCharactersMax).toWellFormed() }
    })
    this.#parts.links.writes.result(linked, { type: 'RESULT', flakeAddress: linked.flakeAddress, id, results })
  }
}

/** @throws Problem `bad_request` */
function identifierOf(name: unknown): string {
  const device = typeof name === 'string' ? deviceIdentifierOf(name) : undefined
  if (device === undefined) throw new Problem('bad_request', 'the name of a device must be a device identifier')
  return device
}

function keysOf(text: string): string[] {
  return text.split(',', keysMax)
}

/** The number of a request, because devices expect a number. A repeated write has the same number. */
function numberOf(id: string): number {
  return hash('sha256', id, 'buffer').readUInt32BE(0) >>> 1
}

function notTopic(topic: string): Problem {
  return new Problem('not_found', `${topic} is not a topic of this server`)
}
