import { createHash } from 'node:crypto'

/** After this time the rest of a range is requested again. The server lets downloads wait for less. Contract 6. */
const rangeMsMax = 40_000
const retryMs = { low: 200, high: 2_000 }
/** The most attempts in a row without a new byte. */
const triesMax = 20
const secondsWaitedMax = 30

export interface Image {
  readonly sha256: string
  readonly size: number
}

interface RetryReason {
  readonly why: string
  readonly afterMs: number
}

/** The downloads of all devices of this process. */
export const simultaneousDownloads = { now: 0, most: 0 }

/** An answer of the server broke the contract. */
export class BadAnswer extends Error {}

export class ImageUnavailable extends Error {}

/** Downloads an image in ranges, and continues after interruptions and restarts of the device. */
export class ImageDownload {
  readonly image: Image
  at = 0
  readonly #hash = createHash('sha256')
  readonly #pause: (low: number, high: number) => Promise<void>

  /** `pause`: waits for a random number of milliseconds in this range. */
  constructor(image: Image, pause: (low: number, high: number) => Promise<void>) {
    this.image = image
    this.#pause = pause
  }

  get isWhole(): boolean {
    return this.at === this.image.size
  }

  /** Whether the whole image has the announced hash. May be called once. */
  isRight(): boolean {
    return this.#hash.digest('hex') === this.image.sha256
  }

  /**
   * Downloads up to byte `to`, with as many requests as needed. `urlNow`: the current URL. @throws BadAnswer,
   * ImageUnavailable
   */
  async take(urlNow: () => string, to: number): Promise<void> {
    for (let tries = 1; this.at < to; tries++) {
      const before = this.at
      const again = await this.#takeOnce(urlNow(), to)
      if (this.at > before) tries = 1
      if (!again) continue
      if (tries >= triesMax) throw new ImageUnavailable(again.why)
      await this.#pause(again.afterMs + retryMs.low, again.afterMs + retryMs.high)
    }
  }

  /** Resolves with the reason for another attempt, or with undefined after the last byte. */
  async #takeOnce(url: string, to: number): Promise<RetryReason | undefined> {
    const from = this.at
    const downloads = simultaneousDownloads
    downloads.most = Math.max(downloads.most, ++downloads.now)
    try {
      const headers = { range: `bytes=${from}-${to - 1}` }
      const answer = await fetch(url, { headers, redirect: 'manual', signal: AbortSignal.timeout(rangeMsMax) })
      if (answer.status === 429 || answer.status === 503) {
        await answer.body?.cancel()
        const afterSeconds = Math.min(Number(answer.headers.get('retry-after') ?? 1) || 1, secondsWaitedMax)
        return { why: `it was answered ${answer.status}`, afterMs: afterSeconds * 1000 }
      }
      await this.#read(answer, from, to)
      return undefined
    } catch (error) {
      if (error instanceof BadAnswer || error instanceof ImageUnavailable) throw error
      return { why: String(error), afterMs: 0 }
    } finally {
      downloads.now--
    }
  }

  /** RFC 9110 §14: 206 with the range, or 200 with the whole image, of which the known part is skipped. */
  async #read({ status, headers, body }: Response, from: number, to: number): Promise<void> {
    const { size } = this.image
    const isWhole = status === 200
    if (!isWhole && status !== 206) throw new ImageUnavailable(`it was answered ${status}`)
    const wanted = isWhole ? String(size) : `bytes ${from}-${to - 1}/${size}`
    const found = headers.get(isWhole ? 'content-length' : 'content-range')
    if (found !== wanted) throw new BadAnswer(`${status} with ${found} instead of ${wanted}`)
    let skip = isWhole ? from : 0
    for await (const bytes of body ?? []) {
      const fresh = bytes.subarray(skip)
      skip = Math.max(0, skip - bytes.length)
      this.at += fresh.length
      if (this.at <= size) this.#hash.update(fresh)
    }
  }
}
