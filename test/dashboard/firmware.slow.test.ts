import { afterAll, describe, expect, test } from 'vitest'
import { StartedServer } from '#test/blackbox/started-server'
import { until } from '#test/blackbox/until'
import { imageOf, put, release, sha256Of, UpdatingDevice, untilUpdate } from '#test/blackbox/updating-device'
import { ann, openPages, server, Visitor } from '#test/dashboard/visitor'

/** The firmware pages in a browser. Contract 6. */
describe('firmware pages', () => {
  const devices: UpdatingDevice[] = []
  const start = () => StartedServer.start({ DISABLE_CONNECT_UPDATE: 'on' })
  openPages({ start })
  afterAll(() => {
    for (const device of devices) device.cut()
  })

  const input = (label: string) => ann.dialog.getByLabel(label)
  const choose = (buffer: Buffer) =>
    input('Image').setInputFiles({ name: 'boiler-1.5.0.bin', mimeType: 'application/octet-stream', buffer })
  const connect = async (name: string, project: string) => {
    const device = await UpdatingDevice.linked(server, name, { project })
    devices.push(device)
    return device
  }

  test('an empty page explains the next step, and a release is uploaded over a connection that breaks', async () => {
    await ann.visit('/firmware')
    await ann.page.getByText('No firmware').waitFor()
    await ann.page.getByText('curl -T boiler-1.0.0.bin http').waitFor()
    await ann.page.getByText('npm run fleet -- --url').waitFor()

    await ann.button('New release').click()
    await input('Project').fill('boiler')
    const image = imageOf('boiler/1.5.0', 1_300_000)
    await choose(image)
    expect(await input('Version').inputValue()).toBe('1.5.0')
    let parts = 0
    await ann.page.route('**/releases/1.5.0*', async (route) => {
      parts++
      if (parts === 3) await route.abort('connectionreset')
      else await route.continue()
    })
    await ann.button('Upload').click()
    await ann.dialog.getByText('The upload continues automatically').waitFor()
    await ann.seesToast('boiler 1.5.0 is uploaded')
    await ann.page.unroute('**/releases/1.5.0*')
    const { json } = await server.get('/updates/projects/boiler/releases')
    expect(json).toMatchObject([{ firmware: '1.5.0', index: 0, size: image.length, sha256: sha256Of(image) }])
    await ann.page.getByRole('link', { name: 'boiler' }).click()
    await ann.page.getByRole('heading', { level: 1, name: 'boiler' }).waitFor()
    await ann.row('1.5.0').getByText('1.30 MB').waitFor()

    // Another image for the same version is refused with the reason.
    await ann.button('New release').click()
    await choose(imageOf('another', 1_300_000))
    await ann.button('Upload').click()
    await ann.dialog.getByText('A release cannot be changed: choose another version').waitFor()
    await ann.page.keyboard.press('Escape')
  })

  test('a rollout is started, followed, paused, resumed and ended', async () => {
    const fleet = [await connect('STEP-1', 'steps'), await connect('STEP-2', 'steps'), await connect('STEP-3', 'steps')]
    const [one, two] = fleet as [UpdatingDevice, UpdatingDevice]
    await ann.visit('/firmware')
    await ann.row('steps').getByText('1.0.0 on 3').waitFor()
    await ann.page.getByRole('link', { name: 'steps' }).click()
    await ann.page.getByText('No rollout').waitFor()
    // Until now, only devices know the project, which is not an error.
    await ann.page.getByText('No pins').waitFor()
    expect(await ann.page.locator('.notice.bad').count()).toBe(0)
    await ann.page.getByText('3 devices, 0 being updated').waitFor()

    await ann.button('New rollout').click()
    await input('Version').fill('1.1.0')
    await input('Share of the devices').fill('100')
    await input('Only in a window').check()
    await input('Opens at (cron, UTC)').fill('99 * * * *')
    await ann.dialog.getByText('Updates 3 of 3 devices of steps to 1.1.0').waitFor()
    await ann.button('Start rollout').click()
    await ann.reads(/must be a cron expression/i)
    await input('Only in a window').uncheck()
    await ann.button('Start rollout').click()
    await ann.seesToast('The rollout of 1.1.0 to steps has started')
    expect((await server.get('/updates/projects/steps/rollout')).json).toMatchObject({
      firmware: '1.1.0',
      percent: 100,
      errorThresholdPercent: 20,
      state: 'running',
    })

    await release(server, 'steps/1.1.0')
    one.sendStatus(await one.takeOffer({ firmware: '1.1.0' }), 'DOWNLOADING', { progress: 40 })
    const list = ann.page.getByRole('listbox', { name: 'Devices of the project' })
    await list.getByText('downloading 1.1.0, 40 %').waitFor()
    await two.install(server, await two.takeOffer())
    await untilUpdate(server, two.name, 'DONE')
    await list.getByText('done 1.1.0').waitFor()
    const counts = ann.page.locator('.rollout-counts')
    await counts.getByText('1 done').waitFor()

    await ann.button('Change rollout').click()
    await input('Attempts for each device').fill('5')
    await put(server, 'steps/rollout', { firmware: '1.1.0', percent: 90, errorThresholdPercent: 20 })
    await ann.button('Save changes').click()
    await ann.dialog.getByText('Another user changed this rollout meanwhile').first().waitFor()
    await ann.button('Load the current version').click()
    expect(await input('Share of the devices').inputValue()).toBe('90')
    await ann.page.keyboard.press('Escape')

    await ann.button('Pause').click()
    await ann.seesToast('The rollout of 1.1.0 is paused')
    await ann.page.getByRole('heading', { name: 'Rollout' }).locator('..').getByText('paused').waitFor()
    await ann.button('Resume').click()
    await until(async () => {
      const { json } = await server.get('/updates/projects/steps/rollout')
      return (json as { state: string }).state === 'running'
    }, 'the rollout to go on')

    // The refusal for a release in use names what uses it.
    await ann.visit('/firmware/steps')
    await ann.button('Delete 1.1.0').click()
    await ann.button('Delete release').click()
    await ann.dialog.getByText('the rollout uses it').waitFor()
    await ann.page.keyboard.press('Escape')

    await ann.button('End rollout…').click()
    await ann.dialog
      .getByText('every device of steps without a pin that connects is updated to the newest release')
      .waitFor()
    await ann.button('End rollout').click()
    await ann.page.getByText('No rollout').waitFor()
    expect((await server.get('/updates/projects/steps/rollout')).status).toBe(404)
  })

  test('a stopped rollout is marked, and its failed devices can be found', async () => {
    const device = await connect('STOP-1', 'stops')
    await put(server, 'stops/rollout', { firmware: '1.1.0', percent: 100, errorThresholdPercent: 50, maxAttempts: 1 })
    await release(server, 'stops/1.1.0')
    device.sendStatus(await device.takeOffer(), 'FAILED', { message: 'no room' })
    await ann.visit('/firmware/stops')
    await ann.page.getByText('The rollout has stopped').waitFor()
    await ann.page.getByLabel('Show').selectOption('Failed or refused')
    await ann.page.getByRole('option', { name: /STOP-1/ }).click()
    await ann.dialog.getByText('no room').waitFor()
    await ann.page.keyboard.press('Escape')
    await ann.page.getByLabel('Show').selectOption('Updated')
    await ann.page.getByText('No devices found').waitFor()
    await ann.button('Resume').click()
    await ann.dialog.getByText('On 1 device of stops, the update to 1.1.0 failed or was refused').waitFor()
    await ann.button('Resume anyway').click()
    await ann.seesToast('The rollout of 1.1.0 is resumed')
    const { json } = await server.get('/updates/projects/stops/rollout')
    expect(json).toMatchObject({ state: 'running' })
  })

  test('pins are created, listed and removed', async () => {
    await release(server, 'pinned/1.0.0')
    await ann.visit('/firmware/pinned')
    await ann.page.getByText('No pins').waitFor()
    await ann.button('Pin device').click()
    await ann.field('Device').fill('no/device')
    await ann.button('Pin').click()
    await ann.dialog.getByText('no/device is not a device identifier').first().waitFor()
    await ann.field('Device').fill('pump-7')
    await ann.button('Pin').click()
    await ann.seesToast('PUMP-7 is pinned to 1.0.0')
    await ann.row('PUMP-7').getByText('1.0.0').waitFor()
    await ann.button('Remove the pin of PUMP-7').click()
    await ann.button('Remove pin').click()
    await ann.page.getByText('No pins').waitFor()
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
    await ann.visit('/firmware/many')
    await ann.row('P-499').waitFor()
    expect(await ann.row('P-500').count()).toBe(0)
    await ann.button('Show more').click()
    await ann.row('P-500').waitFor()
    await ann.button('Show more').waitFor({ state: 'detached' })
  })

  test('an update of one device shows its outcome, success or failure', async () => {
    const device = await connect('HAND-1', 'hands')
    await release(server, 'hands/1.1.0')
    await ann.visit('/firmware/hands')
    await ann.page.getByRole('option', { name: /HAND-1/ }).click()
    await ann.dialog.getByText('update available').waitFor()
    await ann.button('Update HAND-1 now').click()
    device.sendStatus(await device.takeOffer(), 'STARTED')
    // The toast is within the dialog, because elements outside a modal dialog are inert.
    await ann.dialog.locator('.toast', { hasText: 'HAND-1: the update has started' }).waitFor()
    await untilUpdate(server, 'HAND-1', 'STARTED')
    await ann.page.keyboard.press('Escape')

    const away = await connect('HAND-2', 'hands')
    await ann.page.getByRole('option', { name: /HAND-2/ }).click()
    away.cut()
    await ann.button('Update HAND-2 now').click()
    await ann.dialog.getByText('HAND-2: the device is offline').waitFor()
  })

  test('all pages are accessible and fit a phone', async () => {
    await ann.visit('/firmware')
    await ann.row('boiler').waitFor()
    await ann.isUsable()
    await ann.visit('/firmware/steps')
    await ann.page.getByRole('option', { name: /STEP-1/ }).waitFor()
    await ann.isUsable()
    await ann.button('New rollout').click()
    await input('Version').waitFor()
    await ann.isAccessible()
    await ann.page.keyboard.press('Escape')
    await ann.button('New release').click()
    // By default, a part of the devices is updated first. The user can choose all devices.
    expect(await input('Share of the devices').inputValue()).toBe('10')
    await ann.isAccessible()
    await input('Every device that connects').check()
    await ann.button(/^Upload for /).waitFor()
  })

  test('with an external update server, the page shows only the firmware of devices', async () => {
    const elsewhere = await StartedServer.start({ UPDATE_SERVER_URL: 'http://127.0.0.1:9' })
    try {
      devices.push(await UpdatingDevice.linked(elsewhere, 'AWAY-1', { project: 'away' }))
      const other = await Visitor.open('desk', elsewhere)
      await other.visit('/firmware')
      await other.reads('An external update server')
      await other.row('away').getByText('1.0.0 on 1').waitFor()
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

  test('without authentication, the administration page explains how to turn it on', async () => {
    await ann.visit('/administration')
    await ann.reads('Authentication is off')
    await ann.reads('IAM=on npm start')
    expect(await ann.page.getByRole('tab').count()).toBe(0)
  })
})
