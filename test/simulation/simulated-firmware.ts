import { createHash } from 'node:crypto'
import type { SeededRandom } from '#bench/random'

/** One firmware of a device, as in its HELLO. */
export interface DeclaredFirmware {
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

interface Place {
  sends(message: object): void
  /** The device reboots with a new session. */
  restarts(): void
  download(order: Order, from: number, to: number): Promise<Piece>
  /** A firmware is offered; `isNew`: under an id not received before. */
  offered(order: Order, isNew: boolean): void
  report(what: string): void
}

const behaviors = ['late', 'refuses', 'fails', 'refuses', 'fails', 'refuses', 'is silent', 'dies', 'wrong'] as const
type Behavior = 'well' | (typeof behaviors)[number]

/** Contract 7, FIRMWARE_STATUS. */
interface StatusReport {
  readonly status: string
  readonly progress?: number
  readonly message?: string
}

/** An offer by its id, and the progress of its installation. */
export interface Order extends Omit<FirmwareMessage, 'url'> {
  url: string
  /** The firmware at the time of the offer. */
  readonly from: string
  behavior: Behavior
  step: 'received' | 'downloading' | 'whole' | 'installing' | 'installed' | 'over'
  lastStatus: StatusReport | undefined
  image: string
  /** The device rebooted before the firmware was installed; it continues at the next offer. */
  isPaused: boolean
  isDownloading: boolean
}

const installing: ReadonlySet<Order['step']> = new Set(['installing', 'installed'])

/**
 * The firmware of a device: depending on its behavior it installs, delays its answer, refuses, fails, does not answer, dies
 * during the installation, or returns with its old firmware. It remembers every id and installs none twice. Contract 7.
 */
export class DeviceFirmware {
  readonly project: string | undefined
  firmwares: readonly DeclaredFirmware[]
  /** Whether it accepts firmware automatically. */
  isAccepting: boolean
  readonly orders = new Map<string, Order>()
  readonly #random: SeededRandom
  readonly #place: Place
  #behavior: Behavior = 'well'
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
    this.#changeBehavior()
  }

  get declaration(): object {
    const { project, firmwares, isAccepting } = this
    return { ...(project !== undefined && { project }), firmwares, ...(!isAccepting && { autoUpdate: false }) }
  }

  /** No automatic step is left. */
  get isSettled(): boolean {
    const order = this.#current
    if (!order || order.step === 'over' || order.isPaused) return true
    return order.behavior === 'is silent' || order.behavior === 'dies'
  }

  /** The device is stuck in an installation until it reboots. */
  get isDead(): boolean {
    const order = this.#current
    return order?.step !== 'over' && order?.behavior === 'dies'
  }

