import { createHash, type Hash } from 'node:crypto'
import type { SimulatedDevice } from '#bench/fleet/device'
import type { AnsweringLink } from '#bench/fleet/writes'

/**
 * How a device takes FIRMWARE. `well`: downloads and installs it, restarts and reports it. `slow`: the same, with
 * longer pauses. `fail`: cannot install it. `refuse`: refuses it. `vanish`: loses its power during the download, and
 * continues when it is offered the same firmware again. `wrong`: reports the old version afterwards.
 */
const updateBehaviours = ['well', 'slow', 'fail', 'refuse', 'vanish', 'wrong'] as const
type UpdateBehaviour = (typeof updateBehaviours)[number]

/** `mixed`: devices behave in all of these ways. `none`: all devices refuse. */
export const updateModes = [...updateBehaviours, 'mixed', 'none'] as const
export type UpdateMode = (typeof updateModes)[number]

const firstVersion = '1.4.2'

interface FirmwareStatus {
  readonly status: 'STARTED' | 'NOT_OK' | 'DOWNLOADING' | 'INSTALLING' | 'INSTALLED' | 'FAILED'
  readonly progress?: number
  readonly message?: string
}

interface Order {
  readonly id: string
  readonly firmware: string
  /** The fields that must be the same when the offer is repeated. */
  readonly text: string
  readonly size: number
  readonly sha256: string
  /** The hash and the number of the downloaded bytes. */
  readonly hash: Hash
  at: number
  /** Differs in each offer. */
  url: string
  reported: FirmwareStatus | undefined
  /** The session in which the device sent the last status; undefined: not sent yet. */
  reportedIn: { readonly session: string } | undefined
  isUnderWay: boolean
  hasVanished: boolean
}

/**
 * The firmware of one device, and the offers that it received. The device remembers all ids, and installs no offer
 * twice.
 */
export interface DeviceFirmware {
  readonly behaviour: UpdateBehaviour
  readonly orders: Map<string, Order>
  version: string
  current: Order | undefined
}

/** The firmware of the device with this index. Every kind of device has every behaviour. */
export function firmwareOf(mode: UpdateMode, index: number): DeviceFirmware {
  const turn = (index + Math.floor(index / updateBehaviours.length)) % updateBehaviours.length
  const chosen = mode === 'mixed' ? (updateBehaviours[turn] as UpdateBehaviour) : mode
  const behaviour = chosen === 'none' ? 'refuse' : chosen
  return { behaviour, orders: new Map(), version: firstVersion, current: undefined }
}

/**
 * The number of ranges of a download, unless they would be too short or too long. A device pauses between two ranges,
 * and one that vanishes does so after a range.
 */
const ranges = { quick: 4, slow: 16 }
/** Even with 64 downloads at once, a busy server sends the largest range in 16 s. */
const rangeBytes = { min: 2 ** 14, max: 2 ** 22 }
const restMs = { quick: { low: 0, high: 20 }, slow: { low: 100, high: 1_000 } }
const installMs = { quick: { low: 50, high: 300 }, slow: { low: 500, high: 2_000 } }
const restartMs = { quick: { low: 100, high: 500 }, slow: { low: 1_000, high: 5_000 } }

/**
 * Receives the FIRMWAREs of a link (contract 7) and follows the device's behaviour. The server repeats an id when it is
 * not sure that the message arrived, or when the device restarted: the device answers with its progress. A fault: a
 * repeated id with another image, an offer without valid fields, or an image that is not the announced one.
 */
export class UpdateAnswers {
  readonly #link: AnsweringLink
  readonly #requests = new Set<AbortController>()
  #isStopped = false

  constructor(link: AnsweringLink) {
    this.#link = link
  }

  receive(device: SimulatedDevice, message: Readonly<Record<string, unknown>>): void {
    const { counts } = this.#link
    const { firmware } = device
    counts.updates.received++
    const fresh = orderOf(message)
    if (!fresh) {
      counts.fault(`${device.identifier}: a FIRMWARE without a valid offer: ${JSON.stringify(message).slice(0, 300)}`)
      return
    }
    const known = firmware.orders.get(fresh.id)
    if (known) counts.updates.repeated++
    if (known && known.text !== fresh.text) {
      counts.fault(`${device.identifier}: FIRMWARE ${fresh.id} was repeated with another image`)
      return
    }
    const order = known ?? fresh
    order.url = fresh.url
    firmware.orders.set(order.id, order)
    firmware.current = order
    if (isOver(order) || order.isUnderWay) this.#repeat(device, order)
    else if (firmware.behaviour === 'refuse') {
      counts.updates.refused++
      this.#send(device, order, { status: 'NOT_OK', message: 'not now' })
    } else void this.#carryOut(device, order)
  }

