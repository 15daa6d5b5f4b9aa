import { readFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { type Browser, chromium, type Locator, type Page } from 'playwright-core'
import { expect } from 'vitest'
import type { Credentials } from '#test/blackbox/people'
import type { StartedServer } from '#test/blackbox/started-server'

/** Where Debian puts it. */
const executablePath = '/usr/bin/chromium'

const browserArguments = [
  '--headless',
  '--no-sandbox',
  '--disable-gpu',
  '--disable-quic',
  '--no-first-run',
  '--disable-background-networking',
  '--disable-component-update',
  '--disable-sync',
]

const axeSource = () => readFileSync(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8')

interface AxeViolation {
  readonly id: string
  readonly nodes: readonly { readonly html: string; readonly failureSummary?: string }[]
}

/** The dashboard of a server, open in Chromium. */
export class OpenedDashboard {
  readonly #browser: Browser
  readonly #origin: string
  readonly page: Page
  /** What the page itself complained about, in its console and by throwing. */
  readonly complaints: string[] = []

  private constructor(browser: Browser, page: Page, origin: string) {
    this.#browser = browser
    this.page = page
    this.#origin = origin
    page.on('pageerror', (error) => this.complaints.push(String(error)))
    page.on('console', (message) => {
      // Whatever is refused is also a line of the browser's own.
      if (message.type() === 'error' && !/Failed to load resource/.test(message.text()))
        this.complaints.push(message.text())
    })
  }

  static async open(server: StartedServer): Promise<OpenedDashboard> {
    const browser = await chromium.launch({ executablePath, args: browserArguments })
    const page = await browser.newPage({ viewport: { width: 1280, height: 900 } })
    page.setDefaultTimeout(20_000)
    return new OpenedDashboard(browser, page, `http://localhost:${server.port}`)
  }

  async close(): Promise<void> {
    await this.#browser.close()
  }

  /** A path of the dashboard's own, `/firmware`. Loads it anew. */
  async visit(path: string): Promise<void> {
    await this.page.goto('about:blank')
    await this.page.goto(`${this.#origin}/#${path}`)
  }

  async signIn({ name, password }: Credentials): Promise<void> {
    await this.visit('/')
    await this.page.getByLabel('E-mail address or name').fill(name)
    await this.page.getByLabel('Password').fill(password)
    await this.page.getByRole('button', { name: 'Sign in' }).click()
    await this.page.getByRole('navigation', { name: 'Pages' }).waitFor()
  }

  button(name: string | RegExp): Locator {
    return this.page.getByRole('button', { name, exact: typeof name === 'string' })
  }

  /** The dialog that is open. */
  get dialog(): Locator {
    return this.page.locator('dialog[open]')
  }

  /** A row of a table, by what stands in it. */
  row(text: string): Locator {
    return this.page.getByRole('row').filter({ hasText: text })
  }

  /** Waits for a word of what was done; it is put away by itself. */
  async isTold(text: string | RegExp): Promise<void> {
    await this.page.locator('.toast').filter({ hasText: text }).first().waitFor()
  }

  /** What stands in the way of who cannot see, or has no mouse. WCAG 2.2 A and AA, by axe. */
  async barriers(): Promise<readonly string[]> {
    await this.page.evaluate(axeSource())
    const run = "axe.run(document, { runOnly: ['wcag2a', 'wcag2aa', 'wcag21a', 'wcag21aa', 'wcag22aa'] })"
    const { violations } = (await this.page.evaluate(run)) as { readonly violations: readonly AxeViolation[] }
    return violations.map(({ id, nodes }) => `${id}: ${nodes.map(({ html }) => html).join(' | ')}`)
  }

  /** How far the page reaches beyond the window, in pixels, on a screen of this width. */
  async overflowAt(width: number): Promise<number> {
    const { height = 900, width: before = 1280 } = this.page.viewportSize() ?? {}
    await this.page.setViewportSize({ width, height })
    const beyond = await this.page.evaluate(
      'Math.max(...["html", ".shell-main"].map((one) => document.querySelector(one)).map((e) => e.scrollWidth - e.clientWidth))',
    )
    await this.page.setViewportSize({ width: before, height })
    return beyond as number
  }

  /** For the end of a file: nothing went wrong inside the page. */
  expectQuiet(): void {
    expect(this.complaints).toEqual([])
  }
}
