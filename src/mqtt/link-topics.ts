import type { SessionDevices } from '#actors/mqtt-session/mqtt-session'
import type { Links } from '#link/links'
import { type Client, type ClientMessage, ClientSocket } from '#mqtt/client'
import { type Answer, type ClientLink, type LinkExchange, PublishedFrames } from '#mqtt/link-exchange'
import { reasons } from '#mqtt/reason-codes'
import { type Sessions, sessionDevicesMax } from '#mqtt/sessions'

const downTopic = 'v1/link/down'

export interface LinkTopicsParts {
  readonly links: Links
  readonly sessions: Sessions
  readonly exchange: LinkExchange
}

/**
 * The topics of native devices. They publish the messages of the device link on `v1/link`, and receive messages of the
 * server on `v1/link/down`. For `Links`, the client is a socket. Contract 10.
 */
export class LinkTopics {
  readonly #parts: LinkTopicsParts
  readonly #clients = new Map<Client, ClientLink & { readonly socket: ClientSocket }>()

  constructor(parts: LinkTopicsParts) {
    this.#parts = parts
  }

  /** `devices`: the devices that the session of the client had connected. */
  connected(client: Client, devices: SessionDevices): void {
    const { links } = this.#parts
    const { link: credentials } = client.principal
    if (!credentials) return
    const socket = new ClientSocket(client)
    const frames = new PublishedFrames()
    socket.onMessage = (payload) => client.deliver({ topic: downTopic, payload, qos: 0 })
    const link = links.opened(socket, { ...credentials, codec: frames, isMqtt: true, origin: '' })
    const taken = () => {
      if (frames.hasNewDevices) this.#noteDevices(client, { link, frames })
    }
    this.#clients.set(client, { link, frames, socket, taken })
    for (const [device, services] of Object.entries(devices)) links.hellos.restore(link, device, services)
  }

  disconnected(client: Client): void {
    const known = this.#clients.get(client)
    if (known && this.#clients.delete(client)) this.#parts.links.closed(known.socket)
  }

  publish(client: Client, message: ClientMessage, answer: Answer): void {
    const { links, exchange } = this.#parts
    const known = this.#clients.get(client)
    if (!known) {
      answer({ reason: reasons.notAuthorized, message: 'only devices and gateways publish to v1/link' })
      return
    }
    if (!exchange.isRepeated(client, message)) links.received(known.socket, message.payload, false)
    exchange.answer(client, known, message, answer)
  }

  /**
   * Stores the devices in the session, in the commit of the HELLO or BYE. Does nothing if the session ends with the
   * connection, or if there are too many devices.
   */
  #noteDevices(client: Client, { link, frames }: ClientLink): void {
    const { sessions } = this.#parts
    frames.hasNewDevices = false
    if (!sessions.has(client) || link.devices.size > sessionDevicesMax) return
    const devices = [...link.devices.values()].map(({ device, services }) => [
      device,
      services.map(({ serviceIdentifier }) => serviceIdentifier),
    ])
    sessions.devicesChanged(client, Object.fromEntries(devices))
  }
}
