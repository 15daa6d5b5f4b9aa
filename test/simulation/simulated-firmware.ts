import { createHash } from 'node:crypto'
import type { SeededRandom } from '#bench/random'

/** One firmware of a device, as it says it in its HELLO. */
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

/** Bytes of an image; or there is none, or none can be had now. */
export type Piece = { readonly text: string } | 'gone' | 'not now'

/** Where it sits. */
interface Place {
  says(message: object): void
  /** It ends, and begins anew with another session. */
  restarts(): void
  download(order: Order, from: number, to: number): Promise<Piece>
  /** It is offered something; `isNew`: under an id that it did not hear before. */
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

/** What a device was offered under one id, and how far it is with it. */
export interface Order extends Omit<FirmwareMessage, 'url'> {
  url: string
  /** What it had then. */
  readonly from: string
  manner: Manner
  step: 'heard' | 'downloading' | 'whole' | 'installing' | 'installed' | 'over'
  said: Said | undefined
  image: string
  /** It lost its power on the way: it goes on when it is offered again. */
  isPaused: boolean
  isAsking: boolean
}

const installing: ReadonlySet<Order['step']> = new Set(['installing', 'installed'])

/**
 * The part of a device that takes firmware: by its manner it installs it, puts its answer off, refuses, fails, says nothing,
 * dies on the way, or comes back with what it had. It keeps every id it ever heard, and installs none twice. Contract 7.
 */
export class DeviceFirmware {
  readonly project: string | undefined
  firmwares: readonly SaidFirmware[]
  /** Whether it takes firmware by itself. */
  isAccepting: boolean
  /** All that it was ever offered, by id. */
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

  /** There is nothing that it would do by itself. */
  get isSettled(): boolean {
    const order = this.#current
    if (!order || order.step === 'over' || order.isPaused) return true
    return order.manner === 'says nothing' || order.manner === 'dies'
  }

  /** It is in the middle of something, and nothing comes of it unless it begins anew. */
  get isDead(): boolean {
    const order = this.#current
    return order?.step !== 'over' && order?.manner === 'dies'
  }

  /** It says HELLO. */
  begins(): void {
    this.#generation++
    if (this.#current) this.#current.isAsking = false
    if (this.#random.next() < 0.2) this.#changeManner()
  }

  welcomed(): void {
    const order = this.#current
    // What it said last may have been lost.
    if (order && order.step !== 'over' && !order.isPaused && order.said) this.#repeat(order)
  }

  /** It begins anew: with what it had installed, or what it had. */
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

  /** Goes on with what it is at, one step. */
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

  /** Whether it ever said that it begins with anything. */
  get hasBegun(): boolean {
    return [...this.orders.values()].some(({ step, manner }) => step !== 'heard' && manner !== 'refuses')
  }

  /** Whether it ever refused, or failed, or came back with something else. */
  get hasFailed(): boolean {
    return [...this.orders.values()].some(({ said, step }) => endings.has(said?.status ?? '') || step === 'over')
  }

  #taken({ id, firmware, index, url, sha256, size }: FirmwareMessage): Order {
    const from = this.firmwares.find((said) => said.index === index)?.firmware
    if (from === undefined) this.#place.accuse(`is offered a firmware for ${index}, and has none there`)
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
      (error) => this.#place.accuse(`can't read ${order.url}: ${error}`),
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
