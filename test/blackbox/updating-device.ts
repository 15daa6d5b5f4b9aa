import { untilUpdate } from '#test/blackbox/firmware-calls'
import { type Fields, LinkClient, type Protocol } from '#test/blackbox/link-client'
import type { StartedServer } from '#test/blackbox/started-server'

/** A FIRMWARE message. */
export interface Offer {
  readonly id: string
  readonly firmware: string
  readonly hardware?: string
  readonly index: number
  readonly url: string
  readonly sha256: string
  readonly size: number
}

export interface InstalledFirmware {
  readonly firmware: string
  readonly hardware?: string
  readonly index: number
}

interface DeviceOptions {
  readonly protocol?: Protocol
  readonly project?: string
  readonly firmwares?: readonly InstalledFirmware[]
}

/** One device with its own connection, whose test sends each message about firmware. Contract 7. */
export class UpdatingDevice {
  readonly name: string
  firmwares: readonly InstalledFirmware[]
  readonly #options: DeviceOptions
  #link: LinkClient | undefined
  #address = 0
  #boots = 1

  constructor(name: string, options: DeviceOptions = {}) {
    this.name = name
    this.#options = options
    this.firmwares = options.firmwares ?? [{ firmware: '1.0.0', index: 0 }]
  }

  static async linked(server: StartedServer, name: string, options: DeviceOptions = {}): Promise<UpdatingDevice> {
    const device = new UpdatingDevice(name, options)
    await device.link(server)
    return device
  }

  get client(): LinkClient {
    if (!this.#link) throw new Error(`${this.name} is not connected`)
    return this.#link
  }

  /** Connects again in the same session. */
  async link(server: StartedServer): Promise<void> {
    const { protocol = 'json' } = this.#options
    this.cut()
    this.#link = new LinkClient(server, protocol)
    await this.#link.opened()
    await this.hello()
  }

  async hello(): Promise<void> {
    const { project = 'boiler' } = this.#options
    const fields = { project, session: `boot-${this.#boots}` }
    const welcome = await this.client.hello(this.name, [], { ...fields, firmwares: this.firmwares })
    this.#address = welcome.flakeAddress
  }

  /** Restarts, with another version of one firmware if given. */
  async reboot(server: StartedServer, firmware?: string, index = 0): Promise<void> {
    this.#boots++
    if (firmware !== undefined)
      this.firmwares = this.firmwares.map((each) => (each.index === index ? { ...each, firmware } : each))
    await this.link(server)
  }

  async takeOffer(like: Fields = {}): Promise<Offer> {
    return (await this.client.take({ type: 'FIRMWARE', flakeAddress: this.#address, ...like })) as unknown as Offer
  }

  /** Received offers that were not taken. */
  get offers(): readonly Offer[] {
    return this.client.waiting.filter((frame) => (frame as Fields).type === 'FIRMWARE') as unknown as Offer[]
  }

  sendStatus({ id }: Pick<Offer, 'id'>, status: string, more: Fields = {}): void {
    this.client.send({ type: 'FIRMWARE_STATUS', flakeAddress: this.#address, id, status, ...more })
  }

  cut(): void {
    this.#link?.cut()
    this.#link = undefined
  }

  /** Installs an offered firmware and restarts with it. */
  async install(server: StartedServer, offer: Offer): Promise<void> {
    for (const status of ['STARTED', 'DOWNLOADING', 'INSTALLING', 'INSTALLED']) this.sendStatus(offer, status)
    // A connection that is cut may lose its last messages.
    await untilUpdate(server, this.name, 'REBOOTING', offer.index)
    await this.reboot(server, offer.firmware, offer.index)
  }
}
