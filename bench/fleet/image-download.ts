import { createHash } from 'node:crypto'
import { get as getHttp, type IncomingMessage } from 'node:http'
import { get as getHttps } from 'node:https'

/** Without a byte for so long a range is asked for anew; longer than one waits for a place. Contract 6. */
const silenceMsMax = 40_000
const retryMs = { low: 200, high: 2_000 }
/** Of one range: breaks, and answers that it is too early. */
const triesMax = 20
const secondsWaitedMax = 30

export interface Image {
  readonly sha256: string
  readonly size: number
}

interface Again {
  readonly why: string
  readonly afterMs: number
}

/** What a server answered that another one would have answered otherwise. */
export class BadAnswer extends Error {}

export class NotToBeHad extends Error {}

/** An image that comes in ranges, over breaks. What came is kept, as on a device that loses its power. */
export class ImageDownload {
  readonly image: Image
  at = 0
  readonly #hash = createHash('sha256')
  readonly #pause: (low: number, high: number) => Promise<void>

  /** `pause`: waits for some milliseconds between the two. */
  constructor(image: Image, pause: (low: number, high: number) => Promise<void>) {
    this.image = image
    this.#pause = pause
  }

  get isWhole(): boolean {
    return this.at === this.image.size
  }

  /** Whether what came is what was announced. Once, of a whole one. */
  isRight(): boolean {
    return this.#hash.digest('hex') === this.image.sha256
  }

  /**
   * Takes what is missing before byte `to`, as often as it breaks off. `urlNow`: where it is to be had by then.
   * @throws BadAnswer, NotToBeHad
   */
  async take(urlNow: () => string, to: number): Promise<void> {
    for (let tries = 1; this.at < to; tries++) {
      const before = this.at
      const again = await this.#takeOnce(urlNow(), to)
      if (this.at > before) tries = 1
      if (!again) continue
      if (tries >= triesMax) throw new NotToBeHad(again.why)
      await this.#pause(again.afterMs + retryMs.low, again.afterMs + retryMs.high)
    }
  }

  #takeOnce(url: string, to: number): Promise<Again | undefined> {
    const from = this.at
    const ask = url.startsWith('https:') ? getHttps : getHttp
    const headers = { range: `bytes=${from}-${to - 1}` }
    return new Promise((resolve, reject) => {
      const brokeOff = (why: string) => resolve({ why, afterMs: 0 })
      const asked = ask(url, { agent: false, timeout: silenceMsMax, headers }, (answer) => {
        answer.on('error', (error) => brokeOff(error.message))
        answer.on('close', () => brokeOff('it broke off'))
        const { statusCode = 0 } = answer
        if (statusCode === 429 || statusCode === 503) {
          answer.resume()
          const afterSeconds = Math.min(Number(answer.headers['retry-after'] ?? 1) || 1, secondsWaitedMax)
          resolve({ why: `it was answered ${statusCode}`, afterMs: afterSeconds * 1000 })
          return
        }
        try {
          this.#hear(answer, from, to)
        } catch (error) {
          asked.destroy()
          reject(error)
          return
        }
        answer.on('end', () => resolve(undefined))
      })
      asked.on('timeout', () => asked.destroy(new Error('it was silent')))
      asked.on('error', (error) => brokeOff(error.message))
    })
  }

  /** RFC 9110 §14: 206 with what was asked for, or 200 with the whole, of which the beginning is there already. */
  #hear(answer: IncomingMessage, from: number, to: number): void {
    const { statusCode, headers } = answer
    const { size } = this.image
    const isWhole = statusCode === 200
    if (!isWhole && statusCode !== 206) throw new NotToBeHad(`it was answered ${statusCode}`)
    const wanted = isWhole ? String(size) : `bytes ${from}-${to - 1}/${size}`
    const said = isWhole ? headers['content-length'] : headers['content-range']
    if (said !== wanted) throw new BadAnswer(`${statusCode} with ${said} instead of ${wanted}`)
    let skip = isWhole ? from : 0
    answer.on('data', (bytes: Buffer) => {
      const fresh = bytes.subarray(skip)
      skip = Math.max(0, skip - bytes.length)
      this.at += fresh.length
      if (this.at <= size) this.#hash.update(fresh)
    })
  }
}
