import WebSocket from 'ws'
import { BadAnswer, ImageDownload, NotToBeHad } from '#bench/fleet/image-download'
import { authorizationHeader } from '#bench/harness/identity'
import { slotsOf } from '#bench/proof/clerks/named'
import type { SeededRandom } from '#bench/random'

/** Devices on links of their own that take the firmware they are offered, and come back with it. */

export const updatingProject = 'updating'
export const updatingVersions = ['1.0.0', '1.1.0'] as const
/** One who takes firmware by hand alone refuses one of so many. */
const refusedOneOf = 6
export const refusal = 'not now'
const backoffMs = { low: 50, high: 300 }
/** Between two things that a device says of an update. */
const stepMs = { low: 5, high: 80 }
const welcomeMsMax = 15_000
const backMsMax = 20_000

type Fields = Readonly<Record<string, unknown>>

/** What all devices of an office share. */
interface Place {
  /** `http://host:port` */
  readonly url: string
  readonly authorization: string
  readonly random: SeededRandom
}

/** One FIRMWARE. What is there by then of its image is kept, as on a device that loses its power. */
interface Order {
  readonly id: string
  readonly firmware: string
  readonly download: ImageDownload
  /** A new one each time it is offered. */
  url: string
  said: Fields | undefined
}

/** `asked`: takes firmware by hand alone; `led`: by itself, too. */
export class UpdatingDevices {
  readonly asked: readonly string[] = slotsOf('ASKED', 2)
  readonly led: readonly string[] = slotsOf('LED', 2)
  readonly #devices: ReadonlyMap<string, UpdatingDevice>

