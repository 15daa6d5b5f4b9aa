import { existsSync } from 'node:fs'
import { type Browser, type BrowserContext, chromium, type Page } from 'playwright-core'
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import type * as library from '#client/client'
import { newName, Person, report, startWithIdentity } from '#test/blackbox/people'
import type { StartedServer } from '#test/blackbox/started-server'
import { until } from '#test/blackbox/until'
import { bundleOf } from '#test/client/browser-bundle'
import { ShakyProxy } from '#test/client/shaky-proxy'

const executablePath = '/usr/bin/chromium'
const noBrowser = existsSync(executablePath) ? undefined : `SKIPPED, not passed: ${executablePath} is not there`
const quiet = [
  '--no-sandbox',
  '--disable-gpu',
  '--disable-quic',
  '--no-first-run',
  '--disable-background-networking',
  '--disable-component-update',
  '--disable-sync',
]

/** What the pages of this test hold. */
interface Window {
  deviceData: typeof library
  client: library.Client
  state: library.State
  crypto: typeof globalThis.crypto
  indexedDB: { open(name: string): { result: Database; onsuccess: () => void } }
  told: string[]
}
interface Database {
  transaction(name: string): {
    objectStore(name: string): { getAll(): { result: { keys: library.KeyPair }[]; onsuccess: () => void } }
  }
}

/** The client where it is at home: tabs, IndexedDB, locks, and the websockets of a browser. */
describe('the client in a browser', () => {
  let server: StartedServer
  let proxy: ShakyProxy
  let browser: Browser | undefined
  let context: BrowserContext
  let script = ''
  const lifetimeS = 4

  beforeAll(async () => {
    if (noBrowser && !process.env.CI) {
      console.warn(noBrowser)
      return
    }
    script = (await bundleOf('iife')).map(({ code }) => code).join('')
    server = await startWithIdentity({ ACCESS_TOKEN_LIFETIME_S: String(lifetimeS) })
    // Its address stays where the server's does not.
    proxy = await ShakyProxy.before(server.port)
    browser = await chromium.launch({ executablePath, args: quiet })
    context = await browser.newContext()
  })
  afterAll(async () => {
    await browser?.close()
    await proxy?.close()
    await server?.finish()
  })
  beforeEach((context) => {
    if (!browser) context.skip(noBrowser)
  })

  async function openPage(): Promise<Page> {
    const page = await context.newPage()
    await load(page)
    return page
  }

  async function load(page: Page): Promise<void> {
    await page.goto(`${proxy.url}/api/v1/health`)
    await page.addScriptTag({ content: script })
    await page.evaluate(() => {
      const window = globalThis as unknown as Window
      window.client = window.deviceData.connect()
    })
  }

  const restored = (page: Page) => page.evaluate(() => (globalThis as unknown as Window).client.restore())

  test('tabs share a session that outlives them, and whose key nobody can read', async () => {
    const admin = await Person.signIn(server)
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
    const refused = await one.evaluate(async () => {
      const { indexedDB, crypto } = globalThis as unknown as Window
      const opened = indexedDB.open('device-data-backend')
      await new Promise<void>((resolve) => {
        opened.onsuccess = resolve
      })
      const all = opened.result.transaction('sessions').objectStore('sessions').getAll()
      await new Promise<void>((resolve) => {
        all.onsuccess = resolve
      })
      const key = all.result[0]?.keys.privateKey as library.KeyPair['privateKey']
      return crypto.subtle.exportKey('jwk', key).then(
        () => 'read',
        (error: Error) => error.name,
      )
    })
    expect(refused).toBe('InvalidAccessError')
    await load(one)
    expect(await restored(one)).toMatchObject({ state: 'signed in', name })
    await one.close()
    await other.evaluate(() => (globalThis as unknown as Window).client.signOut())
    const third = await openPage()
    expect(await restored(third)).toMatchObject({ state: 'signed out' })
    await Promise.all([other.close(), third.close()])
  })

  test('a state goes on when the server comes back, and a page that is not told stays as it is', async () => {
    const admin = await Person.signIn(server)
    const device = { name: newName('PAGE').toUpperCase(), password: '' }
    device.password = (
      (await admin.post('/devices', { deviceIdentifier: device.name })).json as { secret: string }
    ).secret
    await report(server, device, 20)
    const { name, password } = await admin.bring(newName('person'), ['viewer'])
    const page = await openPage()
    await page.evaluate(
      async ([name, password, device]) => {
        const window = globalThis as unknown as Window
        await window.client.signIn({ email: name, password })
        window.state = window.client.state()
        window.told = []
        window.state.connection.subscribe(() => window.told.push(window.state.connection.value.state))
        window.state.device(device).subscribe(() => window.told.push('device'))
        await window.state.ready
      },
      [name, password, device.name] as const,
    )
    const shown = () =>
      page.evaluate((device) => {
        const { state, told } = globalThis as unknown as Window
        const value = state.device(device).value?.services.get('climate')?.valueAt(0x2000)
        return { value, connection: state.connection.value.state, told }
      }, device.name)
    expect(await shown()).toMatchObject({ value: 20, connection: 'live' })
    await server.kill()
    await until(async () => (await shown()).connection === 'reconnecting', 'the page to say so')
    await server.startAgain()
    await report(server, device, 25)
    proxy.lead(server.port)
    await until(async () => (await shown()).value === 25, 'what was missed')
    await until(async () => (await shown()).connection === 'live', 'the page to be live', 60_000)
    await report(server, device, 30)
    await until(async () => (await shown()).value === 30, 'what comes')
    expect((await shown()).told).toEqual(expect.arrayContaining(['reconnecting', 'catching up', 'live', 'device']))
    await page.close()
  })
})
