import type { Browser } from 'playwright-core'
import { describe, expect, test } from 'vitest'
import { grant, root, SignedInUser, signUp, startWithIdentity } from '#test/blackbox/signed-in-user'
import type { StartedServer } from '#test/blackbox/started-server'
import { until } from '#test/blackbox/until'
import { dialogOf, fitsAPhone, rowOf, seesToast, visit } from '#test/dashboard/page-queries'
import { openPages, Visitor } from '#test/dashboard/visitor'

/** The pages of users, roles, tenants, keys and sessions in a browser. Contract 2. */
describe('administration pages', () => {
  let server: StartedServer
  let browser: Browser
  let admin: SignedInUser
  let ann: Visitor
  openPages(startWithIdentity, async (opened) => {
    ;({ server, browser } = opened)
    admin = await SignedInUser.signIn(server)
    ann = await Visitor.open(browser, server)
    await ann.signIn(root)
    await ann.sees('Fleet')
    return ann
  })

  const page = () => ann.page
  const button = (name: string | RegExp) => ann.button(name)
  const row = (text: string) => rowOf(ann.page, text)
  const toast = (text: string) => seesToast(ann.page, text)
  const tab = (name: string) => page().getByRole('tab', { name, exact: true }).click()
  const code = () => page().locator('.one-time-secret pre').first().innerText()
  const user = async (name: string) => (await admin.get(`/iam/users/${name}`)).json as Record<string, unknown>

  test('a user is invited, signs up, is changed, disabled, enabled and deleted', async () => {
    await visit(ann, '/administration/users')
    await row('root').getByText('you').waitFor()
    await button('Create invitation').click()
    const dialog = dialogOf(page())
    await dialog.getByLabel('Name').fill('ann')
    await dialog.getByLabel('E-mail').fill('ann@acme.example')
    await dialog.getByLabel('operator').check()
    await dialog.getByLabel('The code is valid for').selectOption('a day')
    await button('Create code').click()
    await page().getByRole('heading', { name: 'The code for ann' }).waitFor()
    await page()
      .getByText(`/#/sign-up/ann/${await code()}`)
      .waitFor()
    const password = 'password of ann'
    await signUp(server, { name: 'ann', password }, await code())
    await button('Done').click()
    await page().getByRole('heading', { name: 'The code for ann' }).waitFor({ state: 'detached' })
    const invited = await SignedInUser.signIn(server, { name: 'ann', password })

    // Names are unique.
    await button('Create invitation').click()
    await dialog.getByLabel('Name').fill('ANN')
    await button('Create code').click()
    await dialog.getByRole('alert').getByText('The name is taken').waitFor()
    // Escape or a click outside does not discard input without a question.
    await page().keyboard.press('Escape')
    await ann.answerLeaveDialog(false)
    expect(await dialog.getByLabel('Name').inputValue()).toBe('ANN')
    await page().mouse.click(5, 5)
    await ann.answerLeaveDialog(true)
    await dialog.waitFor({ state: 'hidden' })

    // Only changed fields are sent.
    await button('Change ann').click()
    await dialog.getByLabel('viewer').check()
    await dialog.getByLabel('operator').uncheck()
    expect((await admin.patch('/iam/users/ann', { email: 'other@acme.example' })).status).toBe(200)
    await button('Save').click()
    await toast('ann is changed')
    expect(await user('ann')).toMatchObject({ roles: ['viewer'], email: 'other@acme.example' })
    await until(async () => (await row('ann').getByText('other@acme.example').count()) === 1, 'the list')
    await button('Change ann').click()
    await dialog.getByLabel('E-mail').fill('ann@acme.example')
    expect((await admin.patch('/iam/users/ann', { email: 'third@acme.example' })).status).toBe(200)
    await button('Save').click()
    await dialog.getByText('Another user changed this user meanwhile, so nothing was sent').waitFor()
    await button('Save').click()
    await dialog.waitFor({ state: 'hidden' })
    expect(await user('ann')).toMatchObject({ roles: ['viewer'], email: 'ann@acme.example', state: 'active' })

    await button('Disable ann').click()
    await dialog.getByText('All sessions of ann end at once').waitFor()
    await dialog.getByRole('button', { name: 'Disable ann' }).click()
    await toast('ann is disabled')
    await until(async () => !(await invited.isIn()), 'ann to be signed out')
    await row('ann').getByText('disabled').waitFor()
    await button('Enable ann').click()
    await toast('ann is enabled')

    await button('Reset password for ann').click()
    await button('Create code').click()
    await page().getByRole('heading', { name: 'The code for ann' }).waitFor()
    await signUp(server, { name: 'ann', password: 'another password' }, await code())
    await button('Done').click()

    await button('Delete ann').click()
    const confirm = dialog.getByRole('button', { name: 'Delete ann' })
    expect(await confirm.isDisabled()).toBe(true)
    await dialog.getByLabel('Type ann to confirm').fill('ann')
    await confirm.click()
    await toast('ann is deleted')
    expect((await admin.get('/iam/users/ann')).status).toBe(404)
    await page().getByLabel('Search').fill('no such user')
    await page().getByText('No users found').waitFor()
  })

  test('the last administrator cannot be disabled, and the dialog gives the reason', async () => {
    await visit(ann, '/administration/users')
    await button('Disable root').click()
    const dialog = dialogOf(page())
    await dialog.getByText('This is your own user').waitFor()
    await dialog.getByRole('button', { name: 'Disable root' }).click()
    await dialog.getByText('This is the last active administrator').waitFor()
    await page().keyboard.press('Escape')
    expect(await user('root')).toMatchObject({ state: 'active' })
  })

  test('a role is created, changed and deleted; the refusal for a role in use names its users', async () => {
    await visit(ann, '/administration/roles')
    await button('Show admin').click()
    const dialog = dialogOf(page())
    await dialog.getByText('Built-in roles cannot be changed').waitFor()
    await dialog.getByText('everything on any resource').waitFor()
    await page().keyboard.press('Escape')
    expect(await button('Change admin').count()).toBe(0)

    await button('New role').click()
    await dialog.getByLabel('Name').fill('admin')
    await dialog.getByText('A role with this name exists').waitFor()
    await dialog.getByLabel('Name').fill('wall')
    const permission = (resource: string) => dialog.getByLabel(resource, { exact: true })
    await permission('service').selectOption('read and update')
    await permission('alarms').selectOption('everything')
    await permission('meta').selectOption('none')
    await permission('schemas').selectOption('selected actions')
    expect(await dialog.getByLabel('read schemas').isChecked()).toBe(true)
    await dialog.getByLabel('create schemas').check()
    const devices = ['LAMP-1', 'LAMP-3', 'PUMP-1']
    for (const deviceIdentifier of devices) await admin.ask('/devices', { method: 'POST', body: { deviceIdentifier } })
    await dialog.getByLabel('All devices').uncheck()
    await dialog.getByLabel('Devices', { exact: true }).fill('LAMP-*')
    await page().keyboard.press('Enter')
    await dialog.getByText('Reaches 2 devices now.').waitFor()
    await button('Remove LAMP-*').click()
    await dialog.getByLabel('Devices', { exact: true }).fill('LAMP-1, lamp-2')
    await page().keyboard.press('Enter')
    await dialog.getByText('Reaches 1 device now.').waitFor()
    for (const device of devices) await admin.ask(`/devices/${device}`, { method: 'DELETE' })
    await button('Save role').click()
    await toast('Role wall is saved')
    const saved = async () => ((await admin.get('/iam/roles/wall')).json as { grants: unknown }).grants
    expect(await saved()).toEqual([
      {
        permissions: { service: ['read', 'update'], schemas: ['read', 'create'], alarms: ['*'] },
        devices: ['LAMP-1', 'LAMP-2'],
        services: ['*'],
      },
    ])

    // Saving does not restore permissions that another user removed meanwhile.
    await button('Change wall').click()
    await permission('updates').selectOption('read')
    await admin.putRole('wall', grant({ service: ['read'] }))
    await button('Save role').click()
    await dialog.getByRole('alert').getByText('Another user changed this role meanwhile').waitFor()
    expect(await saved()).toMatchObject([{ permissions: { service: ['read'] } }])
    await button('Load the current version').click()
    expect(await permission('service').inputValue()).toBe('read')
    await button('Add grant').click()
    await permission('health').last().selectOption('read')
    await button('Save role').click()
    await toast('Role wall is saved')
    await until(async () => ((await saved()) as unknown[]).length === 2, 'the second grant')

    await admin.bring('holder', ['wall'])
    await button('Delete wall').click()
    await dialog.getByRole('button', { name: 'Delete wall' }).click()
    await dialog.getByText('Role wall is in use by holder').waitFor()
    await admin.delete('/iam/users/holder')
    await dialog.getByRole('button', { name: 'Delete wall' }).click()
    await toast('Role wall is deleted')
    expect((await admin.get('/iam/roles/wall')).status).toBe(404)
    // Keyboard users continue at the list.
    await expect.poll(() => ann.focused()).toBe('Roles')
  })

  test('keys are created, shown once and deleted', async () => {
    await visit(ann, '/administration/keys')
    await page().getByText('npm run -s admin -- key add provisioning').waitFor()
    await button('New provisioning key').click()
    const dialog = dialogOf(page())
    await dialog.getByLabel('Name').fill('Hall 3')
    await dialog.getByLabel('Maximum devices').fill('2')
    await button('Create key').click()
    await page().getByRole('heading', { name: 'The provisioning key Hall 3' }).waitFor()
    const gateway = Buffer.from(`default/*:${await code()}`).toString('base64')
    const body = { deviceIdentifier: 'HALL-1', services: [], updates: [] }
    const headers = { authorization: `Basic ${gateway}` }
    expect((await server.ask('/link', { method: 'POST', body, headers })).status).toBe(204)
    await button('Done').click()
    await button('Delete Hall 3').click()
    await button('Delete the key').click()
    await toast('The key Hall 3 is deleted')
    await expect.poll(() => ann.focused()).toBe('Provisioning keys')
    expect((await server.ask('/link', { method: 'POST', body, headers })).status).toBe(401)

    await button('New API key').click()
    await dialog.getByLabel('Name').and(page().locator(':focus')).waitFor()
    await dialog.getByLabel('Name').fill('Reporting')
    await dialog.getByLabel('viewer').check()
    await dialog.getByLabel('Valid').selectOption('a year')
    await button('Create key').click()
    await page().getByRole('heading', { name: 'The API key Reporting' }).waitFor()
    const key = { 'x-api-key': await code() }
    expect((await server.get('/iam/me', key)).json).toMatchObject({ roles: ['viewer'] })
    await button('Done').click()
    await button('Delete Reporting').click()
    await button('Delete the key').click()
    await toast('The key Reporting is deleted')
    expect((await server.get('/iam/me', key)).status).toBe(401)
  })

  test('a tenant is created, selected, changed and deleted', async () => {
    await visit(ann, '/administration/tenants')
    await page().getByText('npm run admin -- tenant add acme').waitFor()
    await button('New tenant').click()
    const dialog = dialogOf(page())
    await dialog.getByLabel('Identifier').fill('acme')
    await dialog.getByLabel('Name').fill('Acme')
    await dialog.getByLabel('Second factor').selectOption('required')
    await button('Create tenant').click()
    await toast('Tenant acme is created')
    await button('Users of Acme').click()
    await page().getByText('npm run admin -- user add ann --role operator --tenant acme').waitFor()
    await button('Create invitation').click()
    await dialog.getByLabel('Name').fill('eve')
    await button('Create code').click()
    await page().getByRole('heading', { name: 'The code for eve' }).waitFor()
    expect((await admin.get('/iam/users/eve?tenant=acme')).json).toMatchObject({ name: 'eve', state: 'invited' })
    expect((await admin.get('/iam/users/eve')).status).toBe(404)

    await tab('Tenants')
    await button('Change Acme').click()
    expect((await admin.patch('/iam/tenants/acme', { name: 'Acme Ltd' })).status).toBe(200)
    await dialog.getByLabel('Hosts').fill('not a host!')
    await button('Save').click()
    await dialog.getByText('must be a host name').first().waitFor()
    await dialog.getByLabel('Hosts').fill('devices.acme.example')
    await dialog.getByLabel('Basic scheme').uncheck()
    await button('Save').click()
    await toast('Tenant acme is changed')
    expect((await admin.get('/iam/tenants/acme')).json).toMatchObject({
      hosts: ['devices.acme.example'],
      basic: false,
      twoFactor: 'required',
      name: 'Acme Ltd',
    })
    await button('Delete Acme Ltd').click()
    await dialog.getByLabel('Type acme to confirm').fill('acme')
    await button('Delete tenant and all data').click()
    await toast('Tenant acme is closed')
    await tab('Users')
    await row('root').waitFor()
    // The user's own tenant is selected again, and the picker is hidden because no other tenant is left.
    expect(await page().getByLabel('Tenant').count()).toBe(0)
  })

  test('sessions are listed and ended', async () => {
    const sam = await admin.bringIn('sam', ['viewer'])
    await visit(ann, '/administration/sessions')
    await page().getByText('npm run admin -- session list ann').waitFor()
    await page().getByLabel('User').fill('unknown')
    await button('Show').click()
    await page().getByText('There is no user unknown here').first().waitFor()
    await page().getByLabel('User').fill('sam')
    await button('Show').click()
    await row('127.0.0.1').getByText('Basic').waitFor()
    await button('Sign sam out everywhere').click()
    await button('End all sessions').click()
    await toast('sam is signed out everywhere')
    await page().getByText('sam has no sessions').waitFor()
    expect(await sam.isIn()).toBe(false)
  })

  test('changes and sign-ins are listed, of all users and of one, for a user who may read only those', async () => {
    await admin.putRole('auditor', grant({ audit: ['read'] }))
    const auditor = await Visitor.open(browser, server)
    await auditor.signIn(await admin.bring('auditor', ['auditor']))
    await auditor.sees('Access denied')
    await visit(auditor, '/administration')
    await rowOf(auditor.page, 'PUT /iam/roles/auditor').getByText('root').waitFor()
    expect(await auditor.page.getByRole('tab').allInnerTexts()).toEqual(['Audit'])
    await auditor.field('User or key').fill('Auditor')
    await auditor.button('Show').click()
    await rowOf(auditor.page, 'PUT /iam/roles/auditor').waitFor({ state: 'detached' })
    await rowOf(auditor.page, 'POST /auth/login').first().waitFor()
    await auditor.field('User or key').fill('no such user')
    await auditor.button('Show').click()
    await auditor.reads('Nothing found')
    await auditor.close()
  })

  test('all tabs are accessible and fit a phone', async () => {
    for (const where of ['users', 'roles', 'tenants', 'keys', 'sessions', 'audit']) {
      await visit(ann, `/administration/${where}`)
      await page().getByRole('tab', { selected: true }).waitFor()
      await until(async () => (await page().locator('.loading').count()) === 0, 'everything to be read')
      await ann.isAccessible()
      await fitsAPhone(ann)
    }
    await visit(ann, '/administration/roles')
    await button('New role').click()
    await dialogOf(page()).getByLabel('All devices').waitFor()
    await ann.isAccessible()
  })

  test('actions and lists that a user has no permission for are hidden', async () => {
    await admin.putRole('looker', grant({ users: ['read'], service: ['read'] }))
    const looker = await admin.bring('looker', ['looker'])
    const other = await Visitor.open(browser, server)
    await other.signIn(looker)
    await other.sees('Fleet')
    await visit(other, '/administration')
    await rowOf(other.page, 'looker').getByText('you').waitFor()
    expect(await other.page.getByRole('tab').allInnerTexts()).toEqual(['Users', 'Keys', 'Sessions'])
    for (const name of [/^Invite/, /^Change/, /^Disable/, /^Delete/, /^Reset/]) {
      expect(await other.button(name).count()).toBe(0)
    }
    await visit(other, '/administration/keys')
    await other.reads('No API keys')
    expect(await other.button(/^New/).count()).toBe(0)
    expect(await other.page.getByText('Provisioning keys').count()).toBe(0)
    await other.close()

    // All permissions, but for one device: actions that concern all devices are hidden.
    await admin.putRole('narrow', grant({ '*': ['*'] }, ['LAMP-1']))
    const narrow = await Visitor.open(browser, server)
    await narrow.signIn(await admin.bring('narrow', ['narrow']))
    await narrow.reads('which an administrator can create')
    await narrow.button('Add device').first().waitFor()
    expect(await narrow.button('Create key').count()).toBe(0)
    await narrow.goTo('/administration/keys')
    await narrow.reads('No provisioning keys')
    expect(await narrow.button('New provisioning key').count()).toBe(0)
    await narrow.goTo('/firmware')
    await narrow.reads('No firmware')
    expect(await narrow.button('New release').count()).toBe(0)
    await narrow.goTo('/firmware/lamps')
    await narrow.reads('No rollout')
    expect(await narrow.button(/^New/).count()).toBe(0)
    await narrow.button('Pin device').click()
    await narrow.field('Device').fill('pump-7')
    await narrow.reads('You may not update this device.')
    expect(await narrow.button('Pin').isDisabled()).toBe(true)
    await narrow.field('Device').fill('lamp-1')
    await narrow.page.getByText('You may not update this device.').waitFor({ state: 'detached' })
    await narrow.close()
  })
})
