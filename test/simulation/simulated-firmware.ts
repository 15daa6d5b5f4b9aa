import { createHash } from 'node:crypto'
import type { SeededRandom } from '#bench/random'

/** One firmware of a device, as in its HELLO. */
export interface SaidFirmware {
  readonly firmware: string
  readonly hardware?: string
  readonly index: number
}

/** Contract 7, FIRMWARE. */
export interface FirmwareMessage {
  readonly id: string
  readonly firmware: string
  readonly index: number
  readonly url: string
  readonly sha256: string
  readonly size: number
}

/** The bytes of an image; or the image does not exist, or is not available now. */
export type Piece = { readonly text: string } | 'gone' | 'not now'

/** The device of the firmware. */
interface Place {
  says(message: object): void
  /** The device reboots with a new session. */
  restarts(): void
  download(order: Order, from: number, to: number): Promise<Piece>
  /** A firmware is offered; `isNew`: under an id not received before. */
  offered(order: Order, isNew: boolean): void
  accuse(what: string): void
}

const manners = ['late', 'refuses', 'fails', 'refuses', 'fails', 'refuses', 'says nothing', 'dies', 'wrong'] as const
type Manner = 'well' | (typeof manners)[number]

/** Contract 7, FIRMWARE_STATUS. */
interface Said {
  readonly status: string
  readonly progress?: number
  readonly message?: string
}

/** An offer by its id, and the progress of its installation. */
export interface Order extends Omit<FirmwareMessage, 'url'> {
  url: string
  /** The firmware at the time of the offer. */
  readonly from: string
  manner: Manner
  step: 'heard' | 'downloading' | 'whole' | 'installing' | 'installed' | 'over'
  said: Said | undefined
  image: string
  /** The device lost power during the installation; it continues at the next offer. */
  isPaused: boolean
  isAsking: boolean
}

const installing: ReadonlySet<Order['step']> = new Set(['installing', 'installed'])

/**
 * The firmware of a device: depending on its behavior it installs, delays its answer, refuses, fails, does not answer, dies
 * during the installation, or returns with its old firmware. It remembers every id and installs none twice. Contract 7.
 */
export class DeviceFirmware {
  readonly project: string | undefined
  firmwares: readonly SaidFirmware[]
  /** Whether it accepts firmware automatically. */
  isAccepting: boolean
  /** All offers, by id. */
  readonly orders = new Map<string, Order>()
  readonly #random: SeededRandom
  readonly #place: Place
  #manner: Manner = 'well'
  #current: Order | undefined
  #generation = 0

  constructor(random: SeededRandom, place: Place) {
    this.#random = random
    this.#place = place
    this.project = random.next() < 0.9 ? 'boiler' : undefined
    this.isAccepting = random.next() < 0.75
    const hardware = random.next() < 0.5 ? { hardware: 'h1' } : {}
    const first = { firmware: '1.1.0', ...hardware, index: 0 }
    this.firmwares = random.next() < 0.75 ? [first] : [first, { firmware: '1.2.0', index: 1 }]
    this.#changeManner()
  }

  get declaration(): object {
    const { project, firmwares, isAccepting } = this
    return { ...(project !== undefined && { project }), firmwares, ...(!isAccepting && { autoUpdate: false }) }
  }

  /** No automatic step is left. */
  get isSettled(): boolean {
    const order = this.#current
    if (!order || order.step === 'over' || order.isPaused) return true
    return order.manner === 'says nothing' || order.manner === 'dies'
  }

  /** It is stuck in an installation until it reboots. */
  get isDead(): boolean {
    const order = this.#current
    return order?.step !== 'over' && order?.manner === 'dies'
  }

