import WebSocket from 'ws'
import { BadAnswer, ImageDownload, NotToBeHad } from '#bench/fleet/image-download'
import { authorizationHeader } from '#bench/harness/identity'
import { pass, slotsOf } from '#bench/proof/workloads/expected-state'
import type { SeededRandom } from '#bench/random'

/** Devices with connections of their own that install the offered firmware and connect again with it. */

export const updatingProject = 'updating'
export const updatingVersions = ['1.0.0', '1.1.0'] as const
/** One of how many offers a device refuses that takes firmware only on request. */
const refusedOneOf = 6
export const refusal = 'not now'
const backoffMs = { low: 50, high: 300 }
/** Between two statuses of an update. */
const stepMs = { low: 5, high: 80 }
const welcomeMsMax = 15_000
const backMsMax = 20_000

type Fields = Readonly<Record<string, unknown>>

interface Shared {
  /** `http://host:port` */
  readonly url: string
  readonly authorization: string
  readonly random: SeededRandom
}

/** One FIRMWARE. The downloaded part of its image outlives a loss of power. */
interface Offer {
  readonly id: string
  readonly firmware: string
  readonly download: ImageDownload
  /** A new one each time the firmware is offered. */
  url: string
  status: Fields | undefined
}

/** `asked`: they take firmware only on request. */
export class UpdatingDevices {
  readonly asked: readonly string[] = slotsOf('ASKED', 2)
  readonly led: readonly string[] = slotsOf('LED', 2)
  readonly #devices: ReadonlyMap<string, UpdatingDevice>

