import { readFile } from 'node:fs/promises'
import { describe, expect, test } from 'vitest'
import { StartedServer } from '#test/blackbox/started-server'
import { ann, boilers, openPages, server } from '#test/dashboard/visitor'

const [minute, hour, day] = [60_000, 3_600_000, 86_400_000]
const now = Date.now()

/** A wave from 48 to 72 over two days, with a value every five minutes, until twenty minutes ago. */
const wave = Array.from({ length: 574 }, (_, index) => {
  const at = now - 2 * day + (index + 1) * 5 * minute - 10 * minute
  return [at, Math.round(10 * (60 + 12 * Math.sin((2 * Math.PI * at) / (6 * hour)))) / 10] as const
})

/** Charts in a browser, of values that devices reported over two days. Contract 9. */
describe('charts in a browser', () => {
  openPages({ start: () => StartedServer.start({ HISTORY: 'on' }), boilers: 3 }, async () => {
    await boilers.reportPast('BOILER-001', wave)
    await boilers.reportPast('BOILER-001', [[now - 5 * hour, 'no reading']])
    const colder = wave.map(([at, degrees]) => [at, degrees - 20] as const)
    await boilers.reportPast('BOILER-002', colder)
  })

  const chart = () => ann.page.getByRole('img', { name: /^Chart\./ })
  const legend = (row: RegExp) => ann.page.locator('.history-legend').getByRole('row', { name: row })
  /** Waits for a value in the row of this property. */
  const shows = (name: string, value: string) =>
    legend(new RegExp(`^${name}`))
      .getByText(value, { exact: true })
      .first()
      .waitFor()
  const isPressed = (name: string) => ann.button(name).getAttribute('aria-pressed')

  // The first value, which the device sends when it connects, is 37.
  test('a property opens its chart of the last day, with minimum, maximum and average', async () => {
    await ann.goTo('/devices/BOILER-001')
    await ann.button('Chart of Temperature').click()
    await chart().waitFor()
    expect(await isPressed('Last 24 h')).toBe('true')
    await shows('Temperature', '37 °C')
    await shows('Temperature', '72 °C')
    await ann.reads('Each point is the average of 5 min.')
    await ann.reads(/Temperature had an error: no reading/)
    await ann.isUsable()
  })

  test('a reported value appears at the right end', async () => {
    await boilers.report('BOILER-001', 99)
    await shows('Temperature', '99 °C')
  })

  test('a drag zooms into the chart, and a button goes back', async () => {
    await chart().scrollIntoViewIfNeeded()
    const box = await chart().boundingBox()
    if (!box) throw new Error('the chart has no place')
    await ann.page.mouse.move(box.x + box.width * 0.4, box.y + box.height / 2)
    await ann.page.mouse.down()
    await ann.page.mouse.move(box.x + box.width * 0.6, box.y + box.height / 2, { steps: 5 })
    // The selection follows the pointer with the next frame.
    await ann.page.evaluate('new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)))')
    await ann.page.mouse.up()
    await ann.reads('Each point is the average of 1 min.')
    expect(await isPressed('Last 24 h')).toBe('false')
    await ann.button('Back').click()
    await ann.reads('Each point is the average of 5 min.')
    expect(await isPressed('Last 24 h')).toBe('true')
  })

  test('another range is shown by button and by dates', async () => {
    await ann.button('Last 7 d').click()
    await ann.reads('Each point is the average of 30 min.')
    await ann.button('Range…').click()
    await ann.field('From').fill('2020-01-02T00:00:00')
    await ann.field('To').fill('2020-01-01T00:00:00')
    await ann.button('Show').click()
    await ann.reads('To must be after From.')
    await ann.isAccessible()
    await ann.field('To').fill('2020-01-03T00:00:00')
    await ann.button('Show').click()
    await ann.reads('The history has no values in this range.')
    await ann.button('Last 24 h').click()
    await ann.reads('Each point is the average of 5 min.')
  })

  test('another device is added to the chart and removed', async () => {
    await ann.button('Compare…').click()
    await ann.field('Device').fill('boiler-002')
    await ann.isAccessible()
    await ann.button('Add').click()
    await legend(/^Temperature · BOILER-001/).waitFor()
    await shows('Temperature · BOILER-002', '28 °C')
    await ann.button('Remove Temperature · BOILER-002').click()
    await legend(/^Temperature · BOILER-002/).waitFor({ state: 'detached' })
  })

  test('the points are shown as a table and downloaded', async () => {
    await ann.page.getByText('Show as table').click()
    const table = ann.page.getByRole('table', { name: 'Points of the chart, the newest first' })
    await table.getByRole('row').nth(1).getByText('99').waitFor()
    await ann.reads(/^The newest 100 of \d+ rows/)
    await ann.isAccessible()
    const [download] = await Promise.all([ann.page.waitForEvent('download'), ann.button('Download CSV').click()])
    expect(download.suggestedFilename()).toMatch(/^history-\d{4}-\d\d-\d\d\.csv$/)
    const [head, first] = (await readFile(await download.path(), 'utf8')).split('\n')
    expect(head).toBe('deviceIdentifier,serviceIdentifier,propId,name,time,min,avg,max')
    expect(first).toMatch(/^BOILER-001,boiler,8192,Temperature,\d{4}-.*Z,[\d.]+,[\d.]+,[\d.]+$/)
  })

  test('while the history is behind, the chart shows a message and tries again', async () => {
    const busy = '**/services/boiler/history?*'
    await ann.page.route(busy, (route) => route.fulfill({ status: 503, json: { error: 'HISTORY_BEHIND' } }))
    await ann.button('Last 1 h').click()
    await ann.reads(/has not stored the newest values in its history yet/)
    await ann.isAccessible()
    await ann.page.unroute(busy)
    await ann.reads('Each point is the average of 10 s.')
  })

  test('an alarm shows its property and the threshold, for the devices on which it is active', async () => {
    const alarm = {
      ...{ name: 'Too hot', severity: 'warning', serviceIdentifier: 'boiler' },
      condition: { '>': [{ var: 'Temperature' }, 80] },
    }
    const { resourceIdentifier } = (await server.ask('/alarms', { method: 'POST', body: alarm })).json as {
      readonly resourceIdentifier: string
    }
    await boilers.report('BOILER-001', 98)
    await ann.goTo(`/alarms/${resourceIdentifier.slice('crn#alarm:'.length)}`)
    const activeDevices = ann.page.getByRole('region', { name: 'Devices on which Too hot is' })
    await activeDevices.getByRole('row').filter({ hasText: 'BOILER-001' }).getByText('active').waitFor()
    await chart().waitFor()
    await ann.reads(/Dashed lines show the thresholds of the alarm: 80 °C\./)
    await legend(/^Temperature/).waitFor()
    await chart().scrollIntoViewIfNeeded()
    await ann.isUsable()
  })

  test('the list of devices shows the last hour of the visible devices with one query', async () => {
    const queries: string[] = []
    ann.page.on('request', (request) => {
      if (request.url().endsWith('/history/query')) queries.push(request.postData() ?? '')
    })
    await ann.goTo('/')
    await ann.page.getByRole('columnheader', { name: 'Last hour' }).waitFor()
    const line = ann.row('BOILER-001').locator('.sparkline polyline')
    await line.waitFor({ state: 'attached' })
    expect(queries).toHaveLength(1)
    for (const device of ['BOILER-001', 'BOILER-002', 'BOILER-003']) expect(queries[0]).toContain(device)
    await ann.isUsable()
  })

  test('a value has a chart of its last hour', async () => {
    await ann.goTo('/devices/BOILER-001')
    const line = ann.page.getByRole('row', { name: /^Temperature/ }).locator('.sparkline polyline')
    await line.waitFor({ state: 'attached' })
    expect((await line.getAttribute('points'))?.split(' ').length).toBeGreaterThan(8)
  })
})
