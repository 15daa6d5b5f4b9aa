import type { SessionDevices } from '#actors/mqtt-session/state'
import type { Link } from '#link/link'
import type { Links } from '#link/links'
import type { Client, ClientMessage, Refusal } from '#mqtt/client'
import { PublishedFrames } from '#mqtt/published-frames'
import { reasons } from '#mqtt/reasons'
import { type Sessions, sessionDevicesMax } from '#mqtt/sessions'
import type { World } from '#runtime/world'

const downTopic = 'v1/link/down'

/** Answers a message once, when it is stored or refused. */
export type Answer = (refusal?: Refusal) => void

interface ClientLink {
  readonly link: Link
  readonly frames: PublishedFrames
}

/**
 * Native devices: messages of the device link as publications on `v1/link`, and those of the server on `v1/link/down`.
 * The client enters `Links` as a socket. Contract 10.
 */
export class LinkTopics {
  readonly #world: World
  readonly #links: Links
  readonly #sessions: Sessions
  readonly #clients = new Map<Client, ClientLink>()

  constructor(world: World, links: Links, sessions: Sessions) {
    this.#world = world
    this.#links = links
    this.#sessions = sessions
  }

  /** `devices`: those that were connected in the session of the client. */
  connected(client: Client, devices: SessionDevices): void {
    const { link: credentials } = client.principal
    if (!credentials) return
    const { socket } = client
    const frames = new PublishedFrames()
    socket.onMessage = (payload) => client.deliver({ topic: downTopic, payload, qos: 0 })
    socket.onPing = () => this.#world.soon(() => this.#links.ponged(socket))
    const link = this.#links.opened(socket, { ...credentials, codec: frames, origin: '' })
    this.#clients.set(client, { link, frames })
    for (const [device, services] of Object.entries(devices)) {
      this.#links.hellos.restore(link, device, services)
    }
  }

  disconnected(client: Client): void {
    if (this.#clients.delete(client)) this.#links.closed(client.socket)
  }

  /** Never answered if the connection ends before the commit: the client sends the message again. */
  publish(client: Client, { payload, qos, packetId }: ClientMessage, answer: Answer): void {
    const known = this.#clients.get(client)
    if (!known) {
      answer({ reason: reasons.notAuthorized, message: 'only devices and gateways publish to v1/link' })
      return
    }
    const { frames } = known
    const isRepeated = qos === 2 && client.open.has(packetId)
    if (!isRepeated) this.#links.received(client.socket, payload, false)
    if (qos === 2) client.open.add(packetId)
    this.#whenStored(
      known.link,
      () => {
        if (qos === 2 && !isRepeated) this.#sessions.received(client, packetId)
        if (frames.hasNewDevices) this.#noteDevices(client, known)
      },
      () => {
        const { refusal } = frames
        frames.refusal = undefined
        // In version 5 a refusal ends the exchange, and the client may use the identifier again. MQTT 5.0 §4.3.3.
        const isEnded = refusal !== undefined && qos === 2 && client.version === 5
        if (isEnded) this.release(client, packetId, () => answer(refusal))
        else answer(refusal)
      },
    )
  }

  /**
   * Frees an identifier of QoS 2. `released` runs when that is stored, also after a repeated PUBREL: the client then uses
   * the identifier for another message.
   */
  release(client: Client, packetId: number, released: (isKnown: boolean) => void): void {
    const isKnown = client.open.delete(packetId)
    this.#sessions.released(client, packetId)
    if (this.#sessions.has(client)) this.#links.port.whenStored(() => released(isKnown))
    else released(isKnown)
  }

  /** `taken` runs in the commit of all that was received so far, `stored` after it; neither if the link ends. */
  #whenStored(link: Link, taken: () => void, stored: () => void): void {
    this.#links.queue.after(link, () => {
      if (!link.isAccepting) return
      taken()
      this.#links.port.whenStored(() => link.isOpen && stored())
    })
  }

  /** Devices may have come and gone: the session has to know them before their next message. */
  #noteDevices(client: Client, { link, frames }: ClientLink): void {
    frames.hasNewDevices = false
    if (!this.#sessions.has(client) || link.devices.size > sessionDevicesMax) return
    const devices = [...link.devices.values()].map(({ device, services }) => [
      device,
      services.map(({ serviceIdentifier }) => serviceIdentifier),
    ])
    this.#sessions.connected(client, Object.fromEntries(devices))
  }
}
