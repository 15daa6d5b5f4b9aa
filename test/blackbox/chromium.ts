import { existsSync } from 'node:fs'
import { type Browser, chromium } from 'playwright-core'
import { afterAll, beforeAll, beforeEach } from 'vitest'

/** The path of Chromium in Debian. */
const executablePath = '/usr/bin/chromium'

/** The reason to skip tests; undefined if Chromium is installed. */
const noBrowser = existsSync(executablePath)
  ? undefined
  : `SKIPPED, not passed: ${executablePath} is not installed (apt-get install chromium)`

/** With these arguments, the browser sends only the requests of the page. */
const quietArguments = [
  '--no-sandbox',
  '--disable-gpu',
  '--disable-quic',
  '--no-first-run',
  '--disable-background-networking',
  '--disable-component-update',
  '--disable-sync',
]

export function launchChromium(): Promise<Browser> {
  return chromium.launch({ executablePath, headless: true, args: quietArguments })
}

/** For tests that need a browser, which `open` launches. Without Chromium, they are skipped, but fail in CI. */
export function needsBrowser(open: () => Promise<unknown>, close: () => Promise<unknown>): void {
  const isSkipped = noBrowser !== undefined && !process.env.CI
  beforeAll(async () => {
    if (isSkipped) console.warn(noBrowser)
    else await open()
  }, 120_000)
  afterAll(close)
  beforeEach((context) => {
    if (isSkipped) context.skip(noBrowser)
  })
}
