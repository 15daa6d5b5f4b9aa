import type { FleetCounts } from '#bench/fleet/counts'
import type { SimulatedDevice } from '#bench/fleet/device'
import { BadAnswer, ImageDownload, NotToBeHad } from '#bench/fleet/image-download'
import type { SeededRandom } from '#bench/random'

/**
 * How a device takes FIRMWARE. `well`: downloads and installs it, starts anew and comes back with it. `slow`: the same,
 * with pauses. `fail`: cannot install it. `refuse`: does not take it. `vanish`: loses its power in the middle of the
 * download, and goes on from there when it is offered the same again. `wrong`: comes back with what it had before.
 */
export const updateWays = ['well', 'slow', 'fail', 'refuse', 'vanish', 'wrong'] as const
export type UpdateWay = (typeof updateWays)[number]

/** `mixed`: each device in one of the ways. `none`: no device takes any. */
export const updateManners = [...updateWays, 'mixed', 'none'] as const
export type UpdateManner = (typeof updateManners)[number]

const firstVersion = '1.4.2'

interface FirmwareStatus {
  readonly status: 'STARTED' | 'NOT_OK' | 'DOWNLOADING' | 'INSTALLING' | 'INSTALLED' | 'FAILED'
  readonly progress?: number
  readonly message?: string
}

interface Order {
  readonly id: string
  readonly firmware: string
  /** All that must be the same when it comes again. */
  readonly text: string
  readonly download: ImageDownload
  /** A new one each time it comes. */
  url: string
  said: FirmwareStatus | undefined
  /** Of the device, in which that left it last; undefined: not yet. */
  saidIn: { readonly session: string | undefined } | undefined
  isUnderWay: boolean
  hasVanished: boolean
}

/** What one device runs, and was offered. It remembers every id for its whole life, and installs none twice. */
export class DeviceFirmware {
  readonly way: UpdateWay
  readonly orders = new Map<string, Order>()
  version = firstVersion
  current: Order | undefined

  constructor(way: UpdateWay) {
    this.way = way
  }
}

/** The firmware of the device with this index. Every kind of device has every way. */
export function firmwareOf(manner: UpdateManner, index: number): DeviceFirmware {
  if (manner === 'none') return new DeviceFirmware('refuse')
  const turn = (index + Math.floor(index / updateWays.length)) % updateWays.length
  return new DeviceFirmware(manner === 'mixed' ? (updateWays[turn] as UpdateWay) : manner)
}

export interface UpdateAnswersParts {
  readonly counts: FleetCounts
  readonly random: SeededRandom
  say(message: object): void
  /** The device ends, and begins anew with another session, so much later. `isSudden`: without a word. */
  restart(device: SimulatedDevice, afterMs: number, isSudden: boolean): void
}

/** Ranges of a download; between two of them a slow device rests, and one that vanishes does so. */
const ranges = { quick: 4, slow: 16 }
const rangeBytesMin = 16 * 1024
const restMs = { quick: { low: 0, high: 20 }, slow: { low: 100, high: 1_000 } }
const installMs = { quick: { low: 50, high: 300 }, slow: { low: 500, high: 2_000 } }
const restartMs = { quick: { low: 100, high: 500 }, slow: { low: 1_000, high: 5_000 } }

/**
 * Hears the FIRMWAREs of a link (contract 7), and does what the devices' ways are. The same id comes again when the server
 * is not sure that it was heard, or when the device began anew: it is answered by how far it is. One that means another
 * image by then, or what is not an image at all, is a fault, as is an image that is not what was announced.
 */
export class UpdateAnswers {
  readonly #parts: UpdateAnswersParts

  constructor(parts: UpdateAnswersParts) {
    this.#parts = parts
  }

