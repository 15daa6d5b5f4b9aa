import { describe, expect, test } from 'vitest'
import { ann, boilers, openPages, server } from '#test/dashboard/visitor'

/** Actions on many devices at once, in a browser, on a server without authentication. */
describe('selected devices in a browser', () => {
  openPages({ boilers: 30 }, async () => {
    await server.ask('/devices', { method: 'POST', body: { deviceIdentifier: 'SPARE-1' } })
  })

  const box = (identifier: string) => ann.page.getByRole('checkbox', { name: `Select ${identifier}`, exact: true })
  const outcome = (text: string | RegExp) => ann.dialog.getByRole('status').filter({ hasText: text }).waitFor()
  const setpointOf = async (identifier: string) => {
    const path = `/devices/${identifier}/services/boiler/properties?raw=false`
    return ((await server.get(path)).json as { Setpoint: number }).Setpoint
  }

  /** Applies the change to this many devices, waits for its outcome, and closes the dialog. */
  async function apply(count: number): Promise<void> {
    await ann.button(`Apply to ${count} devices`).click()
    await outcome(`${count} of ${count} devices done`)
    await close()
  }

  const close = () => ann.dialog.getByText('Close', { exact: true }).click()

  /** Fills in the form that writes a setpoint to the selected devices. */
  async function write(value: string): Promise<void> {
    await ann.button('Write…').click()
    await ann.dialog.getByLabel('Service').selectOption('Boiler')
    await ann.field('Property').selectOption({ value: '0x2001' })
    await ann.field('Value').fill(value)
  }

  test('devices are selected by boxes, ranges with Shift, the keyboard, and all at once by a search', async () => {
    await ann.reads('31 devices')
    await box('BOILER-002').click()
    await ann.reads('1 device selected')
    await box('BOILER-005').click({ modifiers: ['Shift'] })
    await ann.reads('4 devices selected')
    await box('BOILER-003').click()
    await ann.reads('3 devices selected')
    await ann.isAccessible()
    await ann.page.getByRole('grid', { name: 'Devices' }).focus()
    await ann.page.keyboard.press('Home')
    await ann.page.keyboard.press('Space')
    await ann.reads('4 devices selected')
    await ann.button('Clear').click()
    await ann.page.getByRole('searchbox').fill('boiler-01')
    await ann.reads('10 devices found')
    await ann.page.getByRole('checkbox', { name: 'Select all' }).click()
    await ann.reads('10 devices selected')
    // The selection does not change while the search changes.
    await ann.page.getByRole('searchbox').fill('spare')
    await ann.reads('1 device found')
    await box('SPARE-1').click()
    await ann.reads('11 devices selected')
  })

  test('a value is written, each device has an outcome, and failed devices are tried again', async () => {
    await write('95')
    await ann.button('Continue').click()
    await ann.reads('Must be below 90.')
    await ann.field('Value').fill('13')
    await ann.button('Continue').click()
    await ann.reads('Write Setpoint = 13 °C to 11 devices?')
    await ann.isAccessible()
    await ann.button('Apply to 11 devices').click()
    await outcome('0 of 11 devices done, 11 failed')
    await ann.dialog.getByRole('option').filter({ hasText: 'BOILER-010' }).getByText('(unlucky)').waitFor()
    await ann.dialog.getByRole('option').filter({ hasText: 'SPARE-1' }).getByText('The device').waitFor()
    await ann.isAccessible()
    await close()
    await write('61')
    await ann.button('Continue').click()
    await ann.button('Apply to 11 devices').click()
    await outcome('10 of 11 devices done, 1 failed')
    expect(await setpointOf('BOILER-019')).toBe(61)
    await ann.button('Try 1 failed again').click()
    await outcome('10 of 11 devices done, 1 failed')
    await close()
  })

  test('a value is stored for devices that are offline', async () => {
    boilers.cut()
    await ann.page.getByRole('searchbox').fill('')
    await ann.button('Offline').click()
    await ann.reads('31 devices found')
    await ann.page.getByRole('searchbox').fill('spare')
    await ann.reads('1 device found')
    await box('SPARE-1').click()
    await ann.reads('10 devices selected')
    await write('62')
    await ann.field('Also for devices that are offline').check()
    await ann.button('Continue').click()
    await apply(10)
    await boilers.reconnect()
    await expect.poll(() => setpointOf('BOILER-011')).toBe(62)
    await ann.button('All').click()
    await ann.page.getByRole('searchbox').fill('')
    await ann.reads('31 devices')
  })

  test('devices are added to groups and get tags', async () => {
    const created = await server.ask('/groups', { method: 'POST', body: { name: 'Cellar', devices: ['BOILER-001'] } })
    const id = (created.json as { resourceIdentifier: string }).resourceIdentifier.replace('crn#group:', '')
    await ann.button('Groups…').click()
    await ann.field('Group').selectOption('Cellar')
    await ann.isAccessible()
    await ann.button('Continue').click()
    await ann.reads('Add to the group Cellar: 10 devices?')
    await apply(10)
    const members = async () => ((await server.get(`/groups/${id}`)).json as { devices: string[] }).devices
    expect((await members()).length).toBe(11)
    await ann.button('Groups…').click()
    await ann.field('Change').selectOption('Remove')
    await ann.field('Group').selectOption('Cellar')
    await ann.button('Continue').click()
    await apply(10)
    expect(await members()).toEqual(['BOILER-001'])
    await ann.button('Groups…').click()
    await ann.field('Group').selectOption('New group')
    await ann.field('Name').fill('Attic')
    await ann.button('Continue').click()
    await apply(10)
    const groups = (await server.get('/groups')).json as { name: string; devices: string[] }[]
    expect(groups.find(({ name }) => name === 'Attic')?.devices.length).toBe(10)

    const tags = async () => ((await server.get('/meta/BOILER-012')).json as { meta: { tags?: string[] } }).meta.tags
    for (const [direction, expected] of [
      ['Add', ['cellar']],
      ['Remove', undefined],
    ] as const) {
      await ann.button('Tags…').click()
      await ann.field('Change').selectOption(direction)
      await ann.field('Tag').fill('cellar')
      await ann.button('Continue').click()
      await apply(10)
      expect(await tags()).toEqual(expected)
    }
  })

  test('firmware is updated, and devices are deleted after the user types their number', async () => {
    await ann.button('Update firmware…').click()
    await apply(10)
    boilers.cut()
    await ann.button('Delete…').click()
    expect(await ann.button('Delete 10 devices').isDisabled()).toBe(true)
    await ann.field('Type 10 to confirm').fill('10')
    await ann.isAccessible()
    await ann.button('Delete 10 devices').click()
    await outcome('10 of 10 devices done')
    await close()
    await ann.reads('21 devices')
    expect((await server.get('/devices/BOILER-012')).status).toBe(404)
  })
})
