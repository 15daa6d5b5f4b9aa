import { createHash } from 'node:crypto'
import { expect } from 'vitest'
import { type Fields, LinkClient } from '#test/blackbox/link-client'
import type { Answer, StartedServer } from '#test/blackbox/started-server'
import { until } from '#test/blackbox/until'

/** A FIRMWARE message. */
interface Offer {
  readonly id: string
  readonly firmware: string
}

/** A device with a connection. The test sends each of its messages about firmware. Contract 7. */
export class UpdatingDevice {
  readonly name: string
  readonly #project: string
  #firmware = '1.0.0'
  #link: LinkClient | undefined
  #address = 0
  #boots = 0

  private constructor(name: string, project: string) {
    this.name = name
    this.#project = project
  }

  static async linked(server: StartedServer, name: string, { project }: { project: string }): Promise<UpdatingDevice> {
    const device = new UpdatingDevice(name, project)
    await device.#boot(server)
    return device
  }

  async takeOffer(like: Fields = {}): Promise<Offer> {
    return (await this.#client.take({ type: 'FIRMWARE', flakeAddress: this.#address, ...like })) as unknown as Offer
  }

  sendStatus({ id }: Pick<Offer, 'id'>, status: string, more: Fields = {}): void {
    this.#client.send({ type: 'FIRMWARE_STATUS', flakeAddress: this.#address, id, status, ...more })
  }

  /** Installs an offered firmware and restarts with it. */
  async install(server: StartedServer, offer: Offer): Promise<void> {
    for (const status of ['STARTED', 'DOWNLOADING', 'INSTALLING', 'INSTALLED']) this.sendStatus(offer, status)
    // A connection may lose its last messages if it is cut at once.
    await untilUpdate(server, this.name, 'REBOOTING')
    this.cut()
    this.#firmware = offer.firmware
    await this.#boot(server)
  }

  cut(): void {
    this.#link?.cut()
    this.#link = undefined
  }

  async #boot(server: StartedServer): Promise<void> {
    this.#link = await LinkClient.open(server, 'json')
    const firmwares = [{ firmware: this.#firmware, index: 0 }]
    const fields = { project: this.#project, session: `boot-${++this.#boots}`, firmwares }
    this.#address = (await this.#link.hello(this.name, [], fields)).flakeAddress
  }

  get #client(): LinkClient {
    if (!this.#link) throw new Error(`${this.name} is not connected`)
    return this.#link
  }
}

/** Requests for firmware. Contract 6. */

/** An image that depends on the name. */
export function imageOf(name: string, bytes = 1_000): Buffer {
  const start = createHash('sha256').update(name).digest()
  return Buffer.alloc(bytes, start)
}

export function sha256Of(bytes: Uint8Array): string {
  return createHash('sha256').update(bytes).digest('hex')
}

/** Creates the release `project/firmware` with its own image. */
export async function release(server: StartedServer, name: string): Promise<void> {
  const body = new Uint8Array(imageOf(name))
  const url = `${server.base}/updates/projects/${name.replace('/', '/releases/')}`
  expect((await fetch(url, { method: 'PUT', body })).status).toBe(201)
}

export function put(server: StartedServer, path: string, body: unknown): Promise<Answer> {
  return server.ask(`/updates/projects/${path}`, { method: 'PUT', body })
}

/** Waits until the update of the first firmware has this status. */
export async function untilUpdate(server: StartedServer, device: string, expected: string): Promise<void> {
  let seen: string | undefined
  await until(
    async () => {
      const { status, json } = await server.get(`/updates/${device}?depth=2`)
      expect(status).toBe(200)
      seen = (json as { firmwares: { update?: { status: string } }[] }).firmwares[0]?.update?.status
      return seen === expected
    },
    () => `${device} to be ${expected}, it is ${seen}`,
  )
}
