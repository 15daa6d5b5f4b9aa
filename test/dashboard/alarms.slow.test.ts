import { describe, expect, test } from 'vitest'
import type { Item } from '#client/client'
import { until } from '#test/blackbox/until'
import { ann, boilers, openPages, server, Visitor } from '#test/dashboard/visitor'

type Alarm = Item<'GET /alarms'>

/** Alarms are created, followed, changed and deleted in a browser. Contract 5.3. */
describe('alarms in a browser', () => {
  openPages({ boilers: 3 })

  const pick = (label: string, option: string) => ann.field(label).selectOption({ label: option })
  const stored = async () => (await server.get('/alarms')).json as readonly Alarm[]
  const only = async () => {
    const [alarm, another] = await stored()
    expect(another).toBeUndefined()
    return alarm as Alarm
  }
  const pathOf = ({ resourceIdentifier }: Alarm) => `/alarms/${resourceIdentifier.slice('crn#alarm:'.length)}`

  test('an empty list explains alarms and how to create one', async () => {
    await ann.goTo('/alarms')
    await ann.sees('Alarms')
    await ann.reads('No alarms')
    await ann.reads(/^curl -X POST .* http:.*\/api\/v1\/alarms$/)
    await ann.isAccessible()
  })

  test('an alarm is created from the rows of a form, which become JsonLogic', async () => {
    await ann.page.getByRole('link', { name: 'New alarm' }).click()
    await ann.sees('New alarm')
    await ann.field('Name').fill('Boils')
    await pick('Severity', 'critical')
    await ann.button('Create alarm').click()
    // An incomplete form is not sent, and each missing field has a message.
    await ann.reads('Choose a property')
    await ann.field('Service').selectOption('Other…')
    await ann.field('Service identifier').fill('nowhere')
    await ann.reads('No device has this service.')
    await pick('Service', 'Boiler')
    await ann.field('Property').selectOption('Temperature')
    await ann.field('Value (°C)').fill('hot')
    await ann.reads('Enter a number, such as 21.5')
    await ann.field('Value (°C)').fill('70')
    await ann.isAccessible()
    await ann.button('Create alarm').click()
    await ann.sees('Boils')
    await ann.reads('Not active on any device so far')
    expect(await only()).toMatchObject({
      severity: 'critical',
      condition: { '>': [{ var: 'Temperature' }, 70] },
      forSeconds: 0,
    })
    expect(await only()).not.toHaveProperty('devices')
  })

  test('the page and the list show live on which devices an alarm is active', async () => {
    await boilers.report('BOILER-002', 95)
    await ann.row('BOILER-002').getByText('active').first().waitFor()
    await ann.reads('1 active')
    await ann.isAccessible()
    await ann.page.getByRole('link', { name: 'All alarms' }).click()
    await ann.row('Boils').getByText('active on 1 device').waitFor()
    await ann.row('Boils').getByText('Temperature is above 70 °C').waitFor()
    await boilers.report('BOILER-001', 96)
    await ann.row('Boils').getByText('active on 2 devices').waitFor()
    await ann.page.getByRole('link', { name: 'Alarms 2 not acknowledged' }).waitFor()
    await ann.button('Acknowledge on BOILER-001').click()
    await ann.field('Comment').fill('on my way')
    await ann.page.getByRole('dialog').getByRole('button', { name: 'Acknowledge', exact: true }).click()
    await ann.row('BOILER-001').getByText('on my way').waitFor()
    await ann.page.getByRole('link', { name: 'Alarms 1 not acknowledged' }).waitFor()
    await ann.isAccessible()
    await boilers.report('BOILER-001', 20)
    await boilers.report('BOILER-002', 20)
    await ann.row('Boils').getByText('quiet').waitFor()
    await ann.field('Only active').check()
    await ann.reads('No active alarms')
    await ann.field('Only active').uncheck()
    await ann.field('Search').fill('no such')
    await ann.reads('No alarms found')
    await ann.field('Search').fill('')
  })

  test('an alarm is edited as rows and as JSON, and a refusal of the server is shown at its field', async () => {
    await ann.page.getByRole('link', { name: 'Boils' }).click()
    await ann.row('BOILER-002').getByText('inactive').first().waitFor()
    await ann.row('BOILER-001').getByText('on my way').last().waitFor()
    await ann.button('Add a row').click()
    await ann.field('Property').nth(1).selectOption('Mode')
    await ann.field('Comparison').nth(1).selectOption({ label: 'is' })
    await ann.field('Value').selectOption({ label: 'Heating' })
    await ann.field('For at least').fill('2')
    await ann.button('JSON').click()
    const json = ann.field('JsonLogic')
    expect(JSON.parse(await json.inputValue())).toEqual({
      and: [{ '>': [{ var: 'Temperature' }, 70] }, { '==': [{ var: 'Mode' }, 1] }],
    })
    await json.fill('{"and":[')
    await ann.button('Save').click()
    await ann.reads('Invalid JSON')
    await json.fill('{"soon":[{"var":"Temperature"}]}')
    await ann.button('Save').click()
    await ann.reads(/must have one key, one of/)
    expect(await only()).toMatchObject({ condition: { '>': [{ var: 'Temperature' }, 70] } })
    await json.fill('{">":[{"-":[{"var":"Temperature"},{"var":"Setpoint"}]},5]}')
    await ann.reads('Rows cannot express this condition')
    await ann.field('Some devices and groups').check()
    await ann.field('Devices').fill('boiler-003, BOILER-001')
    await ann.page.keyboard.press('Enter')
    await ann.button('Remove BOILER-001').click()
    await ann.button('Save').click()
    await ann.reads('Boils is saved')
    expect(await only()).toMatchObject({
      condition: { '>': [{ '-': [{ var: 'Temperature' }, { var: 'Setpoint' }] }, 5] },
      forSeconds: 2,
      devices: ['BOILER-003'],
    })
  })

  test('a concurrent change of another user is shown, and is loaded on request', async () => {
    await ann.field('Name').fill('Mine')
    // Links, going back and reloading ask before they discard unsaved input.
    const here = ann.page.url()
    await ann.page.getByRole('link', { name: 'All alarms' }).click()
    await ann.answerLeaveDialog(false)
    await ann.page.evaluate('history.back()')
    await ann.answerLeaveDialog(false)
    expect(ann.page.url()).toBe(here)
    const asks = ann.page.waitForEvent('dialog')
    await ann.page.evaluate('setTimeout(() => location.reload())')
    const dialog = await asks
    expect(dialog.type()).toBe('beforeunload')
    await dialog.dismiss()
    expect(await ann.field('Name').inputValue()).toBe('Mine')
    const { resourceIdentifier: _, ...alarm } = await only()
    const body = { name: 'Theirs', severity: 'info', serviceIdentifier: 'boiler', condition: alarm.condition }
    expect((await server.ask(pathOf(await only()), { method: 'PUT', body })).status).toBe(200)
    await ann.reads('Another user changed this alarm meanwhile')
    expect(await ann.field('Name').inputValue()).toBe('Mine')
    await ann.button('Load the current version').click()
    await until(async () => (await ann.field('Name').inputValue()) === 'Theirs', 'what is there now')
    await ann.sees('Theirs')
    await ann.field('Name').fill('Mine')
    // The form does not overwrite a change that reaches the server just before it.
    await ann.page.route('**/alarms/*', async (route) => {
      const theirs = { method: 'PUT', body: { ...body, severity: 'warning' } }
      const isSaved = route.request().method() === 'PUT'
      if (isSaved) expect((await server.ask(pathOf(await only()), theirs)).status).toBe(200)
      await route.continue()
    })
    await ann.button('Save').click()
    await ann.seesRefusal('Another user changed it at the same moment')
    expect((await only()).name).toBe('Theirs')
    await ann.page.unroute('**/alarms/*')
    await ann.page.evaluate('history.back()')
    await ann.answerLeaveDialog(true)
    await ann.sees('Alarms')
    await ann.page.getByRole('link', { name: 'Theirs' }).click()
    await ann.sees('Theirs')
  })

  test('alarms fit a phone', async () => {
    const phone = await Visitor.open('phone')
    await phone.goTo(pathOf(await only()))
    await phone.sees('Theirs')
    await phone.isUsable()
    await phone.goTo('/alarms')
    await phone.row('Theirs').waitFor()
    await phone.fitsAPhone()
    await phone.close()
  })

  test('deleting asks for confirmation, and other browsers update their list', async () => {
    const bob = await Visitor.open()
    const release = await bob.holdRequests('**/alarms/status*')
    await bob.visit('/alarms')
    // The status is still unknown.
    await bob.row('Theirs').getByText('…').waitFor()
    await bob.goTo(pathOf(await only()))
    await bob.reads('Loading its status')
    release()
    await bob.reads('Not active on any device so far')
    await bob.goTo('/alarms')
    await bob.row('Theirs').getByText('quiet').waitFor()
    await ann.button('Delete').click()
    await ann.reads('The alarm becomes inactive on all devices')
    await ann.button('Delete alarm').click()
    await ann.sees('Alarms')
    await bob.reads('No alarms')
    expect(await stored()).toEqual([])
    await bob.close()
  })

  test('an unknown alarm is reported as not found', async () => {
    await ann.goTo('/alarms/8Hj4wRt6Zp')
    await ann.reads('It does not exist, or you may not see it.')
  })
})