  constructor(place: Place) {
    this.#devices = new Map(
      [...this.asked, ...this.led].map((name) => [name, new UpdatingDevice(name, this.led.includes(name), place)]),
    )
  }

  of(identifier: string): UpdatingDevice | undefined {
    return this.#devices.get(identifier)
  }

  start(): void {
    for (const device of this.#devices.values()) device.connect()
  }

  /** All are there. @throws when they are not welcome, or were offered what must not be offered */
  async back(): Promise<void> {
    const devices = [...this.#devices.values()]
    for (const end = performance.now() + backMsMax; devices.some(({ isWelcome }) => !isWelcome); await pass(20)) {
      if (performance.now() > end) throw new Error(`devices are not back on their links within ${backMsMax / 1000} s`)
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
  /** To the last HELLO that it said. */
  isWelcome = false
  /** On this link, that were not answered yet. */
  #hellos = 0
  readonly #isAutoUpdated: boolean
  readonly #place: Place
  readonly #orders = new Map<string, Order>()
  #current: Order | undefined
  #boots = 1
  #flakeAddress = 0
  #socket: WebSocket | undefined
  #impatience: NodeJS.Timeout | undefined
  #isOver = false

  constructor(identifier: string, isAutoUpdated: boolean, place: Place) {
    this.identifier = identifier
    this.#isAutoUpdated = isAutoUpdated
    this.#place = place
  }

  /** Until it ends, again and again. */
  connect(): void {
    if (this.#isOver) return
    const { url, authorization } = this.#place
    const socket = new WebSocket(`${url.replace(/^http/, 'ws')}/api/v1/link`, ['link.v1.json'], {
      headers: authorizationHeader(authorization),
      perMessageDeflate: false,
      handshakeTimeout: welcomeMsMax,
    })
    this.#socket = socket
    socket.on('open', () => {
      this.#hellos = 0
      this.#sayHello()
    })
    socket.on('message', (data: Buffer) => this.#hear(JSON.parse(data.toString()) as Fields))
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

  #sayHello(): void {
    this.isWelcome = false
    this.#hellos++
    clearTimeout(this.#impatience)
    this.#impatience = setTimeout(() => this.#socket?.terminate(), welcomeMsMax)
    this.#say({
      type: 'HELLO',
      deviceIdentifier: this.identifier,
      session: `boot-${this.#boots}`,
      project: updatingProject,
      firmwares: [{ firmware: this.version, index: 0 }],
      autoUpdate: this.#isAutoUpdated,
      services: [],
    })
  }

  #hear(message: Fields): void {
    switch (message.type) {
      case 'WELCOME': {
        this.#flakeAddress = Number(message.flakeAddress)
        if (--this.#hellos > 0) return
        this.isWelcome = true
        clearTimeout(this.#impatience)
        // A link may take with it what was said on it last.
        this.#repeat(this.#current)
        return
      }
      case 'FIRMWARE':
        this.#offered(message)
        return
      case 'ERROR':
        if (message.code !== 'OVERLOADED' && message.code !== 'STORAGE')
          this.faults.push(`${this.identifier} is answered ${JSON.stringify(message)}`)
    }
  }

  #offered({ id, firmware, url, sha256, size }: Fields): void {
    const known = this.#orders.get(String(id))
    // Between its HELLO and its WELCOME the server may not have heard yet that it is there.
    if (this.isWelcome && firmware === this.version)
      this.faults.push(`${this.identifier} has ${firmware}, and is offered it ${known ? 'again' : 'anew'}: ${id}`)
    if (known) {
      known.url = String(url)
      this.#repeat(known)
      return
    }
    const image = { sha256: String(sha256), size: Number(size) }
    const download = new ImageDownload(image, () => pass(this.#between(backoffMs)))
    const order: Order = { id: String(id), firmware: String(firmware), download, url: String(url), said: undefined }
    this.#orders.set(order.id, order)
    this.#current = order
    if (!this.#isAutoUpdated && this.#place.random.below(refusedOneOf) === 0) {
      order.said = { type: 'FIRMWARE_STATUS', id: order.id, status: 'NOT_OK', message: refusal }
      this.#repeat(order)
      return
    }
    void this.#carryOut(order).catch((error: Error) => this.faults.push(`${this.identifier}: ${error.message}`))
  }

  async #carryOut(order: Order): Promise<void> {
    const { download, firmware, id } = order
    const { size } = download.image
    const statuses: readonly (() => Fields | Promise<Fields>)[] = [
      () => ({ status: 'STARTED' }),
      async () => {
        await this.#take(order, Math.ceil(size / 2))
        return { status: 'DOWNLOADING', progress: 50 }
      },
      async () => {
        await this.#take(order, size)
        if (!download.isRight()) throw new Error(`${firmware} is not what was announced`)
        return { status: 'DOWNLOADING', progress: 100 }
      },
      () => ({ status: 'INSTALLING' }),
      () => ({ status: 'INSTALLED' }),
    ]
    for (const next of statuses) {
      const said = await next()
      // Something else was offered meanwhile, or it is over.
      if (this.#current !== order || this.#isOver) return
      order.said = { type: 'FIRMWARE_STATUS', id, ...said }
      this.#repeat(order)
      await pass(this.#between(stepMs))
    }
    if (this.#current !== order || this.#isOver) return
    // It starts anew.
    this.#current = undefined
    order.said = undefined
    this.version = firmware
    this.#boots++
    this.#sayHello()
  }

  /** As often as the server is away. */
  async #take(order: Order, to: number): Promise<void> {
    while (!this.#isOver) {
      try {
        await order.download.take(() => order.url, to)
        return
      } catch (error) {
        if (error instanceof BadAnswer || !(error instanceof NotToBeHad)) throw error
      }
    }
  }

  #repeat(order: Order | undefined): void {
    if (this.isWelcome && order?.said) this.#say({ flakeAddress: this.#flakeAddress, ...order.said })
  }

  #say(message: Fields): void {
    if (this.#socket?.readyState === WebSocket.OPEN) this.#socket.send(JSON.stringify(message))
  }

  #between({ low, high }: { readonly low: number; readonly high: number }): number {
    return this.#place.random.between(low, high)
  }
}

function pass(ms: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, ms))
}