  /**
   * The last report may have been lost, so it is sent again. A device that restarted since has reported the result by
   * its HELLO, unless it was offline.
   */
  welcomed(device: SimulatedDevice): void {
    const { current } = device.firmware
    if (!current) return
    const hasRestarted = current.reportedIn !== undefined && current.reportedIn.session !== device.session
    if (current.isUnderWay || (isOver(current) && !hasRestarted)) this.#repeat(device, current)
  }

  /** Gives up all downloads and installations. */
  stop(): void {
    this.#isStopped = true
    for (const request of this.#requests) request.abort()
  }

  async #carryOut(device: SimulatedDevice, order: Order): Promise<void> {
    const { counts } = this.#link
    order.isUnderWay = true
    if (order.hasVanished) counts.updates.resumed++
    try {
      if (!order.reported) this.#send(device, order, { status: 'STARTED' })
      if ((await this.#download(device, order)) && (await this.#install(device, order))) {
        await this.#begin(device, order)
      }
    } catch (error) {
      if (error instanceof BadAnswer) counts.fault(`${device.identifier}: ${order.url}: ${error.message}`)
      else if (!(error instanceof ImageUnavailable)) throw error
      counts.updates.unavailable++
      this.#send(device, order, { status: 'FAILED', message: error.message })
    } finally {
      order.isUnderWay = false
    }
  }

  /** Returns false when the download stops for now. */
  async #download(device: SimulatedDevice, order: Order): Promise<boolean> {
    const { counts } = this.#link
    const { behaviour } = device.firmware
    const { size } = order
    const part = Math.ceil(size / ranges[paceOf(behaviour)])
    const length = Math.min(Math.max(rangeBytes.min, part), rangeBytes.max)
    while (order.at < size) {
      const before = order.at
      await this.#take(order, Math.min(size, before + length))
      counts.updates.bytes += order.at - before
      if (this.#isPassed(device, order)) return false
      this.#send(device, order, { status: 'DOWNLOADING', progress: Math.floor((order.at * 100) / size) })
      if (behaviour === 'vanish' && !order.hasVanished && order.at * 2 >= size) {
        order.hasVanished = true
        counts.updates.vanished++
        this.#link.restart(device, this.#between(restartMs.slow), true)
        return false
      }
      if (order.at < size) await this.#pause(restMs[paceOf(behaviour)])
    }
    if (order.hash.copy().digest('hex') === order.sha256) return true
    counts.fault(`${device.identifier}: ${order.firmware} is not the announced image: ${order.url}`)
    throw new ImageUnavailable('the image is not the announced one')
  }

  /** Downloads up to byte `to`, with as many requests as needed, until `stop`. @throws BadAnswer, ImageUnavailable */
  async #take(order: Order, to: number): Promise<void> {
    for (let tries = 1; order.at < to && !this.#isStopped; tries++) {
      const request = new AbortController()
      this.#requests.add(request)
      const taken = await rangeOf(order, to, request).finally(() => this.#requests.delete(request))
      if (taken instanceof Uint8Array) {
        order.hash.update(taken)
        order.at += taken.length
      } else if (tries === triesMax) throw new ImageUnavailable(taken.why)
      else await this.#pause({ low: taken.afterMs + retryMs.low, high: taken.afterMs + retryMs.high })
    }
  }

  async #install(device: SimulatedDevice, order: Order): Promise<boolean> {
    const { counts } = this.#link
    const { behaviour } = device.firmware
    for (let progress = 0; progress < 100; progress += 25) {
      this.#send(device, order, { status: 'INSTALLING', progress })
      await this.#pause(installMs[paceOf(behaviour)])
      if (this.#isPassed(device, order)) return false
      if (behaviour !== 'fail') continue
      counts.updates.failed++
      this.#send(device, order, { status: 'FAILED', message: 'it does not fit' })
      return false
    }
    counts.updates.installed++
    this.#send(device, order, { status: 'INSTALLED' })
    return true
  }

  async #begin(device: SimulatedDevice, order: Order): Promise<void> {
    const { counts, restart } = this.#link
    const { firmware } = device
    if (firmware.behaviour === 'wrong') counts.updates.wrong++
    else {
      firmware.version = order.firmware
      counts.updates.updated++
    }
    restart(device, this.#between(restartMs[paceOf(firmware.behaviour)]), false)
  }

  /** Whether the device no longer carries out this order. */
  #isPassed({ firmware }: SimulatedDevice, order: Order): boolean {
    return this.#isStopped || firmware.current !== order
  }

