import { existsSync } from 'node:fs'
import { type Browser, chromium } from 'playwright-core'

/** The path in Debian. */
const executablePath = '/usr/bin/chromium'

/** The reason to skip tests; undefined if Chromium is installed. */
export const noBrowser = existsSync(executablePath)
  ? undefined
  : `SKIPPED, not passed: ${executablePath} is not installed (apt-get install chromium)`

/** With these the browser sends no requests but those of the page. */
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
