import { existsSync } from 'node:fs'
import { type Browser, chromium } from 'playwright-core'

/** Where Debian puts it. */
const executablePath = '/usr/bin/chromium'

/** Why there is no browser to test with; undefined where there is one. */
export const noBrowser = existsSync(executablePath)
  ? undefined
  : `SKIPPED, not passed: ${executablePath} is not there (apt-get install chromium)`

/** It asks nobody anything by itself: what it sends is what a page sends. */
const quietly = [
  '--no-sandbox',
  '--disable-gpu',
  '--disable-quic',
  '--no-first-run',
  '--disable-background-networking',
  '--disable-component-update',
  '--disable-sync',
]

export function launchChromium(): Promise<Browser> {
  return chromium.launch({ executablePath, headless: true, args: quietly })
}