  #send(device: SimulatedDevice, order: Order, reported: FirmwareStatus): void {
    order.reported = reported
    order.reportedIn = undefined
    this.#repeat(device, order)
  }

  /** Sends the last status again. An offline device sends it when it is back. */
  #repeat(device: SimulatedDevice, order: Order): void {
    const { flakeAddress, isWelcomed, session } = device
    const { id, reported } = order
    if (!isWelcomed || !reported) return
    order.reportedIn = { session }
    this.#link.send({ type: 'FIRMWARE_STATUS', flakeAddress, id, ...reported })
  }

  #between({ low, high }: { readonly low: number; readonly high: number }): number {
    return this.#link.random.between(low, high)
  }

  #pause(ms: { readonly low: number; readonly high: number }): Promise<void> {
    return new Promise((resolve) => setTimeout(resolve, this.#between(ms)).unref())
  }
}

const endings: ReadonlySet<FirmwareStatus['status']> = new Set(['NOT_OK', 'INSTALLED', 'FAILED'])

const isOver = ({ reported }: Order): boolean => reported !== undefined && endings.has(reported.status)

const paceOf = (behaviour: UpdateBehaviour): 'quick' | 'slow' => (behaviour === 'slow' ? 'slow' : 'quick')

const idCharactersMax = 36

/** The order in an offer; undefined for an invalid offer. */
function orderOf(offer: Readonly<Record<string, unknown>>): Order | undefined {
  const { id, firmware, hardware, index, url, sha256, size } = offer
  const isNamed = typeof id === 'string' && id.length <= idCharactersMax && typeof firmware === 'string'
  const isThere = typeof url === 'string' && /^https?:\/\//.test(url)
  const isImage = typeof sha256 === 'string' && /^[0-9a-f]{64}$/.test(sha256) && typeof size === 'number' && size > 0
  if (!isNamed || !isThere || !isImage || index !== 0) return undefined
  return {
    ...{ id, firmware },
    text: JSON.stringify([firmware, hardware, index, sha256, size]),
    ...{ size, sha256, hash: createHash('sha256'), at: 0, url },
    reported: undefined,
    reportedIn: undefined,
    isUnderWay: false,
    hasVanished: false,
  }
}

/** After this time a range is requested again. The server lets downloads wait for up to 30 s. Contract 6. */
const rangeMsMax = 60_000
const retryMs = { low: 200, high: 2_000 }
/** The most attempts for a range. */
const triesMax = 20
const secondsWaitedMax = 30

/** The downloads of all devices of this process. */
export const simultaneousDownloads = { now: 0, most: 0 }

/** An answer of the server broke the contract. */
class BadAnswer extends Error {}

class ImageUnavailable extends Error {}

interface RetryReason {
  readonly why: string
  readonly afterMs: number
}

/**
 * Downloads the next bytes up to `to`, or the rest of the image if the server sends all of it (RFC 9110 §14). Resolves
 * with a reason if they must be requested again, or if `request` was aborted. @throws BadAnswer, ImageUnavailable
 */
async function rangeOf(
  { url, at, size }: Order,
  to: number,
  request: AbortController,
): Promise<Uint8Array | RetryReason> {
  // `AbortSignal.any` with `AbortSignal.timeout` may lose the timeout in Node 20.
  const timer = setTimeout(() => request.abort(new Error('it took too long')), rangeMsMax).unref()
  const downloads = simultaneousDownloads
  downloads.most = Math.max(downloads.most, ++downloads.now)
  try {
    const headers = { range: `bytes=${at}-${to - 1}` }
    const answer = await fetch(url, { headers, redirect: 'manual', signal: request.signal })
    const { status } = answer
    const bytes = new Uint8Array(await answer.arrayBuffer())
    if (status === 429 || status === 503) {
      const afterSeconds = Math.min(Number(answer.headers.get('retry-after') ?? 1) || 1, secondsWaitedMax)
      return { why: `it was answered ${status}`, afterMs: afterSeconds * 1000 }
    }
    const isWhole = status === 200
    if (!isWhole && status !== 206) throw new ImageUnavailable(`it was answered ${status}`)
    const wanted = isWhole ? String(size) : `bytes ${at}-${to - 1}/${size}`
    const found = answer.headers.get(isWhole ? 'content-length' : 'content-range')
    if (found !== wanted) throw new BadAnswer(`${status} with ${found} instead of ${wanted}`)
    return bytes.subarray(isWhole ? at : 0)
  } catch (error) {
    if (error instanceof BadAnswer || error instanceof ImageUnavailable) throw error
    return { why: String(error), afterMs: 0 }
  } finally {
    clearTimeout(timer)
    downloads.now--
  }
}
