import { describe, expect, test } from 'vitest'
import type { Answer } from '#client/client'
import { until } from '#test/blackbox/until'
import { ann, boilers, openPages, server, Visitor } from '#test/dashboard/visitor'

/** Expects no errors except those of Chromium about blocked scripts of a template. */
function expectOnlyBlockedScripts(visitor: Visitor): void {
  const faults = visitor.faults.splice(0)
  expect(faults.filter((fault) => !fault.includes('Blocked script execution'))).toEqual([])
}

/** Functions, templates and groups in a browser. Contract 5.1, 5.4, 5.5. */
describe('functions in a browser', () => {
  openPages({ boilers: 3 })

  const openList = (name: string) =>
    ann.page.getByRole('navigation', { name: 'Functions, templates and groups' }).getByRole('link', { name }).click()
  const card = (title: string) => ann.page.getByRole('region', { name: title })
  const drawn = (id: string, where = 'form') =>
    ann.page
      .locator(`${where} .graph`)
      .first()
      .getByRole('button', { name: new RegExp(`^${id}, `) })
  const functions = async () => (await server.get('/functions')).json as Answer<'GET /functions'>

  test('an empty list explains functions', async () => {
    await ann.goTo('/functions')
    await ann.sees('Functions')
    await ann.reads('No functions')
    await ann.isAccessible()
  })

  test('a template is written in two languages, with a preview of each', async () => {
    await openList('Templates')
    await ann.reads('No templates')
    await ann.field('Name').fill('too hot')
    await ann.reads('Must be 1 to 64 characters: letters, digits and . _ -.')
    await ann.field('Name').fill('too-hot')
    await ann.button('Create template').click()
    await ann.sees('too-hot')
    await ann.reads('not saved yet')
    await ann.field('Subject').fill('{{deviceIdentifier}} is at {{value}}')
    await ann.page.getByRole('article', { name: 'Preview in en' }).getByText('SENSOR-1 is at 31.5').waitFor()
    await ann.field('Text').fill('{{{value}}}')
    await ann.reads(/^Line 1: .*values cannot be left unescaped/)
    await ann.field('Text').fill('It was {{previous}}.')
    await ann.field('Also as HTML').check()
    await ann
      .field('HTML')
      .fill(
        '<LINK rel="preconnect" href="https://elsewhere.example"><b>{{meta.site}}</b><script>parent.document.title = "taken"</script>',
      )
    const frame = ann.page.frameLocator('iframe[title="Preview in en, as HTML"]')
    await frame.getByText('Bern').waitFor()
    expect(await frame.locator('link').count()).toBe(0)
    expect(await frame.locator('[rel=preconnect]').count()).toBe(1)
    await ann.isAccessible()
    await ann.field('Add a locale').fill('de')
    await ann.page.keyboard.press('Enter')
    await ann.page.getByRole('tab', { name: 'de' }).click()
    await ann.field('Subject').fill('{{deviceIdentifier}} ist bei {{value}}')
    await ann.field('Also as HTML').uncheck()
    await ann.page.getByRole('article', { name: 'Preview in de' }).getByText('SENSOR-1 ist bei 31.5').waitFor()
    await ann.button('Create template').click()
    await ann.reads('too-hot is created')
    expect(await ann.page.title()).toMatch(/^too-hot/)
    expect(ann.faults.length).toBeGreaterThan(0)
    expectOnlyBlockedScripts(ann)
    expect((await server.get('/templates/too-hot')).json).toMatchObject({
      locales: {
        en: { subject: '{{deviceIdentifier}} is at {{value}}', text: 'It was {{previous}}.', html: expect.any(String) },
        de: { subject: '{{deviceIdentifier}} ist bei {{value}}', text: 'It was {{previous}}.' },
      },
    })
  })

  test('a group is created from a typed list of devices', async () => {
    await ann.goTo('/functions/groups')
    await ann.reads('No groups')
    await ann.page.getByRole('link', { name: 'New group' }).click()
    await ann.field('Name').fill('Cellar')
    await ann.field('Devices').fill('boiler-002 BOILER-001, not_one')
    await ann.button('Add').click()
    await ann.reads('Not known yet: NOT_ONE.')
    await ann.button('Create group').click()
    await ann.reads(/prefix followed by letters.*\(NOT_ONE\)/)
    await ann.button('Remove NOT_ONE').click()
    await ann.isAccessible()
    await ann.button('Create group').click()
    await ann.sees('Cellar')
    expect((await server.get('/groups')).json).toMatchObject([
      { name: 'Cellar', devices: ['BOILER-001', 'BOILER-002'] },
    ])
  })

  test('a function is built step by step, with messages at incomplete steps', async () => {
    await ann.goTo('/functions/new')
    await ann.field('Name').fill('Heat')
    await ann.button('Create function').click()
    await ann.reads('Add a trigger first')
    await ann.button('+ When a value changes').click()
    await ann.button('Behind changed: only if').click()
    await ann.button('Behind if: throttle').click()
    await ann.button('Behind limit: send mail').click()
    await ann.button('Create function').click()
    await card('Send mail').getByText('needs a template').waitFor()
    await card('Only if').getByText('needs a condition').waitFor()
    await drawn('mail').and(ann.page.getByLabel('invalid')).waitFor()
    await ann.isAccessible()

    await card('When a value changes').getByLabel('Service').selectOption({ label: 'Boiler' })
    await card('When a value changes').getByLabel('Property').selectOption('0x2000')
    await card('Only if').getByLabel('Property').selectOption('value')
    await card('Only if').getByLabel('Value').fill('30')
    await card('Throttle').getByLabel('At most once every').fill('2')
    await card('Send mail').getByLabel('Template', { exact: true }).selectOption('Other…')
    await card('Send mail').getByLabel('Name of the template').fill('nothing')
    await card('Send mail').getByText('This template does not exist').waitFor()
    await card('Send mail').getByLabel('Template', { exact: true }).selectOption('too-hot')
    await ann.field('Some devices and groups').check()
    await ann.field('Cellar').check()
    await ann.button('Create function').click()
    await ann.sees('Heat')
    const [made] = await functions()
    expect(made).toMatchObject({
      enabled: true,
      binding: { devices: [], groups: [expect.any(String)] },
      graph: {
        nodes: [
          { id: 'changed', type: 'trigger', on: 'property', serviceIdentifier: 'boiler', propId: 0x2000 },
          { id: 'if', type: 'condition', logic: { '>': [{ var: 'value' }, 30] } },
          { id: 'limit', type: 'throttle', seconds: 7_200 },
          { id: 'mail', type: 'email', template: 'too-hot' },
        ],
        edges: [
          ['changed', 'if'],
          ['if', 'limit'],
          ['limit', 'mail'],
        ],
      },
    })
  })

  test('a test run shows the path and the mail', async () => {
    const sample = ann.page.getByRole('form', { name: 'Sample' })
    await sample.getByLabel('Value', { exact: true }).fill('31.5')
    await sample.getByLabel('Previous value').fill('29')
    await sample.getByLabel('Device').fill('boiler-001')
    await sample.getByLabel('Locale of the reader').fill('de-CH')
    await ann.button('Run test').click()
    await ann.reads('changed → if → limit → mail')
    const mail = ann.page.getByRole('article', { name: 'Mail of mail, in de' })
    await mail.getByText('BOILER-001 ist bei 31.5').waitFor()
    await mail.getByText('It was 29.').waitFor()
    await drawn('mail', '.test-outcome').and(ann.page.getByLabel('entered')).waitFor()
    await ann.isAccessible()
    await sample.getByLabel('Value', { exact: true }).fill('20')
    await ann.button('Run test').click()
    await ann.reads('its condition is false')
    await ann.reads('No mail would be sent')
    await drawn('if', '.test-outcome').and(ann.page.getByLabel('stopped here')).waitFor()
    await sample.getByLabel('Locale of the reader').fill('deutsch')
    await ann.button('Run test').click()
    await ann.reads(/must be a locale such as en/)
  })

  test('a refusal of the server is shown at its step', async () => {
    await card('Only if').getByRole('button', { name: 'JSON' }).click()
    await card('Only if').getByLabel('JsonLogic').fill('{">":[{"var":"warmth"},30]}')
    await ann.reads('The test runs the saved function')
    await ann.button('Save').click()
    await card('Only if')
      .getByText(/must be value, previous.*\(at logic/)
      .waitFor()
    await drawn('if').and(ann.page.getByLabel('invalid')).waitFor()
    expect((await functions())[0]?.graph.nodes[1]).toMatchObject({ logic: { '>': [{ var: 'value' }, 30] } })
    await card('Only if').getByLabel('JsonLogic').fill('{">":[{"var":"value"},{"var":["previous",0]}]}')
    await ann.button('Save').click()
    await ann.reads('Heat is saved')
    expect((await functions())[0]?.graph.nodes[1]).toMatchObject({
      logic: { '>': [{ var: 'value' }, { var: ['previous', 0] }] },
    })
  })

  test('a concurrent change of another user is shown before it can be overwritten', async () => {
    const idOf = (resource: { readonly resourceIdentifier: string } | undefined) =>
      resource?.resourceIdentifier.split(':')[1]
    const [fn] = await functions()
    const [group] = (await server.get('/groups')).json as Answer<'GET /groups'>
    const words = { subject: 'Theirs', text: 'Theirs' }
    const pages = [
      { path: `/functions/${idOf(fn)}`, kind: 'function', field: 'Name', method: 'PATCH', body: { enabled: false } },
      { path: `/groups/${idOf(group)}`, kind: 'group', field: 'Name', method: 'PATCH', body: { name: 'Theirs' } },
      {
        path: '/templates/too-hot',
        kind: 'template',
        field: 'Subject',
        method: 'PUT',
        body: { locales: { en: words } },
      },
    ]
    for (const { path, kind, field, method, body } of pages) {
      // Without a reload, a pending read could show the other change before the form is sent.
      await ann.visit(kind === 'function' ? path : `/functions${path}`)
      const before = await ann.field(field).inputValue()
      await ann.field(field).fill('Mine')
      expect((await server.ask(path, { method, body })).status).toBe(200)
      await ann.button('Save').click()
      await ann.page
        .getByRole('alert')
        .filter({ hasText: `Another user changed this ${kind} meanwhile` })
        .waitFor()
      await ann.button('Load the current version').click()
      expect(await ann.field(field).inputValue()).toBe(kind === 'function' ? before : 'Theirs')
    }
    await ann.visit(`/functions/${idOf(fn)}`)
    expect(await ann.field('Enabled').isChecked()).toBe(false)
    await ann.field('Enabled').check()
    await ann.button('Save').click()
    await ann.reads('Heat is saved')
    expect((await server.ask(`/groups/${idOf(group)}`, { method: 'PATCH', body: { name: 'Cellar' } })).status).toBe(200)
    // The preview showed the old template, which contains a script.
    expectOnlyBlockedScripts(ann)
  })

  test('a keyboard user moves from the graph to a step, and adds and removes a step', async () => {
    const focusIsAt = (id: string) =>
      until(async () => {
        const heading = await ann.page.evaluate('document.activeElement?.querySelector("h3")?.textContent ?? ""')
        return (heading as string).endsWith(` ${id}`)
      }, `the focus to be at ${id}`)
    await drawn('limit').focus()
    await ann.page.keyboard.press('Enter')
    await focusIsAt('limit')
    await ann.button('Behind limit: send mail').focus()
    await ann.page.keyboard.press('Enter')
    await drawn('mail-2').waitFor()
    await focusIsAt('mail-2')
    await ann.button('Remove mail-2').focus()
    await ann.page.keyboard.press('Enter')
    await drawn('mail-2').waitFor({ state: 'detached' })
    await focusIsAt('mail')
  })

  test('an alarm that is chosen by name triggers another function', async () => {
    const alarm = { name: 'Boils', severity: 'critical', serviceIdentifier: 'boiler', condition: { var: 'Mode' } }
    expect((await server.ask('/alarms', { method: 'POST', body: alarm })).status).toBe(201)
    await ann.goTo('/functions/new')
    // The step that was added and removed is an unsaved change.
    await ann.answerLeaveDialog(true)
    await ann.field('Name').fill('Boiling')
    await ann.button('+ When an alarm changes state').click()
    await card('When an alarm changes state').getByLabel('Alarm', { exact: true }).selectOption({ label: 'Boils' })
    await card('When an alarm changes state').getByLabel('Trigger').selectOption({ label: 'when it becomes inactive' })
    await ann.reads('The function sends nothing yet.')
    await ann.button('Behind alarm: send mail').click()
    await card('Send mail').getByLabel('Template', { exact: true }).selectOption('too-hot')
    await ann.button('Create function').click()
    await ann.sees('Boiling')
    await drawn('alarm')
      .and(ann.page.getByLabel(/Boils becomes inactive/))
      .waitFor()
  })

  test('functions are disabled and enabled in the list, and a group in use cannot be deleted', async () => {
    await ann.goTo('/functions')
    await ann.button('Disable Heat').click()
    await ann.reads('Heat is disabled')
    await ann.button('Enable Heat').waitFor()
    expect((await functions()).map(({ enabled }) => enabled).sort()).toEqual([false, true])
    await ann.isAccessible()
    await ann.goTo('/functions/groups')
    await ann.page.getByRole('link', { name: 'Cellar' }).click()
    await ann.button('Delete').click()
    await ann.button('Delete group').click()
    await ann.page.locator('dialog').getByText('The group is in use').waitFor()
    await ann.page.keyboard.press('Escape')
  })

  test('deleting a function asks for confirmation', async () => {
    await ann.goTo('/functions')
    await ann.page.getByRole('link', { name: 'Heat' }).click()
    await ann.button('Delete').click()
    await ann.button('Delete function').click()
    await ann.sees('Functions')
    await ann.page.getByRole('link', { name: 'Boiling' }).waitFor()
    expect((await functions()).map(({ name }) => name)).toEqual(['Boiling'])
  })

  test('the secret of a webhook is shown once, and its deliveries are listed', async () => {
    await ann.goTo('/functions/new')
    await ann.field('Name').fill('Call')
    await ann.button('+ When a device changes status').click()
    await ann.button('Behind status: call webhook').click()
    await ann.button('Create function').click()
    await card('Call webhook').getByText('needs a URL').waitFor()
    await card('Call webhook').getByLabel('URL').fill('https://127.0.0.1/hook')
    await ann.button('Create function').click()
    await card('Call webhook').getByText('must have a public address').waitFor()
    await card('Call webhook').getByLabel('URL').fill('https://hooks.invalid')
    await ann.button('Create function').click()
    await ann.sees('Call')
    const secret = ann.page.locator('.one-time-secret pre')
    expect(await secret.innerText()).toMatch(/^whsec_/)
    await ann.isAccessible()
    await ann.button('Done').click()
    await secret.waitFor({ state: 'detached' })
    await ann.reads('Nothing was sent yet')
    boilers.cut()
    await until(async () => {
      await ann.button('Refresh').click()
      return ann.page.getByRole('table', { name: 'Last webhooks' }).getByText('unknown host').first().isVisible()
    }, 'an attempt')
    await ann.isAccessible()
  })

  test('functions fit a phone', async () => {
    const phone = await Visitor.open('phone')
    await phone.goTo('/functions')
    await phone.page.getByRole('link', { name: 'Boiling' }).click()
    await phone.sees('Boiling')
    await phone.page.locator('.graph').waitFor()
    await phone.isUsable()
    for (const [path, title] of [
      ['', 'Functions'],
      ['/templates', 'Templates'],
      ['/templates/too-hot', 'too-hot'],
      ['/groups', 'Groups'],
      ['/groups/new', 'New group'],
    ] as const) {
      await phone.goTo(`/functions${path}`)
      await phone.sees(title)
      await until(async () => (await phone.page.locator('.loading').count()) === 0, 'everything to be read')
      await phone.fitsAPhone()
    }
    expectOnlyBlockedScripts(phone)
    await phone.close()
  })
})
