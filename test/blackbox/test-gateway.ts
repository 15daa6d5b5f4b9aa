import { type Fields, LinkClient } from '#test/blackbox/link-client'
import { climate, temperature } from '#test/blackbox/sensor'
import type { StartedServer } from '#test/blackbox/started-server'
import { until } from '#test/blackbox/until'

const services = [{ serviceIdentifier: climate, properties: [{ propId: temperature, type: 'FLOAT' }] }]

/**
 * Devices on one connection. They survive restarts of the server. They execute each WRITE once, and only answer again
 * if they know its id.
 */
export class TestGateway {
  readonly devices: readonly string[]
  /** The ids that each device executed, in order. */
  readonly executed = new Map<string, string[]>()
  /** The number of received WRITEs, including repeated ones. */
  writeCount = 0
  /** If true, the devices execute WRITEs without an answer. */
  isSilent = false
  #link: LinkClient | undefined

  constructor(devices: readonly string[]) {
    this.devices = devices
  }

  get executedCount(): number {
    let count = 0
    for (const ids of this.executed.values()) count += ids.length
    return count
  }

  /** Connects all devices to a server. */
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
    this.writeCount++
    const ids = this.executed.get(device) ?? []
    this.executed.set(device, ids)
    if (!ids.includes(id)) ids.push(id)
    const results = updates.map(({ propId }) => ({ propId, status: 'OK' }))
    if (!this.isSilent && link.closing === undefined) link.send({ type: 'RESULT', flakeAddress, id, results })
  }
}
