import { EventClient } from '#test/blackbox/event-client'
import { type Declaration, type Fields, LinkClient, type Protocol, type Welcome } from '#test/blackbox/link-client'
import { sensor } from '#test/blackbox/sensor'
import type { StartedServer } from '#test/blackbox/started-server'

export interface ConnectedSensor {
  readonly link: LinkClient
  readonly device: string
  readonly welcome: Welcome
  readonly address: number
}

/** Makes device names, device connections and event sockets for the tests of one protocol. */
export class DeviceClients {
  readonly protocol: Protocol
  readonly #serverOf: () => StartedServer
  readonly #open: (LinkClient | EventClient)[] = []
  #names = 0

  constructor(protocol: Protocol, serverOf: () => StartedServer) {
    this.protocol = protocol
    this.#serverOf = serverOf
  }

  get server(): StartedServer {
    return this.#serverOf()
  }

  newName(): string {
    return `${this.protocol.toUpperCase()}-${++this.#names}`
  }

  async link(): Promise<LinkClient> {
    const link = await LinkClient.open(this.server, this.protocol)
    this.#open.push(link)
    return link
  }

  async events(query?: Readonly<Record<string, string | number>>): Promise<EventClient> {
    const client = await EventClient.open(this.server, query)
    this.#open.push(client)
    return client
  }

  /** Connects a new device in session `boot-1`. */
  async sensor(
    given: { link?: LinkClient; services?: readonly Declaration[]; hello?: Fields } = {},
  ): Promise<ConnectedSensor> {
    const link = given.link ?? (await this.link())
    const device = this.newName()
    const welcome = await link.hello(device, given.services ?? sensor, { session: 'boot-1', ...given.hello })
    return { link, device, welcome, address: welcome.flakeAddress }
  }

  /** The answer of `GET …/properties`, by decimal propId. */
  async properties(device: string, service: string): Promise<Readonly<Record<string, Fields>>> {
    const { status, json } = await this.server.get(`/devices/${device}/services/${service}/properties`)
    if (status !== 200) throw new Error(`properties of ${device}: ${status}`)
    return json as Readonly<Record<string, Fields>>
  }

  /** Disconnects all clients. It runs after each test. */
  cutAll(): void {
    for (const client of this.#open.splice(0)) client.cut()
  }
}
