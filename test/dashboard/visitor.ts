import { readFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import type { AxeResults } from 'axe-core'
import type { Browser, BrowserContext, Locator, Page } from 'playwright-core'
import { expect } from 'vitest'
import { launchChromium, needsBrowser } from '#test/blackbox/chromium'
import type { Credentials } from '#test/blackbox/signed-in-user'
import { StartedServer } from '#test/blackbox/started-server'
import { deadlineMs } from '#test/blackbox/until'
import { Boilers } from '#test/dashboard/boilers'

const axeSource = readFileSync(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8')

/** Dark mode differs from light mode only in colours, so only the rules about colours run again. */
const axeRules = {
  light: {},
  dark: { runOnly: { type: 'rule', values: ['color-contrast', 'link-in-text-block'] } },
} as const

/** Frames that have a horizontal scroll bar, and elements only for screen readers. */
const exemptSelector = '.table-frame, .virtual, .graph-frame, .toolbar .filters, [role=tablist], .hidden'

const sizes = { desk: { width: 1280, height: 800 }, phone: { width: 390, height: 844 } } as const

interface PagesOptions {
  /** Starts the server. By default, it has no authentication. */
  readonly start?: () => Promise<StartedServer>
  /** The number of boilers that are connected. */
  readonly boilers?: number
  /** The user who is signed in. */
  readonly user?: Credentials
}

let browser: Browser
/** What `openPages` opened for all tests of the file. */
export let server: StartedServer
export let boilers: Boilers
export let ann: Visitor

/**
 * Opens a server, a browser and a visitor for all tests of a file, and then runs `begin`. Without a browser, the tests
 * are skipped, except in CI.
 */
export function openPages(
  { start = () => StartedServer.start(), boilers: count = 0, user }: PagesOptions,
  begin: () => unknown = () => {},
): void {
  needsBrowser(
    async () => {
      server = await start()
      browser = await launchChromium()
      boilers = new Boilers(server)
      if (count > 0) await boilers.connect(count)
      ann = await Visitor.open()
      if (user) await ann.enter(user)
      await begin()
    },
    async () => {
      await ann?.close()
      await browser?.close()
      boilers?.cut()
      await server?.finish()
    },
  )
}

/** A user with a separate browser context, on the pages of a server. */
export class Visitor {
  readonly #context: BrowserContext
  readonly #server: StartedServer
  readonly page: Page
  /** The errors of the page, including violations of its content security policy. */
  readonly faults: string[] = []

  private constructor(context: BrowserContext, page: Page, server: StartedServer) {
    this.#context = context
    this.#server = server
    this.page = page
    page.setDefaultTimeout(deadlineMs)
    page.on('pageerror', (error) => this.faults.push(String(error.stack ?? error)))
    page.on('console', (message) => {
      // Chromium logs refused requests and lost connections as errors too. Tests check how the page shows these.
      const isNetworkError = /Failed to load resource|WebSocket connection/.test(message.text())
      if (message.type() === 'error' && !isNetworkError) this.faults.push(message.text())
    })
  }

  static async open(size: keyof typeof sizes = 'desk', at = server): Promise<Visitor> {
    const context = await browser.newContext({
      viewport: sizes[size],
      hasTouch: size === 'phone',
      locale: 'en-GB',
      reducedMotion: 'reduce',
      permissions: ['clipboard-read', 'clipboard-write'],
    })
    const visitor = new Visitor(context, await context.newPage(), at)
    await visitor.goTo('/')
    return visitor
  }

  /** Opens a path of the dashboard. */
  async goTo(path: string): Promise<void> {
    await this.page.goto(`http://127.0.0.1:${this.#server.port}/#${path}`)
  }

  /** Opens a path and reloads, so that open dialogs are gone. */
  async visit(path: string): Promise<void> {
    await this.goTo(path)
    await this.page.reload()
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

  /** Signs in, and waits for the page of the fleet. */
  async enter(user: Credentials): Promise<void> {
    await this.signIn(user)
    await this.sees('Fleet')
  }

  /** Waits for the page with this title. */
  async sees(title: string): Promise<void> {
    await this.page.getByRole('heading', { level: 1, name: title, exact: true }).waitFor()
  }

  /** Waits for this text. */
  async reads(text: string | RegExp): Promise<void> {
    await this.page.getByText(text).first().waitFor()
  }

  /** Waits until the page shows that its values are live. */
  async isLive(): Promise<void> {
    await this.page.locator('.connection', { hasText: 'live' }).waitFor()
  }

  /** Waits for the question about unsaved changes, and leaves the page or stays. */
  async answerLeaveDialog(isLeft: boolean): Promise<void> {
    const dialog = this.page.getByRole('dialog', { name: 'Leave without saving?' })
    await dialog.getByRole('button', { name: isLeft ? 'Leave' : 'Cancel' }).click()
    await dialog.waitFor({ state: 'hidden' })
  }

  /** The text of the focused element. */
  async focused(): Promise<unknown> {
    return this.page.evaluate('document.activeElement?.textContent')
  }

  /** Waits for a toast. Tests must wait right after the action, because toasts disappear by themselves. */
  async seesToast(text: string): Promise<void> {
    await this.page.locator('.toast').filter({ hasText: text }).first().waitFor()
  }

  /** Waits for the refusal of a form. */
  async seesRefusal(text: string): Promise<void> {
    await this.page.locator('form .problem', { hasText: text }).waitFor()
  }

  /** The open dialog. */
  get dialog(): Locator {
    return this.page.locator('dialog[open]')
  }

  /** The rows of tables that have this text. */
  row(text: string): Locator {
    return this.page.getByRole('row').filter({ hasText: text })
  }

  field(label: string): Locator {
    return this.page.getByLabel(label, { exact: true })
  }

  button(name: string | RegExp): Locator {
    return this.page.getByRole('button', { name, exact: typeof name === 'string' })
  }

  /** Expects that the page is accessible, and fits a phone. */
  async isUsable(): Promise<void> {
    await this.isAccessible()
    await this.fitsAPhone()
  }

  /** Expects no violation of WCAG 2.1 A and AA and of the best practices of axe, in light and in dark mode. */
  async isAccessible(): Promise<void> {
    // The script goes through the debugger, because the policy of the page blocks foreign scripts.
    if (!(await this.page.evaluate('Boolean(globalThis.axe)'))) await this.page.evaluate(axeSource)
    for (const [colorScheme, rules] of Object.entries(axeRules) as [keyof typeof axeRules, object][]) {
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

  /**
   * Expects no overflow at 320 px, except in frames that scroll. This width equals 1280 px at 400 % zoom.
   * WCAG 1.4.10.
   */
  async fitsAPhone(): Promise<void> {
    const before = this.page.viewportSize() ?? sizes.desk
    await this.page.setViewportSize({ width: 320, height: 640 })
    const overflowing = () =>
      this.page.evaluate(
        `[...document.querySelectorAll('.shell *, .sign-in *')]
        .filter((each) => each.getBoundingClientRect().right > innerWidth + 1 && !each.closest(${JSON.stringify(exemptSelector)}))
        .map((each) => each.tagName + '.' + each.className)`,
      )
    // Charts get their new size with a later frame.
    await expect.poll(overflowing).toEqual([])
    await this.page.setViewportSize(before)
  }

  /** Delays all requests to these URLs until the returned function is called. */
  async holdRequests(url: string): Promise<() => void> {
    let release = () => {}
    const isReleased = new Promise<void>((resolve) => {
      release = resolve
    })
    await this.page.route(url, async (route) => {
      await isReleased
      await route.continue()
    })
    return release
  }
}
