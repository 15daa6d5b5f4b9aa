import { readFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { join } from 'node:path'
import type { AxeResults } from 'axe-core'
import type { Browser, BrowserContext, Locator, Page } from 'playwright-core'
import { afterAll, beforeAll, beforeEach, expect } from 'vitest'
import { projectRoot } from '#bench/project-root'
import { launchChromium, noBrowser } from '#test/blackbox/chromium'
import type { Credentials } from '#test/blackbox/people'
import type { StartedServer } from '#test/blackbox/started-server'
import { deadlineMs } from '#test/blackbox/until'

/** Written only where somebody wants them: a run leaves the tree as it is. */
const picturesFolder = process.env.SCREENSHOTS ? join(projectRoot, 'docs/images') : undefined

const axeSource = readFileSync(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8')

/** Dark differs from light in nothing but colours: there only what is about these is looked at once more. */
const rulesIn = {
  light: {},
  dark: { runOnly: { type: 'rule', values: ['color-contrast', 'link-in-text-block'] } },
} as const

const sizes = {
  desk: { width: 1280, height: 800 },
  phone: { width: 390, height: 844 },
} as const

export interface Opened {
  readonly server: StartedServer
  readonly browser: Browser
}

/**
 * What tests of pages begin with: a server and a browser, for all tests of a file. `begin` may answer the visitor that they
 * share; `end` is for what else it made. Without a browser they are skipped, but in CI.
 */
export function openPages(
  start: () => Promise<StartedServer>,
  begin: (opened: Opened) => Promise<Visitor | undefined>,
  end: () => void = () => {},
): void {
  let server: StartedServer | undefined
  let browser: Browser | undefined
  let visitor: Visitor | undefined
  beforeAll(async () => {
    if (noBrowser && !process.env.CI) {
      console.warn(noBrowser)
      return
    }
    server = await start()
    browser = await launchChromium()
    visitor = await begin({ server, browser })
  }, 120_000)
  afterAll(async () => {
    await visitor?.close()
    await browser?.close()
    end()
    await server?.finish()
  })
  beforeEach((context) => {
    if (!browser) context.skip(noBrowser)
  })
}

/** Somebody with a browser of his own, on the pages of a server. */
export class Visitor {
  readonly #context: BrowserContext
  readonly #server: StartedServer
  readonly page: Page
  /** What the page complained of: mistakes, and what its policy kept from it. */
  readonly faults: string[] = []

  private constructor(context: BrowserContext, page: Page, server: StartedServer) {
    this.#context = context
    this.#server = server
    this.page = page
    page.setDefaultTimeout(deadlineMs)
    page.on('pageerror', (error) => this.faults.push(String(error.stack ?? error)))
    page.on('console', (message) => {
      // Refusals and servers that are away are told as errors too; what the page makes of them is tested.
      const isOfNetwork = /Failed to load resource|WebSocket connection/.test(message.text())
      if (message.type() === 'error' && !isOfNetwork) this.faults.push(message.text())
    })
  }

  static async open(browser: Browser, server: StartedServer, size: keyof typeof sizes = 'desk'): Promise<Visitor> {
    const context = await browser.newContext({
      viewport: sizes[size],
      hasTouch: size === 'phone',
      locale: 'en-GB',
      reducedMotion: 'reduce',
      permissions: ['clipboard-read', 'clipboard-write'],
    })
    const visitor = new Visitor(context, await context.newPage(), server)
    await visitor.goTo('/')
    return visitor
  }

  /** By address; `path` is one of the dashboard's own. */
  async goTo(path: string): Promise<void> {
    await this.page.goto(`http://127.0.0.1:${this.#server.port}/#${path}`)
  }

  async close(): Promise<void> {
    await this.#context.close()
    expect(this.faults).toEqual([])
  }

  async signIn({ name, password }: Credentials): Promise<void> {
    await this.field('E-mail address or name').fill(name)
    await this.field('Password').fill(password)
    await this.button('Sign in').click()
  }

  /** Until a page of this title is there. */
  async sees(title: string): Promise<void> {
    await this.page.getByRole('heading', { level: 1, name: title, exact: true }).waitFor()
  }

  /** Until this is said somewhere. */
  async reads(text: string | RegExp): Promise<void> {
    await this.page.getByText(text).first().waitFor()
  }

  /** Until the page says that what it shows is live. */
  async isLive(): Promise<void> {
    await this.page.locator('.connection', { hasText: 'live' }).waitFor()
  }

  /** Until what would be lost is asked about; then it stays, or is left. */
  async isAsked(isLeft: boolean): Promise<void> {
    const question = this.page.getByRole('dialog', { name: 'Leave without saving?' })
    await question.getByRole('button', { name: isLeft ? 'Leave' : 'Cancel' }).click()
    await question.waitFor({ state: 'hidden' })
  }

  /** What has the focus, by its text. */
  async focused(): Promise<unknown> {
    return this.page.evaluate('document.activeElement?.textContent')
  }

  field(label: string): Locator {
    return this.page.getByLabel(label, { exact: true })
  }

  button(name: string | RegExp): Locator {
    return this.page.getByRole('button', { name, exact: typeof name === 'string' })
  }

  /** No violation of WCAG 2.1 A and AA, nor of good practice, in dark and in light. */
  async isAccessible(): Promise<void> {
    // By the debugger, since the page's policy lets in no scripts of others.
    if (!(await this.page.evaluate('Boolean(globalThis.axe)'))) await this.page.evaluate(axeSource)
    for (const [colorScheme, rules] of Object.entries(rulesIn) as [keyof typeof rulesIn, object][]) {
      await this.page.emulateMedia({ colorScheme })
      const results = (await this.page.evaluate(`axe.run(${JSON.stringify(rules)})`)) as AxeResults
      const found = results.violations.map(({ id, nodes }) => ({
        id,
        nodes: nodes.map(({ html, failureSummary }) => `${html}\n${failureSummary}`),
      }))
      expect({ colorScheme, found }).toEqual({ colorScheme, found: [] })
    }
    await this.page.emulateMedia({ colorScheme: 'light' })
  }

  /** For the README, where somebody asked for pictures. */
  async isPictured(name: string, colorScheme: 'light' | 'dark' = 'light'): Promise<void> {
    if (!picturesFolder) return
    await this.page.emulateMedia({ colorScheme })
    await this.page.screenshot({ path: join(picturesFolder, `${name}.png`), animations: 'disabled' })
    await this.page.emulateMedia({ colorScheme: 'light' })
  }
}
