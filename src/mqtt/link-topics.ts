import type { Links } from '#link/links'
import type { Client, ClientMessage, Refusal } from '#mqtt/client'
import { PublishedFrames } from '#mqtt/published-frames'
import { reasons } from '#mqtt/reasons'
import type { World } from '#runtime/world'

const downTopic = 'v1/link/down'

/** Answers a message once, when it is stored or refused. */
export type Answer = (refusal?: Refusal) => void

/**
 * Native devices: messages of the device link as publications on `v1/link`, and those of the server on `v1/link/down`.
 * The client enters `Links` as a socket. Contract 10.
 */
export class LinkTopics {
  readonly #world: World
  readonly #links: Links
  readonly #frames = new Map<Client, PublishedFrames>()

  constructor(world: World, links: Links) {
    this.#world = world
    this.#links = links
  }

  connected(client: Client): void {
    const { link } = client.principal
    if (!link) return
    const { socket } = client
    const codec = new PublishedFrames()
    this.#frames.set(client, codec)
    socket.onMessage = (payload) => client.deliver({ topic: downTopic, payload, qos: 0 })
    socket.onPing = () => this.#world.soon(() => this.#links.ponged(socket))
    this.#links.opened(socket, { ...link, codec, origin: '' })
  }

  disconnected(client: Client): void {
    if (this.#frames.delete(client)) this.#links.closed(client.socket)
  }

  /** Never answered if the connection ends before the commit: the client sends the message again. */
  publish(client: Client, { payload, qos, packetId }: ClientMessage, answer: Answer): void {
    const frames = this.#frames.get(client)
    if (!frames) {
      answer({ reason: reasons.notAuthorized, message: 'only devices and gateways publish to v1/link' })
      return
    }
    const isRepeated = qos === 2 && client.open.has(packetId)
    if (!isRepeated) this.#links.received(client.socket, payload, false)
    if (qos === 2) client.open.add(packetId)
    this.#links.whenStored(client.socket, () => {
      const { refusal } = frames
      frames.refusal = undefined
      // In version 5 a refusal ends the exchange, and the client may use the identifier again. MQTT 5.0 §4.3.3.
      if (refusal && qos === 2 && client.version === 5) client.open.delete(packetId)
      answer(refusal)
    })
  }
}