  constructor(shared: Shared) {
    this.#devices = new Map(
      [...this.asked, ...this.led].map((name) => [name, new UpdatingDevice(name, this.led.includes(name), shared)]),
    )
  }

  of(identifier: string): UpdatingDevice | undefined {
    return this.#devices.get(identifier)
  }

  start(): void {
    for (const device of this.#devices.values()) device.connect()
  }

  /** All are connected. @throws when they are not, or were offered what must not be offered */
  async back(): Promise<void> {
    const devices = [...this.#devices.values()]
    for (const end = performance.now() + backMsMax; devices.some(({ isWelcome }) => !isWelcome); await pass(20)) {
      if (performance.now() > end) throw new Error(`devices are not connected again within ${backMsMax / 1000} s`)
    }
    const faults = devices.flatMap((device) => device.faults.splice(0))
    if (faults.length > 0) throw new Error(faults.join('; '))
  }

  end(): void {
    for (const device of this.#devices.values()) device.end()
  }
}

export class UpdatingDevice {
  readonly identifier: string
  readonly faults: string[] = []
  version: string = updatingVersions[0]
  /** The last HELLO was answered. */
  isWelcome = false
  /** On this connection, without an answer. */
  #hellos = 0
  readonly #isAutoUpdated: boolean
  readonly #shared: Shared
  readonly #offers = new Map<string, Offer>()
  #current: Offer | undefined
  #boots = 1
  #flakeAddress = 0
  #socket: WebSocket | undefined
  #impatience: NodeJS.Timeout | undefined
  #isOver = false

  constructor(identifier: string, isAutoUpdated: boolean, shared: Shared) {
    this.identifier = identifier
    this.#isAutoUpdated = isAutoUpdated
    this.#shared = shared
  }

  /** Again and again, until `end`. */
  connect(): void {
    if (this.#isOver) return
    const { url, authorization } = this.#shared
    const socket = new WebSocket(`${url.replace(/^http/, 'ws')}/api/v1/link`, ['link.v1.json'], {
      headers: authorizationHeader(authorization),
      perMessageDeflate: false,
      handshakeTimeout: welcomeMsMax,
    })
    this.#socket = socket
    socket.on('open', () => {
      this.#hellos = 0
      this.#sendHello()
    })
    socket.on('message', (data: Buffer) => this.#receive(JSON.parse(data.toString()) as Fields))
    // 'close' follows.
    socket.on('error', () => {})
    socket.on('close', () => {
      clearTimeout(this.#impatience)
      this.isWelcome = false
      setTimeout(() => this.connect(), this.#between(backoffMs))
    })
  }

  end(): void {
    this.#isOver = true
    this.#socket?.terminate()
  }

  #sendHello(): void {
    this.isWelcome = false
    this.#hellos++
    clearTimeout(this.#impatience)
    this.#impatience = setTimeout(() => this.#socket?.terminate(), welcomeMsMax)
    this.#send({
      type: 'HELLO',
      deviceIdentifier: this.identifier,
      session: `boot-${this.#boots}`,
      project: updatingProject,
      firmwares: [{ firmware: this.version, index: 0 }],
      autoUpdate: this.#isAutoUpdated,
      services: [],
    })
  }

  #receive(message: Fields): void {
    switch (message.type) {
      case 'WELCOME': {
        this.#flakeAddress = Number(message.flakeAddress)
        if (--this.#hellos > 0) return
        this.isWelcome = true
        clearTimeout(this.#impatience)
        // The last status may be lost with the connection before.
        this.#sendStatus(this.#current)
        return
      }
      case 'FIRMWARE':
        this.#take(message)
        return
      case 'ERROR':
        if (message.code !== 'OVERLOADED' && message.code !== 'STORAGE')
          this.faults.push(`${this.identifier} is answered ${JSON.stringify(message)}`)
    }
  }

  #take({ id, firmware, url, sha256, size }: Fields): void {
    const known = this.#offers.get(String(id))
    // Between HELLO and WELCOME the server may not know the version yet.
    if (this.isWelcome && firmware === this.version)
      this.faults.push(`${this.identifier} has ${firmware}, and is offered it${known ? ' again' : ''}: ${id}`)
    if (known) {
      known.url = String(url)
      this.#sendStatus(known)
      return
    }
    const image = { sha256: String(sha256), size: Number(size) }
    const download = new ImageDownload(image, () => pass(this.#between(backoffMs)))
    const offer: Offer = { id: String(id), firmware: String(firmware), download, url: String(url), status: undefined }
    this.#offers.set(offer.id, offer)
    this.#current = offer
    if (!this.#isAutoUpdated && this.#shared.random.below(refusedOneOf) === 0) {
      offer.status = { type: 'FIRMWARE_STATUS', id: offer.id, status: 'NOT_OK', message: refusal }
      this.#sendStatus(offer)
      return
    }
    void this.#install(offer).catch((error: Error) => this.faults.push(`${this.identifier}: ${error.message}`))
  }

  async #install(offer: Offer): Promise<void> {
    const { download, firmware, id } = offer
    const { size } = download.image
    const isReplaced = () => this.#current !== offer || this.#isOver
    const statuses: readonly (() => Fields | Promise<Fields>)[] = [
      () => ({ status: 'STARTED' }),
      async () => {
        await this.#download(offer, Math.ceil(size / 2))
        return { status: 'DOWNLOADING', progress: 50 }
      },
      async () => {
        await this.#download(offer, size)
        if (!download.isRight()) throw new Error(`${firmware} is not the announced image`)
        return { status: 'DOWNLOADING', progress: 100 }
      },
      () => ({ status: 'INSTALLING' }),
      () => ({ status: 'INSTALLED' }),
    ]
    for (const next of statuses) {
      const status = await next()
      if (isReplaced()) return
      offer.status = { type: 'FIRMWARE_STATUS', id, ...status }
      this.#sendStatus(offer)
      await pass(this.#between(stepMs))
    }
    if (isReplaced()) return
    // The device restarts.
    this.#current = undefined
    offer.status = undefined
    this.version = firmware
    this.#boots++
    this.#sendHello()
  }

  /** However often the server is killed. */
  async #download(offer: Offer, to: number): Promise<void> {
    while (!this.#isOver) {
      try {
        await offer.download.take(() => offer.url, to)
        return
      } catch (error) {
        if (error instanceof BadAnswer || !(error instanceof NotToBeHad)) throw error
      }
    }
  }

  #sendStatus(offer: Offer | undefined): void {
    if (this.isWelcome && offer?.status) this.#send({ flakeAddress: this.#flakeAddress, ...offer.status })
  }

  #send(message: Fields): void {
    if (this.#socket?.readyState === WebSocket.OPEN) this.#socket.send(JSON.stringify(message))
  }

  #between({ low, high }: { readonly low: number; readonly high: number }): number {
    return this.#shared.random.between(low, high)
  }
}
