import { readFileSync } from 'node:fs'
import { createServer, request as sendRequest } from 'node:http'
import { createRequire } from 'node:module'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import type { Browser, Page } from 'playwright-core'
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { chapters } from '#api/chapters'
import { projectRoot } from '#bench/project-root'
import { linkWindowMessages } from '#model/link-message'
import { launchChromium, needsBrowser } from '#test/blackbox/chromium'
import { StartedServer } from '#test/blackbox/started-server'
import { until } from '#test/blackbox/until'

/** The description of the API, which the server shows to people and programs. Contract 8. */

let server: StartedServer
beforeAll(async () => {
  server = await StartedServer.start()
})
afterAll(() => server?.finish())

test.each(['openapi', 'asyncapi'])('the served %s.json equals the one in docs/', async (name) => {
  const answer = await server.get(`/${name}.json`)
  expect([answer.status, answer.headers.get('content-type')]).toEqual([200, 'application/json; charset=utf-8'])
  expect(answer.json).toEqual(JSON.parse(readFileSync(join(projectRoot, `docs/${name}.json`), 'utf8')))
  const again = await server.get(`/${name}.json`, { 'if-none-match': answer.headers.get('etag') ?? '' })
  expect([again.status, again.text]).toEqual([304, ''])
  expect((await server.ask(`/${name}.json`, { method: 'POST', body: {} })).status).toBe(405)
})

describe('the viewer in a browser', () => {
  let browser: Browser
  let page: Page
  let requested: string[]
  let complaints: string[]

  needsBrowser(
    async () => {
      browser = await launchChromium()
    },
    async () => browser?.close(),
  )
  beforeEach(async () => {
    requested = []
    complaints = []
    page = await browser.newPage()
    page.on('request', (request) => requested.push(request.url()))
    page.on('console', (message) => {
      if (message.type() === 'error' || message.type() === 'warning') complaints.push(message.text())
    })
    page.on('pageerror', (error) => complaints.push(String(error)))
    page.on('response', (response) => {
      if (response.status() >= 400) complaints.push(`${response.status()} ${response.url()}`)
    })
  })
  afterEach(async () => {
    await page?.close()
  })

  const origin = () => `http://127.0.0.1:${server.port}`
  const expectNoComplaints = () => {
    expect(complaints).toEqual([])
    const elsewhere = requested.filter((url) => !url.startsWith(`${origin()}/`) && !url.startsWith('data:'))
    expect(elsewhere).toEqual([])
  }

  const sendHealth = async () => {
    const operation = page.locator('#operations-Operation-readHealth')
    await operation.locator('.opblock-summary-control').click()
    await operation.locator('button.execute').click()
    const answer = operation.locator('.live-responses-table tbody')
    await answer.waitFor()
    expect(await answer.textContent()).toContain('"status": "ok"')
  }

  test('shows every operation of OpenAPI and sends requests', async () => {
    // The page does not render operations far from the visible part.
    await page.setViewportSize({ width: 1280, height: 25_000 })
    await page.goto(`${origin()}/docs`)
    await page.getByRole('heading', { name: 'Device Data Backend' }).waitFor()
    const tags = page.locator('.opblock-tag')
    await tags.last().waitFor()
    expect(await tags.evaluateAll((found) => found.map((tag) => tag.getAttribute('data-tag')))).toEqual(
      chapters.map(({ name }) => name),
    )
    for (const tag of await tags.all()) await tag.click()
    const operations = page.locator('.opblock')
    const count = chapters.flatMap(({ entries }) => entries).length
    await until(async () => (await operations.count()) === count, `${count} operations`)
    // The accessibility is checked with the largest operation and the dialog for credentials.
    await page.locator('#operations-Functions-createFunction .opblock-summary-control').click()
    await page.locator('#operations-Functions-createFunction .responses-inner .model-example').first().waitFor()
    await page.getByRole('button', { name: 'Authorize' }).click()
    await page.getByRole('dialog').or(page.locator('.dialog-ux')).getByText('X-API-Key').waitFor()
    await page.getByRole('button', { name: 'Close' }).first().click()
    await sendHealth()
    expect(requested).toContain(`${origin()}/api/v1/health`)
    expectNoComplaints()
  })

  test('works below a path prefix of a proxy', async () => {
    const proxy = createServer((request, response) => {
      const path = (request.url ?? '').replace(/^\/below/, '')
      if (path === request.url) {
        response.writeHead(404).end()
        return
      }
      const { method = 'GET', headers } = request
      const passed = sendRequest({ host: '127.0.0.1', port: server.port, method, path, headers }, (answer) => {
        response.writeHead(answer.statusCode ?? 502, answer.headers)
        answer.pipe(response)
      })
      request.pipe(passed)
    })
    await new Promise<void>((resolve) => proxy.listen(0, '127.0.0.1', resolve))
    try {
      const base = `http://127.0.0.1:${(proxy.address() as AddressInfo).port}/below`
      // The server redirects a path with a trailing slash.
      await page.goto(`${base}/docs/`)
      expect(page.url()).toBe(`${base}/docs`)
      await page.locator('[data-tag="Operation"]').click()
      await sendHealth()
      expect(requested).toContain(`${base}/api/v1/health`)
      await page.getByRole('link', { name: 'Websockets' }).click()
      await page.getByRole('heading', { level: 1 }).waitFor()
      expect([page.url(), complaints]).toEqual([`${base}/docs/websockets.html`, []])
    } finally {
      proxy.closeAllConnections()
      await new Promise((resolve) => proxy.close(resolve))
    }
  })

  test('shows every message of AsyncAPI, linked with OpenAPI', async () => {
    await page.goto(`${origin()}/docs`)
    await page.getByRole('link', { name: 'Websockets' }).click()
    await page.getByRole('heading', { level: 1, name: 'Device Data Backend: websockets' }).waitFor()
    const sections = page.locator('main section h2')
    expect((await sections.allTextContents()).slice(0, 5)).toEqual([
      'Device link, link.v1.json',
      'Device link, link.v1.msgpack',
      'Events, by ticket',
      'Events, with credentials',
      'v1/link',
    ])
    const welcome = page
      .locator('section', { hasText: 'link.v1.json' })
      .locator('details', { hasText: 'WELCOME' })
      .first()
    await welcome.locator('summary').click()
    expect(await welcome.textContent()).toContain(`"window": ${linkWindowMessages}`)
    expect(await page.locator('details summary code', { hasText: 'OBJECT_UPDATED' }).count()).toBe(2)
    expect(await violationsOf(page)).toEqual([])
    await page.getByRole('link', { name: 'HTTP' }).click()
    await page.locator('.opblock-tag').last().waitFor()
    expectNoComplaints()
  })

  /** The accessibility violations that axe finds. Swagger UI is a foreign product and not checked. */
  async function violationsOf(shown: Page): Promise<unknown> {
    await shown.evaluate(readFileSync(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8'))
    return shown.evaluate(async () => {
      const { axe } = globalThis as unknown as { axe: { run(): Promise<{ violations: { id: string }[] }> } }
      return (await axe.run()).violations.map(({ id }) => id)
    })
  }
})
