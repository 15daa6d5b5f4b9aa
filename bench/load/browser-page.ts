import { existsSync } from 'node:fs'
import { type Browser, chromium, type Page } from 'playwright-core'

const executablePath = '/usr/bin/chromium'

/** Why pages cannot be measured here; undefined where they can. */
export const noBrowser = existsSync(executablePath)
  ? undefined
  : `skipped: there is no ${executablePath} to open a page with (apt-get install chromium)`

export interface PageUse {
  readonly seconds: number
  readonly frames: number
  /** More than 50 ms between two frames: a visible stutter. */
  readonly longFrames: number
  readonly longestMs: number
  /** Of the process that runs the page. */
  readonly pageCpuSeconds: number
  /** Of all processes of the browser, including that one. */
  readonly browserCpuSeconds: number
  readonly heapBytes: number
}

interface ProcessTime {
  readonly type: string
  readonly cpuTime: number
}

export class BrowserPage {
  readonly #browser: Browser
  readonly page: Page

  private constructor(browser: Browser, page: Page) {
    this.#browser = browser
    this.page = page
  }

  static async open(address: string): Promise<BrowserPage> {
    const args = [
      '--no-sandbox',
      '--disable-gpu',
      '--disable-quic',
      '--no-first-run',
      '--disable-background-networking',
    ]
    const browser = await chromium.launch({ executablePath, args })
    try {
      const page = await browser.newPage({ viewport: { width: 1280, height: 800 } })
      await page.goto(address)
      return new BrowserPage(browser, page)
    } catch (error) {
      await browser.close()
      throw error
    }
  }

  async close(): Promise<void> {
    await this.#browser.close()
  }

  async measure(ms: number): Promise<PageUse> {
    const session = await this.#browser.newBrowserCDPSession()
    const cpu = async () => (await session.send('SystemInfo.getProcessInfo')).processInfo as readonly ProcessTime[]
    const before = await cpu()
    const drawn = (await this.page.evaluate(`(${countFrames})(${ms})`)) as Pick<
      PageUse,
      'seconds' | 'frames' | 'longFrames' | 'longestMs'
    >
    const after = await cpu()
    const used = (isMeant: (process: ProcessTime) => boolean) =>
      secondsOf(after.filter(isMeant)) - secondsOf(before.filter(isMeant))
    return {
      ...drawn,
      pageCpuSeconds: used(({ type }) => type === 'renderer'),
      browserCpuSeconds: used(() => true),
      heapBytes: await this.#heapBytes(),
    }
  }

  /** Milliseconds until the page is idle, after it has processed all received events. */
  async untilIdle(): Promise<number> {
    const began = performance.now()
    await this.page.evaluate('new Promise((resolve) => requestIdleCallback(resolve))')
    return performance.now() - began
  }

  async #heapBytes(): Promise<number> {
    const session = await this.page.context().newCDPSession(this.page)
    await session.send('HeapProfiler.collectGarbage')
    await session.send('Performance.enable')
    const { metrics } = await session.send('Performance.getMetrics')
    return metrics.find(({ name }) => name === 'JSHeapUsedSize')?.value ?? 0
  }
}

function secondsOf(processes: readonly ProcessTime[]): number {
  return processes.reduce((sum, { cpuTime }) => sum + cpuTime, 0)
}

/** Runs in the page, which has other types than this program: observes every frame for some milliseconds. */
const countFrames = `(ms) => new Promise((resolve) => {
  const began = performance.now()
  let last = began
  let frames = 0
  let longFrames = 0
  let longestMs = 0
  const countFrame = () => {
    const now = performance.now()
    frames += 1
    longestMs = Math.max(longestMs, now - last)
    if (now - last > 50) longFrames += 1
    last = now
    if (now - began < ms) requestAnimationFrame(countFrame)
    else resolve({ seconds: (now - began) / 1000, frames, longFrames, longestMs })
  }
  requestAnimationFrame(countFrame)
})`