  hear(device: SimulatedDevice, message: Readonly<Record<string, unknown>>): void {
    const { counts } = this.#parts
    const { firmware } = device
    counts.updates.heard++
    const fresh = orderOf(message, (low, high) => this.#pause({ low, high }))
    if (!fresh) {
      counts.fault(`${device.identifier}: a FIRMWARE that offers nothing: ${JSON.stringify(message).slice(0, 300)}`)
      return
    }
    const known = firmware.orders.get(fresh.id)
    if (known) counts.updates.again++
    if (known && known.text !== fresh.text) {
      counts.fault(`${device.identifier}: FIRMWARE ${fresh.id} came again and means another image`)
      return
    }
    const order = known ?? fresh
    order.url = fresh.url
    firmware.orders.set(order.id, order)
    firmware.current = order
    if (isOver(order) || order.isUnderWay) this.#repeat(device, order)
    else if (firmware.way === 'refuse') {
      counts.updates.refused++
      this.#say(device, order, { status: 'NOT_OK', message: 'not now' })
    } else void this.#carryOut(device, order)
  }

  /**
   * What it said last may not have been heard, the end of an update as little as its course. Whoever began anew since has
   * said by that how it ended, unless there was nobody to say it to.
   */
  welcomed(device: SimulatedDevice): void {
    const { current } = device.firmware
    if (!current) return
    const hasBegunAnew = current.saidIn !== undefined && current.saidIn.session !== device.session
    if (current.isUnderWay || (isOver(current) && !hasBegunAnew)) this.#repeat(device, current)
  }

  async #carryOut(device: SimulatedDevice, order: Order): Promise<void> {
    const { counts } = this.#parts
    order.isUnderWay = true
    if (order.hasVanished) counts.updates.resumed++
    try {
      if (!order.said) this.#say(device, order, { status: 'STARTED' })
      if ((await this.#download(device, order)) && (await this.#install(device, order))) {
        await this.#begin(device, order)
      }
    } catch (error) {
      if (error instanceof BadAnswer) counts.fault(`${device.identifier}: ${order.url}: ${error.message}`)
      else if (!(error instanceof NotToBeHad)) throw error
      counts.updates.notHad++
      this.#say(device, order, { status: 'FAILED', message: error.message })
    } finally {
      order.isUnderWay = false
    }
  }

  /** False: that was all for now. */
  async #download(device: SimulatedDevice, order: Order): Promise<boolean> {
    const { counts } = this.#parts
    const { way } = device.firmware
    const { download } = order
    const { size } = download.image
    const rangeBytes = Math.max(rangeBytesMin, Math.ceil(size / ranges[paceOf(way)]))
    while (!download.isWhole) {
      const before = download.at
      await download.take(() => order.url, Math.min(size, download.at + rangeBytes))
      counts.updates.bytes += download.at - before
      if (this.#isPassed(device, order)) return false
      this.#say(device, order, { status: 'DOWNLOADING', progress: Math.floor((download.at * 100) / size) })
      if (way === 'vanish' && !order.hasVanished && download.at * 2 >= size) {
        order.hasVanished = true
        counts.updates.vanished++
        this.#parts.restart(device, this.#between(restartMs.slow), true)
        return false
      }
      if (!download.isWhole) await this.#pause(restMs[paceOf(way)])
    }
    if (download.isRight()) return true
    counts.fault(`${device.identifier}: ${order.firmware} is not what was announced: ${order.url}`)
    throw new NotToBeHad('it is not what was announced')
  }

  async #install(device: SimulatedDevice, order: Order): Promise<boolean> {
    const { counts } = this.#parts
    const { way } = device.firmware
    for (let progress = 0; progress < 100; progress += 25) {
      this.#say(device, order, { status: 'INSTALLING', progress })
      await this.#pause(installMs[paceOf(way)])
      if (this.#isPassed(device, order)) return false
      if (way !== 'fail') continue
      counts.updates.failed++
      this.#say(device, order, { status: 'FAILED', message: 'it does not fit' })
      return false
    }
    counts.updates.installed++
    this.#say(device, order, { status: 'INSTALLED' })
    return true
  }

  async #begin(device: SimulatedDevice, order: Order): Promise<void> {
    const { counts, restart } = this.#parts
    const { firmware } = device
    if (firmware.way === 'wrong') counts.updates.wrong++
    else {
      firmware.version = order.firmware
      counts.updates.updated++
    }
    restart(device, this.#between(restartMs[paceOf(firmware.way)]), false)
  }

  #isPassed({ firmware }: SimulatedDevice, order: Order): boolean {
    return firmware.current !== order
  }

  #say(device: SimulatedDevice, order: Order, said: FirmwareStatus): void {
    order.said = said
    order.saidIn = undefined
    this.#repeat(device, order)
  }

  /** Whoever is away by now says it when it is back. */
  #repeat(device: SimulatedDevice, order: Order): void {
    const { flakeAddress, isWelcome, session } = device
    const { id, said } = order
    if (!isWelcome || !said) return
    order.saidIn = { session }
    this.#parts.say({ type: 'FIRMWARE_STATUS', flakeAddress, id, ...said })
  }

  #between({ low, high }: { readonly low: number; readonly high: number }): number {
    return this.#parts.random.between(low, high)
  }

  #pause(ms: { readonly low: number; readonly high: number }): Promise<void> {
    return new Promise((resolve) => setTimeout(resolve, this.#between(ms)).unref())
  }
}

const endings: ReadonlySet<FirmwareStatus['status']> = new Set(['NOT_OK', 'INSTALLED', 'FAILED'])

const isOver = ({ said }: Order): boolean => said !== undefined && endings.has(said.status)

const paceOf = (way: UpdateWay): 'quick' | 'slow' => (way === 'slow' ? 'slow' : 'quick')

const idCharactersMax = 36

/** What is offered; undefined when that cannot be carried out. */
function orderOf(
  { id, firmware, hardware, index, url, sha256, size }: Readonly<Record<string, unknown>>,
  pause: (low: number, high: number) => Promise<void>,
): Order | undefined {
  const isNamed = typeof id === 'string' && id.length <= idCharactersMax && typeof firmware === 'string'
  const isThere = typeof url === 'string' && /^https?:\/\//.test(url)
  const isImage = typeof sha256 === 'string' && /^[0-9a-f]{64}$/.test(sha256) && typeof size === 'number' && size > 0
  if (!isNamed || !isThere || !isImage || index !== 0) return undefined
  return {
    id,
    firmware,
    text: JSON.stringify([firmware, hardware, index, sha256, size]),
    download: new ImageDownload({ sha256, size }, pause),
    url,
    said: undefined,
    saidIn: undefined,
    isUnderWay: false,
    hasVanished: false,
  }
}
