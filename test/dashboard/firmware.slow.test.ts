import type { Browser } from 'playwright-core'
import { describe, expect, test } from 'vitest'
import { imageOf, put, release, sha256Of, untilUpdate } from '#test/blackbox/firmware-calls'
import { StartedServer } from '#test/blackbox/started-server'
import { until } from '#test/blackbox/until'
import { UpdatingDevice } from '#test/blackbox/updating-device'
import { dialogOf, fitsAPhone, rowOf, seesToast, visit } from '#test/dashboard/page-queries'
import { openPages, Visitor } from '#test/dashboard/visitor'

/** The firmware pages in a browser. Contract 6. */
describe('firmware pages', () => {
  let server: StartedServer
  let browser: Browser
  let ann: Visitor
  const devices: UpdatingDevice[] = []
  openPages(
    () => StartedServer.start({ DISABLE_CONNECT_UPDATE: 'on' }),
    async (opened) => {
      ;({ server, browser } = opened)
      ann = await Visitor.open(browser, server)
      return ann
    },
    () => {
      for (const device of devices) device.cut()
    },
  )

  const page = () => ann.page
  const button = (name: string | RegExp) => ann.button(name)
  const row = (text: string) => rowOf(ann.page, text)
  const toast = (text: string) => seesToast(ann.page, text)
  const connect = async (name: string, project: string) => {
    const device = await UpdatingDevice.linked(server, name, { project })
    devices.push(device)
    return device
  }

  test('an empty page explains the next step; a release is uploaded over a connection that breaks', async () => {
    await visit(ann, '/firmware')
    await page().getByText('No firmware').waitFor()
    await page().getByText('curl -T boiler-1.0.0.bin http').waitFor()
    await page().getByText('npm run fleet -- --url').waitFor()

    await button('New release').click()
    const dialog = dialogOf(page())
    await dialog.getByLabel('Project').fill('boiler')
    const image = imageOf('boiler/1.5.0', 1_300_000)
    await dialog.getByLabel('Image').setInputFiles({
      name: 'boiler-1.5.0.bin',
      mimeType: 'application/octet-stream',
      buffer: image,
    })
    expect(await dialog.getByLabel('Version').inputValue()).toBe('1.5.0')
    let parts = 0
    await page().route('**/releases/1.5.0*', async (route) => {
      parts++
      if (parts === 3) await route.abort('connectionreset')
      else await route.continue()
    })
    await button('Upload').click()
    await dialog.getByText('The upload continues automatically').waitFor()
    await toast('boiler 1.5.0 is uploaded')
    await page().unroute('**/releases/1.5.0*')
    const { json } = await server.get('/updates/projects/boiler/releases')
    expect(json).toMatchObject([{ firmware: '1.5.0', index: 0, size: image.length, sha256: sha256Of(image) }])
    await page().getByRole('link', { name: 'boiler' }).click()
    await page().getByRole('heading', { level: 1, name: 'boiler' }).waitFor()
    await row('1.5.0').getByText('1.30 MB').waitFor()

    // Another image for the same version is refused with the reason.
    await button('New release').click()
    await dialog.getByLabel('Image').setInputFiles({
      name: 'boiler-1.5.0.bin',
      mimeType: 'application/octet-stream',
      buffer: imageOf('another', 1_300_000),
    })
    await button('Upload').click()
    await dialog.getByText('A release cannot be changed: choose another version').waitFor()
    await dialog.getByLabel('Version').fill('nonsense')
    await dialog.getByText('Must be a semantic version').waitFor()
    expect(await button('Upload').isDisabled()).toBe(true)
    await page().keyboard.press('Escape')
  })

  test('a rollout is started, watched, paused, resumed and ended', async () => {
    const fleet = [await connect('STEP-1', 'steps'), await connect('STEP-2', 'steps'), await connect('STEP-3', 'steps')]
    const [one, two] = fleet as [UpdatingDevice, UpdatingDevice]
    await visit(ann, '/firmware')
    await row('steps').getByText('1.0.0 on 3').waitFor()
    await page().getByRole('link', { name: 'steps' }).click()
    await page().getByText('No rollout').waitFor()
    // The project exists only on devices so far, which is not an error.
    await page().getByText('No pins').waitFor()
    expect(await page().locator('.notice.bad').count()).toBe(0)
    await page().getByText('3 devices, 0 being updated').waitFor()

    await button('New rollout').click()
    const dialog = dialogOf(page())
    await dialog.getByLabel('Version').fill('1.1.0')
    await dialog.getByLabel('Share of the devices').fill('100')
    await dialog.getByLabel('Only in a window').check()
    await dialog.getByLabel('Opens at (cron, UTC)').fill('99 * * * *')
    await dialog.getByText('Updates 3 of 3 devices of steps to 1.1.0').waitFor()
    await button('Start rollout').click()
    await dialog
      .getByText(/must be a cron expression/i)
      .first()
      .waitFor()
    await dialog.getByLabel('Only in a window').uncheck()
    await button('Start rollout').click()
    await toast('The rollout of 1.1.0 to steps has started')
    expect((await server.get('/updates/projects/steps/rollout')).json).toMatchObject({
      firmware: '1.1.0',
      percent: 100,
      errorThresholdPercent: 20,
      state: 'running',
    })

    await release(server, 'steps/1.1.0')
    one.sendStatus(await one.takeOffer({ firmware: '1.1.0' }), 'DOWNLOADING', { progress: 40 })
    const list = page().getByRole('listbox', { name: 'Devices of the project' })
    await list.getByText('downloading 1.1.0, 40 %').waitFor()
    await two.install(server, await two.takeOffer())
    await untilUpdate(server, two.name, 'DONE')
    await list.getByText('done 1.1.0').waitFor()
    const counts = page().locator('.rollout-counts')
    await counts.getByText('1 done').waitFor()

    await button('Change rollout').click()
    await dialog.getByLabel('Attempts for each device').fill('5')
    await put(server, 'steps/rollout', { firmware: '1.1.0', percent: 90, errorThresholdPercent: 20 })
    await button('Save changes').click()
    await dialog.getByText('Another user changed this rollout meanwhile').first().waitFor()
    await button('Load the current version').click()
    expect(await dialog.getByLabel('Share of the devices').inputValue()).toBe('90')
    await page().keyboard.press('Escape')

    await button('Pause').click()
    await toast('The rollout of 1.1.0 is paused')
    await page().getByRole('heading', { name: 'Rollout' }).locator('..').getByText('paused').waitFor()
    await button('Resume').click()
    await until(async () => {
      const { json } = await server.get('/updates/projects/steps/rollout')
      return (json as { state: string }).state === 'running'
    }, 'the rollout to go on')

    // The refusal for a release in use names its use.
    await visit(ann, '/firmware/steps')
    await button('Delete 1.1.0').click()
    await button('Delete release').click()
    await dialog.getByText('the rollout uses it').waitFor()
    await page().keyboard.press('Escape')

    await button('End rollout…').click()
    await dialog.getByText('every device of steps that connects is updated to the newest release').waitFor()
    await button('End rollout').click()
    await page().getByText('No rollout').waitFor()
    expect((await server.get('/updates/projects/steps/rollout')).status).toBe(404)
  })

  test('a stopped rollout is marked, and its failed devices can be found', async () => {
    const device = await connect('STOP-1', 'stops')
    await put(server, 'stops/rollout', { firmware: '1.1.0', percent: 100, errorThresholdPercent: 50, maxAttempts: 1 })
    await release(server, 'stops/1.1.0')
    device.sendStatus(await device.takeOffer(), 'FAILED', { message: 'no room' })
    await visit(ann, '/firmware/stops')
    await page().getByText('The rollout has stopped').waitFor()
    await page().getByLabel('Show').selectOption('Failed or refused')
    await page()
      .getByRole('option', { name: /STOP-1/ })
      .click()
    await dialogOf(page()).getByText('no room').waitFor()
    await page().keyboard.press('Escape')
    await page().getByLabel('Show').selectOption('Updated')
    await page().getByText('No devices found').waitFor()
    await button('Resume').click()
    await dialogOf(page()).getByText('1 device of stops failed or refused 1.1.0').waitFor()
    await button('Resume anyway').click()
    await toast('The rollout of 1.1.0 is resumed')
    const { json } = await server.get('/updates/projects/stops/rollout')
    expect(json).toMatchObject({ state: 'running' })
  })

  test('pins are created, listed and removed', async () => {
    await release(server, 'pinned/1.0.0')
    await visit(ann, '/firmware/pinned')
    await page().getByText('No pins').waitFor()
    await button('Pin device').click()
    const dialog = dialogOf(page())
    await dialog.getByLabel('Device', { exact: true }).fill('no/device')
    await button('Pin').click()
    await dialog.getByText('no/device is not a device identifier').first().waitFor()
    await dialog.getByLabel('Device', { exact: true }).fill('pump-7')
    await button('Pin').click()
    await toast('PUMP-7 is pinned to 1.0.0')
    await row('PUMP-7').getByText('1.0.0').waitFor()
    await button('Remove the pin of PUMP-7').click()
    await button('Remove pin').click()
    await page().getByText('No pins').waitFor()
    await expect.poll(() => ann.focused()).toBe('Pins')
    expect((await server.get('/updates/projects/pinned/pins')).json).toEqual([])
  })

  test('the second page of pins is loaded on request', async () => {
    const nameOf = (number: number) => `P-${String(number).padStart(3, '0')}`
    const numbers = Array.from({ length: 501 }, (_, number) => number)
    const pinned = await Promise.all(
      numbers.map((number) => put(server, `many/pins/${nameOf(number)}`, { firmware: '1.0.0' })),
    )
    expect(pinned.filter(({ status }) => status !== 200)).toEqual([])
    await visit(ann, '/firmware/many')
    await row('P-499').waitFor()
    expect(await row('P-500').count()).toBe(0)
    await button('Show more').click()
    await row('P-500').waitFor()
    await button('Show more').waitFor({ state: 'detached' })
  })

  test('an update of one device shows its outcome, success or failure', async () => {
    const device = await connect('HAND-1', 'hands')
    await release(server, 'hands/1.1.0')
    await visit(ann, '/firmware/hands')
    await page()
      .getByRole('option', { name: /HAND-1/ })
      .click()
    const dialog = dialogOf(page())
    await dialog.getByText('update available').waitFor()
    await button('Update HAND-1 now').click()
    device.sendStatus(await device.takeOffer(), 'STARTED')
    // The toast is inside the dialog, because elements outside a modal dialog are inert.
    await dialog.locator('.toast', { hasText: 'HAND-1: the update has started' }).waitFor()
    await untilUpdate(server, 'HAND-1', 'STARTED')
    await page().keyboard.press('Escape')

    const away = await connect('HAND-2', 'hands')
    await page()
      .getByRole('option', { name: /HAND-2/ })
      .click()
    away.cut()
    await button('Update HAND-2 now').click()
    await dialog.getByText('HAND-2: the device is offline').waitFor()
  })

  test('all pages are accessible and fit a phone', async () => {
    await visit(ann, '/firmware')
    await row('boiler').waitFor()
    await ann.isAccessible()
    await fitsAPhone(ann)
    await visit(ann, '/firmware/steps')
    await page()
      .getByRole('option', { name: /STEP-1/ })
      .waitFor()
    await ann.isAccessible()
    await fitsAPhone(ann)
    await button('New rollout').click()
    await dialogOf(page()).getByLabel('Version').waitFor()
    await ann.isAccessible()
    await page().keyboard.press('Escape')
    await button('New release').click()
    // A part of the devices comes first; all of them is a choice.
    expect(await dialogOf(page()).getByLabel('Share of the devices').inputValue()).toBe('10')
    await ann.isAccessible()
    await dialogOf(page()).getByLabel('Every device that connects').check()
    await button(/^Upload for /).waitFor()
  })

  test('with an external update server only the firmware of devices is shown', async () => {
    const elsewhere = await StartedServer.start({ UPDATE_SERVER_URL: 'http://127.0.0.1:9' })
    try {
      devices.push(await UpdatingDevice.linked(elsewhere, 'AWAY-1', { project: 'away' }))
      const other = await Visitor.open(browser, elsewhere)
      await visit(other, '/firmware')
      await other.reads('An external update server')
      await rowOf(other.page, 'away').getByText('1.0.0 on 1').waitFor()
      expect(await other.button('New release').count()).toBe(0)
      await other.page.getByRole('link', { name: 'away' }).click()
      await other.reads('An external update server has the releases, pins and rollouts of this project')
      await other.page.getByRole('option', { name: /AWAY-1/ }).waitFor()
      expect(await other.button('New rollout').count()).toBe(0)
      await other.close()
    } finally {
      await elsewhere.discard()
    }
  })

  test('without authentication the administration page explains how to turn it on', async () => {
    await visit(ann, '/administration')
    await ann.reads('Authentication is off')
    await ann.reads('IAM=on npm start')
    expect(await page().getByRole('tab').count()).toBe(0)
  })
})
