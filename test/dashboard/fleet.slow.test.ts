import { execFile } from 'node:child_process'
import { promisify } from 'node:util'
import { describe, expect, test } from 'vitest'
import { freePort } from '#bench/server-process'
import { StartedServer } from '#test/blackbox/started-server'
import { until } from '#test/blackbox/until'
import { degreesOf } from '#test/dashboard/boilers'
import { ann, boilers, openPages, server, Visitor } from '#test/dashboard/visitor'

/** The arguments that a shell passes to a command. */
async function argumentsOf(command: string): Promise<readonly string[]> {
  const { stdout } = await promisify(execFile)('sh', ['-c', command.replace(/^curl/, "printf '%s\\n'")])
  return stdout.trimEnd().split('\n')
}

/** The pages of the fleet and of a device in a browser, on a server without authentication. */
describe('the fleet in a browser', () => {
  // The port is outside the range of outgoing connections, so that no connection takes it while the server is down.
  const start = async () => StartedServer.start({ PORT: String(await freePort()) })
  openPages({ start })

  const rows = () => ann.page.getByRole('grid', { name: 'Devices' }).getByRole('row')
  const row = (identifier: string) =>
    rows().filter({ has: ann.page.getByRole('link', { name: identifier, exact: true }) })
  const property = (name: string) => ann.page.getByRole('row', { name: new RegExp(`^${name}`) })
  const shownDevices = () => ann.page.getByRole('grid', { name: 'Devices' }).getByRole('link').allTextContents()

  test('an empty server shows the next step, with a command to copy', async () => {
    await ann.sees('Fleet')
    await ann.reads('No devices yet')
    await ann.isLive()
    await ann.reads(`npm run fleet -- --url ws://127.0.0.1:${server.port} --devices 50`)
    await ann.button('Copy the command').click()
    await ann.reads('✓ Copied')
    expect(await ann.page.evaluate('navigator.clipboard.readText()')).toMatch(/^npm run fleet -- .*--schemas$/)
    await ann.isAccessible()
  })

  test('new devices appear, with names and units of the schema', async () => {
    await boilers.connect(120)
    await ann.reads('120 devices')
    await row('BOILER-001')
      .getByText(`Temperature ${degreesOf(1)} °C`)
      .waitFor()
    await row('BOILER-001').getByText('online').waitFor()
    // The page has only the visible rows.
    expect(await rows().count()).toBeLessThan(60)
    await ann.isAccessible()
  })

  test('values change live', async () => {
    await boilers.report('BOILER-002', 71.5)
    await row('BOILER-002').getByText('Temperature 71.5 °C').waitFor()
  })

  test('devices can be searched, sorted, and filtered by status, service and condition', async () => {
    await ann.page.keyboard.press('/')
    await ann.page.keyboard.type('boiler-11')
    await ann.reads('10 devices found')
    expect(await shownDevices()).toEqual(Array.from({ length: 10 }, (_, place) => `BOILER-11${place}`))
    await ann.page.keyboard.press('Escape')
    await ann.reads('120 devices')

    await ann.button(/^Offline/).click()
    await ann.reads('No devices found')
    await ann.button('Show all').click()

    await ann.field('Service').selectOption('Boiler')
    await ann.page.getByRole('columnheader', { name: 'Temperature °C' }).waitFor()
    await ann.button('Condition…').click()
    await ann.field('Property').selectOption('Boiler · Temperature')
    await ann.field('Value, in °C').fill('70')
    await ann.isAccessible()
    await ann.button('Apply').click()
    await ann.reads('1 device found')
    // The condition is evaluated live.
    await boilers.report('BOILER-003', 90)
    await row('BOILER-003').waitFor()
    await ann.button(/^Temperature/).click()
    await ann.button(/^Temperature/).click()
    await expect.poll(shownDevices).toEqual(['BOILER-003', 'BOILER-002'])
    // The address contains the whole view.
    const address = ann.page.url()
    await ann.page.goto('about:blank')
    await ann.page.goto(address)
    await expect.poll(shownDevices).toEqual(['BOILER-003', 'BOILER-002'])
    await ann.button('Remove the condition').click()
    await ann.goTo('/')
    await ann.reads('120 devices')
  })

  test('chosen columns survive a reload', async () => {
    await ann.button('Columns…').click()
    await ann.field('Mode').check()
    await ann.field('Values').uncheck()
    await ann.isAccessible()
    await ann.button('Apply').click()
    await ann.page.getByRole('columnheader', { name: 'Mode' }).waitFor()
    await row('BOILER-001').getByText('Heating').waitFor()
    await ann.page.reload()
    await ann.page.getByRole('columnheader', { name: 'Mode' }).waitFor()
    await ann.button('Columns…').click()
    await ann.button('Reset').click()
    await ann.page.getByRole('columnheader', { name: 'Values' }).waitFor()
  })

  test('the keyboard reaches all rows, even those that are not in the page', async () => {
    await ann.page.getByRole('grid', { name: 'Devices' }).focus()
    await ann.page.keyboard.press('End')
    await row('BOILER-120').waitFor()
    await ann.page.keyboard.press('ArrowUp')
    await ann.page.keyboard.press('Home')
    // The selection stays at the same row.
    const device = { deviceIdentifier: 'ABOVE-1' }
    expect((await server.ask('/devices', { method: 'POST', body: device })).status).toBe(201)
    await row('ABOVE-1').waitFor()
    await ann.page.keyboard.press('Enter')
    await ann.sees('BOILER-001')
    expect((await server.ask('/devices/ABOVE-1', { method: 'DELETE' })).status).toBe(204)
    await ann.goTo('/')
    await ann.reads('120 devices')
  })

  test('the page of a device shows names and units, and the reason why there is no chart', async () => {
    await boilers.report('BOILER-002', 71.5)
    await ann.goTo('/devices/BOILER-002')
    await ann.sees('BOILER-002')
    const temperature = property('Temperature')
    await temperature.getByText('71.5').waitFor()
    await temperature.getByText('°C').waitFor()
    await property('Mode').getByText('Heating').waitFor()
    await ann.button('Chart of Temperature').click()
    await ann.reads('The server keeps no history: it was started with HISTORY=off.')
    await ann.isAccessible()
    await ann.button('Chart of Temperature').click()
  })

  test('a write is checked, sent, and shown as the device reports it', async () => {
    await ann.button('Change Setpoint').click()
    const setpoint = ann.page.getByRole('spinbutton', { name: 'Setpoint' })
    // The input does not change while it is incomplete and while the device reports.
    await setpoint.fill('')
    await setpoint.pressSequentially('-0.5')
    expect(await setpoint.inputValue()).toBe('-0.5')
    await setpoint.fill('')
    await setpoint.pressSequentially('1.0')
    await boilers.report('BOILER-002', 70.5)
    await property('Temperature').getByText('70.5').waitFor()
    await setpoint.pressSequentially('5')
    expect(await setpoint.inputValue()).toBe('1.05')
    await setpoint.fill('95')
    await ann.button('Write').click()
    await ann.reads('Must be below 90.')
    await ann.isAccessible()
    await setpoint.fill('55')
    await ann.button('Write').click()
    await ann.reads('The device accepted the value.')
    await property('Setpoint').getByText('55').waitFor()
    // This value is refused by the device.
    await setpoint.fill('13')
    await ann.button('Write').click()
    await ann.reads('The device refused: unlucky')
    await ann.button('Cancel').click()
  })

  test('a desired value is shown beside the reported one, and can be removed', async () => {
    const body = { Setpoint: 13 }
    await server.ask('/devices/BOILER-002/services/boiler/desired', { method: 'PATCH', body })
    const row = property('Setpoint')
    await row.getByText('desired 13 °C').waitFor()
    await row.getByText('unlucky').waitFor()
    await ann.isAccessible()
    await ann.button('Remove the desired value of Setpoint').click()
    await row.getByText('desired').waitFor({ state: 'detached' })
  })

  test('an active alarm is shown at the top', async () => {
    const condition = { '>': [{ var: 'Temperature' }, 80] }
    const body = { name: 'Too hot', severity: 'critical', serviceIdentifier: 'boiler', condition }
    expect((await server.ask('/alarms', { method: 'POST', body })).status).toBe(201)
    await boilers.report('BOILER-002', 88)
    await ann.page.getByRole('link', { name: 'Too hot' }).waitFor()
    await ann.isAccessible()
    await boilers.report('BOILER-002', 40)
    await ann.page.getByRole('link', { name: 'Too hot' }).waitFor({ state: 'detached' })
  })

  test('metadata is edited, and invalid JSON is refused', async () => {
    await ann.button('Change…').click()
    const metadata = ann.field('Metadata as JSON')
    await metadata.fill('{"location": ')
    await ann.button('Save').click()
    await ann.reads(/^Invalid JSON/)
    await metadata.fill('{"location": "Hall 3", "owner": "Ann"}')
    await ann.isAccessible()
    await ann.button('Save').click()
    await ann.page.getByRole('definition').filter({ hasText: 'Hall 3' }).waitFor()
    const stored = async () => ((await server.get('/meta/BOILER-002')).json as { meta: object }).meta
    expect(await stored()).toEqual({ location: 'Hall 3', owner: 'Ann' })
    await ann.button('Change…').click()
    await metadata.fill('{"name": "Attic"}')
    await ann.button('Save').click()
    await ann.page.getByRole('definition').filter({ hasText: 'Attic' }).waitFor()
    expect(await stored()).toEqual({ name: 'Attic' })
    await ann.goTo('/')
    await row('BOILER-002').getByText('Attic', { exact: true }).waitFor()
  })

  test('a device is added, gets a new secret, and is deleted', async () => {
    await ann.goTo('/')
    await ann.button('Add device').click()
    await ann.field('Identifier').fill('no device')
    await ann.button('Add').click()
    await ann.page.locator('.field .problem').waitFor()
    // Identifiers may contain quotation marks. Contract 1.8.
    await ann.field('Identifier').fill("'|q-7")
    await ann.button('Add').click()
    await ann.reads("Secret of '|Q-7")
    const [first = ''] = await ann.page.locator('.command code', { hasText: 'curl' }).allTextContents()
    expect(await argumentsOf(first)).toEqual(
      expect.arrayContaining(['-u', expect.stringMatching(/^'\|Q-7:.{20,}$/), expect.stringContaining('"\'|Q-7"')]),
    )
    // The secret is shown only once, so the dialog can be closed only with its button.
    await ann.page.keyboard.press('Escape')
    await ann.page.mouse.click(5, 5)
    await ann.isAccessible()
    await ann.button('Open device').click()
    await ann.sees("'|Q-7")
    await ann.reads('No services yet')
    await ann.isAccessible()
    await ann.button('New secret…').click()
    await ann.button('Create secret').click()
    await ann.reads('Shown only once. Store it in a safe place.')
    await ann.button('Close').click()
    await ann.button('Delete…').click()
    await ann.field("Type '|Q-7 to confirm").fill("'|q-7")
    await ann.button('Delete device').click()
    await ann.reads('The device was deleted')
    expect((await server.get(`/devices/${encodeURIComponent("'|Q-7")}`)).status).toBe(404)
  })

  test('the fleet can be used on a phone by touch', async () => {
    const bob = await Visitor.open('phone')
    // Times are relative to the clock of the server, even if the clock of the browser is slow.
    await bob.page.addInitScript('{ const { now } = Date; Date.now = () => now() - 600_000 }')
    await bob.page.reload()
    await bob.sees('Fleet')
    await bob.reads('120 devices')
    await bob.isUsable()
    await bob.button('Pages').click()
    await bob.page.getByRole('navigation', { name: 'Pages' }).getByRole('link', { name: 'Fleet' }).click()
    await bob.page.getByRole('link', { name: 'BOILER-001', exact: true }).click()
    await bob.sees('BOILER-001')
    // The page reads the clock once a second.
    const times = () => bob.page.locator('time').allTextContents()
    await until(async () => !(await times()).some((text) => text.startsWith('in ')), 'times by the clock of the server')
    await bob.isUsable()
    // The button to write is visible without scrolling.
    const button = await bob.button('Change Setpoint').boundingBox()
    expect((button?.x ?? 999) + (button?.width ?? 0)).toBeLessThan(390)
    await bob.close()
  })

  test('unknown pages and devices are reported as not found', async () => {
    await ann.goTo('/nowhere')
    await ann.sees('Page not found')
    await ann.goTo('/devices/UNKNOWN')
    await ann.reads('Device not found')
    await ann.goTo('/account')
    await ann.sees('Your account')
    await ann.reads('anyone who can reach it may do everything')
    await ann.isAccessible()
  })

  test('values are marked as stale while the server hangs, and are current afterwards', async () => {
    await ann.goTo('/devices/BOILER-005')
    await property('Temperature').waitFor()
    await ann.isLive()
    server.run.signal('SIGSTOP')
    try {
      await ann.page.locator('.banner', { hasText: 'Stale' }).waitFor({ timeout: 40_000 })
      await ann.isAccessible()
    } finally {
      server.run.signal('SIGCONT')
    }
    await ann.isLive()
  })

  test('an open page reports a killed server, reconnects, and shows current values', async () => {
    const temperature = property('Temperature')
    await server.kill()
    await ann.page.locator('.banner', { hasText: 'Not connected: values are from' }).waitFor()
    await ann.isAccessible()
    // The last values are still visible.
    await temperature.getByText(String(degreesOf(5))).waitFor()
    // A page that was not opened before cannot be loaded now.
    await ann.goTo('/functions')
    await ann.sees('This page could not be loaded')
    await server.startAgain()
    await ann.sees('Functions')
    await ann.goTo('/devices/BOILER-005')
    await boilers.reconnect()
    await boilers.report('BOILER-005', 33.25)
    await ann.isLive()
    await temperature.getByText('33.25').waitFor()
    await ann.page.locator('.banner').waitFor({ state: 'detached' })
    await ann.goTo('/')
    await row('BOILER-005').getByText('Temperature 33.25 °C').waitFor()
    await ann.reads('120 devices')
  })

  test('an update is started, and its progress is shown', async () => {
    const headers = { 'content-type': 'application/octet-stream' }
    const path = '/updates/projects/boiler/releases/1.1.0'
    await ann.goTo('/devices/BOILER-007')
    await ann.reads('1.0.0')
    expect((await server.ask(path, { method: 'PUT', body: 'the image', headers })).status).toBe(201)
    await ann.reads('update available')
    await ann.button('Update now').click()
    await ann.page.getByRole('status').filter({ hasText: 'The update has started.' }).first().waitFor()
    const progress = ann.page.getByRole('progressbar', { name: 'Update to 1.1.0' })
    await expect.poll(() => progress.getAttribute('value')).toBe('40')
    await ann.isAccessible()
  })

  test('the chosen colour scheme survives a reload', async () => {
    const colours = () => ann.page.evaluate('getComputedStyle(document.body).backgroundColor')
    const light = await colours()
    await ann.button(/^Theme: system/).click()
    await ann.button(/^Theme: dark/).waitFor()
    const dark = await colours()
    expect(dark).not.toBe(light)
    await ann.page.reload()
    await ann.button(/^Theme: dark/).waitFor()
    expect(await colours()).toBe(dark)
  })
})
