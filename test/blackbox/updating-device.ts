import { createHash } from 'node:crypto'
import { expect } from 'vitest'
import { comesTo } from '#test/blackbox/firmware-calls'
import { type Fields, LinkClient, type Protocol } from '#test/blackbox/link-client'
import type { StartedServer } from '#test/blackbox/started-server'

/** A FIRMWARE, as a device hears it. */
export interface Offer {
  readonly id: string
  readonly firmware: string
  readonly hardware?: string
  readonly index: number
  readonly url: string
  readonly sha256: string
  readonly size: number
}

export interface SaidFirmware {
  readonly firmware: string
  readonly hardware?: string
  readonly index: number
}

interface DeviceManner {
  readonly protocol?: Protocol
  readonly project?: string
  readonly firmwares?: readonly SaidFirmware[]
}

/** One device on a link of its own, which does by hand what devices do about firmware. Contract 7. */
export class UpdatingDevice {
  readonly name: string
  firmwares: readonly SaidFirmware[]
  readonly #manner: DeviceManner
  #link: LinkClient | undefined
  #address = 0
  #boots = 1

  constructor(name: string, manner: DeviceManner = {}) {
    this.name = name
    this.#manner = manner
    this.firmwares = manner.firmwares ?? [{ firmware: '1.0.0', index: 0 }]
  }

  static async linked(server: StartedServer, name: string, manner: DeviceManner = {}): Promise<UpdatingDevice> {
    const device = new UpdatingDevice(name, manner)
    await device.link(server)
    return device
  }

  get client(): LinkClient {
    if (!this.#link) throw new Error(`${this.name} is on no link`)
    return this.#link
  }

  /** On a new link, of the session that it is in. */
  async link(server: StartedServer): Promise<void> {
    const { protocol = 'json' } = this.#manner
    this.cut()
    this.#link = new LinkClient(server, protocol)
    await this.#link.opened()
    await this.hello()
  }

  async hello(): Promise<void> {
    const { project = 'boiler' } = this.#manner
    const said = { project, session: `boot-${this.#boots}` }
    const welcome = await this.client.hello(this.name, [], { ...said, firmwares: this.firmwares })
    this.#address = welcome.flakeAddress
  }

  /** Starts anew, with another version of one firmware if one is given. */
  async reboot(server: StartedServer, firmware?: string, index = 0): Promise<void> {
    this.#boots++
    if (firmware !== undefined)
      this.firmwares = this.firmwares.map((said) => (said.index === index ? { ...said, firmware } : said))
    await this.link(server)
  }

  async offered(like: Fields = {}): Promise<Offer> {
    return (await this.client.take({ type: 'FIRMWARE', flakeAddress: this.#address, ...like })) as unknown as Offer
  }

  /** Offers that came and were not looked at. */
  get offers(): readonly Offer[] {
    return this.client.waiting.filter((frame) => (frame as Fields).type === 'FIRMWARE') as unknown as Offer[]
  }

  says({ id }: Pick<Offer, 'id'>, status: string, more: Fields = {}): void {
    this.client.send({ type: 'FIRMWARE_STATUS', flakeAddress: this.#address, id, status, ...more })
  }

  cut(): void {
    this.#link?.cut()
    this.#link = undefined
  }

  /** From being offered to coming back with it. */
  async installs(server: StartedServer, offer: Offer): Promise<void> {
    for (const status of ['STARTED', 'DOWNLOADING', 'INSTALLING', 'INSTALLED']) this.says(offer, status)
    // A link that is cut may take with it what was said on it last.
    await comesTo(server, this.name, 'REBOOTING', offer.index)
    await this.reboot(server, offer.firmware, offer.index)
  }
}

/** Reads an image from its address as devices do that go on where they were: in ranges, and checks what came. */
export async function download({ url, size, sha256 }: Offer, pieceBytes = size): Promise<Buffer> {
  const pieces: Buffer[] = []
  for (let from = 0; from < size; from += pieceBytes) pieces.push(await downloadPart(url, from, pieceBytes, size))
  const image = Buffer.concat(pieces)
  expect([image.length, createHash('sha256').update(image).digest('hex')]).toEqual([size, sha256])
  return image
}

async function downloadPart(url: string, from: number, bytes: number, size: number): Promise<Buffer> {
  const to = Math.min(from + bytes, size)
  const response = await fetch(url, { headers: { range: `bytes=${from}-${to - 1}` } })
  expect([response.status, response.headers.get('content-range')]).toEqual([206, `bytes ${from}-${to - 1}/${size}`])
  return Buffer.from(await response.arrayBuffer())
}
