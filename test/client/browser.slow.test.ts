import type { Browser, BrowserContext, Page } from 'playwright-core'
import { describe, expect, test } from 'vitest'
import type * as library from '#client/client'
import { launchChromium, needsBrowser } from '#test/blackbox/chromium'
import { newName, SignedInUser, startWithIdentity } from '#test/blackbox/signed-in-user'
import type { StartedServer } from '#test/blackbox/started-server'
import { buildScript } from '#test/client/browser-bundle'

/** The part of the pages that these tests use. */
interface Window {
  deviceData: typeof library
  client: library.Client
}

describe('the client in a browser', () => {
  let server: StartedServer
  let browser: Browser
  let context: BrowserContext
  let script = ''
  const lifetimeS = 4

  needsBrowser(
    async () => {
      script = (await buildScript()).map(({ code }) => code).join('')
      server = await startWithIdentity({ ACCESS_TOKEN_LIFETIME_S: String(lifetimeS) })
      browser = await launchChromium()
      context = await browser.newContext()
    },
    async () => {
      await browser?.close()
      await server?.finish()
    },
  )

  async function openPage(): Promise<Page> {
    const page = await context.newPage()
    await load(page)
    return page
  }

  async function load(page: Page): Promise<void> {
    await page.goto(`http://127.0.0.1:${server.port}/api/v1/health`)
    await page.addScriptTag({ content: script })
    await page.evaluate(() => {
      const window = globalThis as unknown as Window
      window.client = window.deviceData.connect()
    })
  }

  const restored = (page: Page) => page.evaluate(() => (globalThis as unknown as Window).client.restore())

  test('tabs share a session, which outlives the tabs', async () => {
    const admin = await SignedInUser.signIn(server)
    const { name, password } = await admin.bring(newName('person'), ['viewer'])
    const [one, other] = [await openPage(), await openPage()]
    expect(await restored(one)).toMatchObject({ state: 'signed out' })
    const signIn = { email: name, password }
    expect(await one.evaluate((signIn) => (globalThis as unknown as Window).client.signIn(signIn), signIn)).toBe(
      'signed in',
    )
    expect(await restored(other)).toMatchObject({ state: 'signed in', name })
    const renewals: number[] = []
    for (const page of [one, other]) {
      page.on('response', (answer) => {
        if (answer.url().endsWith('/auth/token')) renewals.push(answer.status())
      })
    }
    await new Promise((resolve) => setTimeout(resolve, (lifetimeS + 1) * 1_000))
    const callAll = () => {
      const { client } = globalThis as unknown as Window
      return Promise.all(Array.from({ length: 10 }, () => client.call('GET /iam/me').then(({ name }) => name)))
    }
    const names = await Promise.all([one.evaluate(callAll), other.evaluate(callAll)])
    expect(names.flat()).toEqual(Array(20).fill(name))
    expect(renewals.filter((status) => status === 200)).toHaveLength(1)
    await load(one)
    expect(await restored(one)).toMatchObject({ state: 'signed in', name })
    await one.close()
    await other.evaluate(() => (globalThis as unknown as Window).client.signOut())
    const third = await openPage()
    expect(await restored(third)).toMatchObject({ state: 'signed out' })
    await Promise.all([other.close(), third.close()])
  })
})
