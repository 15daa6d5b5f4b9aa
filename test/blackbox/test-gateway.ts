import { type Fields, LinkClient } from '#test/blackbox/link-client'
import { climate, temperature } from '#test/blackbox/sensor'
import type { StartedServer } from '#test/blackbox/started-server'
import { until } from '#test/blackbox/until'

const services = [{ serviceIdentifier: climate, properties: [{ propId: temperature, type: 'FLOAT' }] }]

/**
 * Devices that outlive servers and remember what they did: an id they know is answered and not done again. They are all on
 * one link at a time.
 */
export class TestGateway {
  readonly devices: readonly string[]
  /** What each did, by id, in order. */
  readonly done = new Map<string, string[]>()
  /** WRITEs that came, those that came again among them. */
  heard = 0
  /** Devices that do what they are asked, and cannot say so. */
  isSilent = false
  #link: LinkClient | undefined

  constructor(devices: readonly string[]) {
    this.devices = devices
  }

  get didCount(): number {
    let count = 0
    for (const ids of this.done.values()) count += ids.length
    return count
  }

  /** Links all of them, on a server that has just been started or not. */
  async link(server: StartedServer, headers: Readonly<Record<string, string>> = {}): Promise<void> {
    this.cut()
    const link = new LinkClient(server, 'json', ['link.v1.json'], headers)
    this.#link = link
    await link.opened()
    const names = new Map<number, string>()
    link.socket.on('message', (data: Buffer) => {
      const { type, flakeAddress, deviceIdentifier, id, updates } = JSON.parse(data.toString())
      if (type === 'WELCOME') names.set(flakeAddress, deviceIdentifier)
      if (type === 'WRITE') this.#answer(link, flakeAddress, names.get(flakeAddress) ?? '', id, updates)
    })
    link.send(...this.devices.map((deviceIdentifier) => ({ type: 'HELLO', deviceIdentifier, services })))
    await until(
      () => names.size === this.devices.length,
      () => `${names.size} of ${this.devices.length} welcomed`,
    )
  }

  cut(): void {
    this.#link?.cut()
    this.#link = undefined
  }

  #answer(link: LinkClient, flakeAddress: number, device: string, id: string, updates: readonly Fields[]): void {
    this.heard++
    const ids = this.done.get(device) ?? []
    this.done.set(device, ids)
    if (!ids.includes(id)) ids.push(id)
    const results = updates.map(({ propId }) => ({ propId, status: 'OK' }))
    if (!this.isSilent && link.closing === undefined) link.send({ type: 'RESULT', flakeAddress, id, results })
  }
}