  /** The device sends HELLO. */
  begins(): void {
    this.#generation++
    if (this.#current) this.#current.isAsking = false
    if (this.#random.next() < 0.2) this.#changeManner()
  }

  welcomed(): void {
    const order = this.#current
    // The last status may have been lost.
    if (order && order.step !== 'over' && !order.isPaused && order.said) this.#repeat(order)
  }

  /** The device reboots, with the new firmware if installed, otherwise with the old one. */
  boots(): void {
    const order = this.#current
    if (!order || order.step === 'over') return
    if (order.step !== 'installed') {
      order.isPaused = true
      if (order.manner === 'dies') order.manner = 'well'
      return
    }
    order.step = 'over'
    if (order.manner === 'wrong') return
    const { index, firmware } = order
    this.firmwares = this.firmwares.map((said) => (said.index === index ? { ...said, firmware } : said))
  }

  hear(message: FirmwareMessage): void {
    const known = this.orders.get(message.id)
    if (known && textOf(known) !== textOf(message))
      this.#place.accuse(`is offered ${textOf(message)}, and was ${textOf(known)} under that id`)
    const order = known ?? this.#taken(message)
    order.url = message.url
    order.isPaused = false
    this.#current = order
    this.#place.offered(order, known === undefined)
    if (order.said) this.#repeat(order)
    else if (order.manner === 'refuses') this.#end(order, 'NOT_OK')
    else if (order.manner !== 'says nothing' && order.manner !== 'late') this.#start(order)
  }

  /** Continues the installation by one step. */
  proceed(): void {
    const order = this.#current
    if (!order || order.isAsking || this.isSettled) return
    if (order.step === 'heard') this.#start(order)
    else if (order.step === 'downloading') this.#download(order)
    else if (order.step === 'whole' && order.manner === 'fails') this.#end(order, 'FAILED')
    else if (order.step === 'whole') this.#say(order, 'installing', { status: 'INSTALLING' })
    else if (order.step === 'installing') this.#say(order, 'installed', { status: 'INSTALLED' })
    else this.#place.restarts()
  }

  /** Whether it ever reported the start of an installation. */
  get hasBegun(): boolean {
    return [...this.orders.values()].some(({ step, manner }) => step !== 'heard' && manner !== 'refuses')
  }

  /** Whether it ever refused, failed, or returned with another firmware. */
  get hasFailed(): boolean {
    return [...this.orders.values()].some(({ said, step }) => endings.has(said?.status ?? '') || step === 'over')
  }

  #taken({ id, firmware, index, url, sha256, size }: FirmwareMessage): Order {
    const from = this.firmwares.find((said) => said.index === index)?.firmware
    if (from === undefined) this.#place.accuse(`is offered a firmware for ${index}, and has no such index`)
    const order: Order = {
      ...{ id, firmware, index, url, sha256, size, from: from ?? '', manner: this.#manner },
      step: 'heard',
      ...{ said: undefined, image: '', isPaused: false, isAsking: false },
    }
    this.orders.set(id, order)
    return order
  }

  #start(order: Order): void {
    this.#say(order, 'downloading', { status: 'STARTED' })
  }

  #download(order: Order): void {
    const generation = this.#generation
    const from = order.image.length
    order.isAsking = true
    this.#place.download(order, from, Math.min(order.size, from + Math.ceil(order.size / 2))).then(
      (piece) => {
        if (generation !== this.#generation || order !== this.#current) return
        order.isAsking = false
        if (piece === 'gone') this.#end(order, 'FAILED')
        else if (piece !== 'not now') this.#came(order, piece.text)
      },
      (error) => this.#place.accuse(`cannot read ${order.url}: ${error}`),
    )
  }

  #came(order: Order, text: string): void {
    order.image += text
    const { image, size, sha256 } = order
    const isWhole = image.length >= size
    if (isWhole && createHash('sha256').update(image).digest('hex') !== sha256)
      this.#place.accuse(`reads ${JSON.stringify(image)}, which is not ${sha256}`)
    const progress = Math.floor((100 * image.length) / size)
    this.#say(order, isWhole ? 'whole' : 'downloading', { status: 'DOWNLOADING', progress })
  }

  #end(order: Order, status: string): void {
    this.#say(order, 'over', { status, message: `not ${order.firmware}` })
  }

  #say(order: Order, step: Order['step'], said: Said): void {
    if (installing.has(step) && order.step === step) this.#place.accuse(`installs ${order.firmware} twice`)
    order.step = step
    order.said = said
    this.#repeat(order)
  }

  #repeat({ id, said }: Order): void {
    this.#place.says({ type: 'FIRMWARE_STATUS', id, ...said })
  }

  #changeManner(): void {
    const tried = this.#random.next()
    this.#manner = tried < 0.5 ? 'well' : (manners[this.#random.below(manners.length)] ?? 'well')
  }
}

const endings: ReadonlySet<string> = new Set(['NOT_OK', 'FAILED'])

function textOf({ firmware, index, sha256, size }: Omit<FirmwareMessage, 'url'>): string {
  return `${firmware} ${index} ${sha256} ${size}`
}
