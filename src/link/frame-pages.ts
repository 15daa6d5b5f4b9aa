/** Some hundred HELLOs. */
const pageBytes = 64 * 1024
/** Kept for the next burst, together 4 MiB. */
const freePagesMax = 64

/** A piece of memory that many frames lie in, one behind the other. */
interface Page {
  readonly bytes: Buffer
  used: number
  count: number
}

/** A copy of a frame; `page` is undefined when it lies in memory of its own. */
export interface KeptFrame {
  readonly data: Uint8Array
  readonly page: Page | undefined
}

/**
 * Where frames lie while they wait: in pages that are used again once all their frames are gone. Each in memory of its
 * own, or in Node's pool, waits for a collection of the old space after it was taken, for by then it has outlived two of
 * the young one: a hundred thousand HELLOs left 40 MB of holes to the allocator.
 */
export class FramePages {
  readonly #free: Page[] = []
  #page: Page | undefined

  /** Valid until it is given to `release`. */
  keep(frame: Uint8Array): KeptFrame {
    const { byteLength } = frame
    if (byteLength > pageBytes / 4) return { data: new Uint8Array(frame), page: undefined }
    let page = this.#page
    if (!page || page.used + byteLength > pageBytes) {
      page = this.#free.pop() ?? { bytes: Buffer.allocUnsafeSlow(pageBytes), used: 0, count: 0 }
      this.#page = page
    }
    const data = page.bytes.subarray(page.used, page.used + byteLength)
    data.set(frame)
    page.used += byteLength
    page.count++
    return { data, page }
  }

  /** Once for each kept frame. */
  release({ page }: KeptFrame): void {
    if (!page || --page.count > 0) return
    page.used = 0
    if (page !== this.#page && this.#free.length < freePagesMax) this.#free.push(page)
  }
}