  /** The device sends HELLO. */
  begins(): void {
    this.#generation++
    if (this.#current) this.#current.isDownloading = false
    if (this.#random.next() < 0.2) this.#changeBehavior()
  }

  welcomed(): void {
    const order = this.#current
    // The last status may have been lost.
    if (order && order.step !== 'over' && !order.isPaused && order.lastStatus) this.#repeat(order)
  }

  /** The device reboots, with the new firmware if installed, otherwise with the old one. */
  boots(): void {
    const order = this.#current
    if (!order || order.step === 'over') return
    if (order.step !== 'installed') {
      order.isPaused = true
      if (order.behavior === 'dies') order.behavior = 'well'
      return
    }
    order.step = 'over'
    if (order.behavior === 'wrong') return
    const { index, firmware } = order
    this.firmwares = this.firmwares.map((each) => (each.index === index ? { ...each, firmware } : each))
  }

  received(message: FirmwareMessage): void {
    const known = this.orders.get(message.id)
    if (known && textOf(known) !== textOf(message))
      this.#place.report(`is offered ${textOf(message)}, and was ${textOf(known)} under that id`)
    const order = known ?? this.#taken(message)
    order.url = message.url
    order.isPaused = false
    this.#current = order
    this.#place.offered(order, known === undefined)
    if (order.lastStatus) this.#repeat(order)
    else if (order.behavior === 'refuses') this.#end(order, 'NOT_OK')
    else if (order.behavior !== 'is silent' && order.behavior !== 'late') this.#start(order)
  }

  /** Continues the installation by one step. */
  proceed(): void {
    const order = this.#current
    if (!order || order.isDownloading || this.isSettled) return
    if (order.step === 'received') this.#start(order)
    else if (order.step === 'downloading') this.#download(order)
    else if (order.step === 'whole' && order.behavior === 'fails') this.#end(order, 'FAILED')
    else if (order.step === 'whole') this.#sendStatus(order, 'installing', { status: 'INSTALLING' })
    else if (order.step === 'installing') this.#sendStatus(order, 'installed', { status: 'INSTALLED' })
    else this.#place.restarts()
  }

  /** Whether it ever reported the start of an installation. */
  get hasBegun(): boolean {
    return [...this.orders.values()].some(({ step, behavior }) => step !== 'received' && behavior !== 'refuses')
  }

  /** Whether it ever refused, failed, or rebooted after an installation, perhaps with its old firmware. */
  get hasFailed(): boolean {
    return [...this.orders.values()].some(
      ({ lastStatus, step }) => endings.has(lastStatus?.status ?? '') || step === 'over',
    )
  }

  #taken({ id, firmware, index, url, sha256, size }: FirmwareMessage): Order {
    const from = this.firmwares.find((each) => each.index === index)?.firmware
    if (from === undefined) this.#place.report(`is offered a firmware for ${index}, and has no such index`)
    const order: Order = {
      ...{ id, firmware, index, url, sha256, size, from: from ?? '', behavior: this.#behavior },
      step: 'received',
      ...{ lastStatus: undefined, image: '', isPaused: false, isDownloading: false },
    }
    this.orders.set(id, order)
    return order
  }

  #start(order: Order): void {
    this.#sendStatus(order, 'downloading', { status: 'STARTED' })
  }

  #download(order: Order): void {
    const generation = this.#generation
    const from = order.image.length
    order.isDownloading = true
    this.#place.download(order, from, Math.min(order.size, from + Math.ceil(order.size / 2))).then(
      (piece) => {
        if (generation !== this.#generation || order !== this.#current) return
        order.isDownloading = false
        if (piece === 'gone') this.#end(order, 'FAILED')
        else if (piece !== 'not now') this.#came(order, piece.text)
      },
      (error) => this.#place.report(`cannot read ${order.url}: ${error}`),
    )
  }

  #came(order: Order, text: string): void {
    order.image += text
    const { image, size, sha256 } = order
    const isWhole = image.length >= size
    if (isWhole && createHash('sha256').update(image).digest('hex') !== sha256)
      this.#place.report(`reads ${JSON.stringify(image)}, which is not ${sha256}`)
    const progress = Math.floor((100 * image.length) / size)
    this.#sendStatus(order, isWhole ? 'whole' : 'downloading', { status: 'DOWNLOADING', progress })
  }

  #end(order: Order, status: string): void {
    this.#sendStatus(order, 'over', { status, message: `not ${order.firmware}` })
  }

  #sendStatus(order: Order, step: Order['step'], lastStatus: StatusReport): void {
    if (installing.has(step) && order.step === step) this.#place.report(`installs ${order.firmware} twice`)
    order.step = step
    order.lastStatus = lastStatus
    this.#repeat(order)
  }

  #repeat({ id, lastStatus }: Order): void {
    this.#place.sends({ type: 'FIRMWARE_STATUS', id, ...lastStatus })
  }

  #changeBehavior(): void {
    const tried = this.#random.next()
    this.#behavior = tried < 0.5 ? 'well' : (behaviors[this.#random.below(behaviors.length)] ?? 'well')
  }
}

const endings: ReadonlySet<string> = new Set(['NOT_OK', 'FAILED'])

function textOf({ firmware, index, sha256, size }: Omit<FirmwareMessage, 'url'>): string {
  return `${firmware} ${index} ${sha256} ${size}`
}
