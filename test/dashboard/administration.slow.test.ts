import { describe, expect, test } from 'vitest'
import { grant, root, SignedInUser, signUp, startWithIdentity } from '#test/blackbox/signed-in-user'
import { until } from '#test/blackbox/until'
import { ann, openPages, server, Visitor } from '#test/dashboard/visitor'

/** The pages of users, roles, tenants, keys and sessions in a browser. Contract 2. */
describe('administration pages', () => {
  let admin: SignedInUser
  openPages({ start: startWithIdentity, user: root }, async () => {
    admin = await SignedInUser.signIn(server)
  })

  const input = (label: string) => ann.dialog.getByLabel(label)
  const tab = (name: string) => ann.page.getByRole('tab', { name, exact: true }).click()
  const code = () => ann.page.locator('.one-time-secret pre').first().innerText()
  const user = async (name: string) => (await admin.get(`/iam/users/${name}`)).json as Record<string, unknown>

  test('a user is invited, signs up, is changed, disabled, enabled and deleted', async () => {
    await ann.visit('/administration/users')
    await ann.row('root').getByText('you').waitFor()
    await ann.button('Create invitation').click()
    await input('Name').fill('ann')
    await input('E-mail').fill('ann@acme.example')
    await input('operator').check()
    await input('The code is valid for').selectOption('a day')
    await ann.button('Create code').click()
    await ann.page.getByRole('heading', { name: 'The code for ann' }).waitFor()
    await ann.page.getByText(`/#/sign-up/ann/${await code()}`).waitFor()
    const password = 'password of ann'
    await signUp(server, { name: 'ann', password }, await code())
    await ann.button('Done').click()
    await ann.page.getByRole('heading', { name: 'The code for ann' }).waitFor({ state: 'detached' })
    const invited = await SignedInUser.signIn(server, { name: 'ann', password })

    // Names are unique.
    await ann.button('Create invitation').click()
    await input('Name').fill('ANN')
    await ann.button('Create code').click()
    await ann.dialog.getByRole('alert').getByText('The name is taken').waitFor()
    // Escape and a click outside the dialog ask before they discard input.
    await ann.page.keyboard.press('Escape')
    await ann.answerLeaveDialog(false)
    expect(await input('Name').inputValue()).toBe('ANN')
    await ann.page.mouse.click(5, 5)
    await ann.answerLeaveDialog(true)
    await ann.dialog.waitFor({ state: 'hidden' })

    // The page sends only changed fields.
    await ann.button('Change ann').click()
    await input('viewer').check()
    await input('operator').uncheck()
    expect((await admin.patch('/iam/users/ann', { email: 'other@acme.example' })).status).toBe(200)
    await ann.button('Save').click()
    await ann.seesToast('ann is saved')
    expect(await user('ann')).toMatchObject({ roles: ['viewer'], email: 'other@acme.example' })
    await until(async () => (await ann.row('ann').getByText('other@acme.example').count()) === 1, 'the list')
    await ann.button('Change ann').click()
    await input('E-mail').fill('ann@acme.example')
    expect((await admin.patch('/iam/users/ann', { email: 'third@acme.example' })).status).toBe(200)
    await ann.button('Save').click()
    await ann.dialog.getByText('Another user changed this user meanwhile, so nothing was sent').waitFor()
    await ann.button('Save').click()
    await ann.dialog.waitFor({ state: 'hidden' })
    expect(await user('ann')).toMatchObject({ roles: ['viewer'], email: 'ann@acme.example', state: 'active' })

    await ann.button('Disable ann').click()
    await ann.dialog.getByText('All sessions of ann end at once').waitFor()
    await ann.dialog.getByRole('button', { name: 'Disable ann' }).click()
    await ann.seesToast('ann is disabled')
    await until(async () => !(await invited.isIn()), 'ann to be signed out')
    await ann.row('ann').getByText('disabled').waitFor()
    await ann.button('Enable ann').click()
    await ann.seesToast('ann is enabled')

    await ann.button('Reset password for ann').click()
    await ann.button('Create code').click()
    await ann.page.getByRole('heading', { name: 'The code for ann' }).waitFor()
    await signUp(server, { name: 'ann', password: 'another password' }, await code())
    await ann.button('Done').click()

    await ann.button('Delete ann').click()
    const confirm = ann.dialog.getByRole('button', { name: 'Delete ann' })
    expect(await confirm.isDisabled()).toBe(true)
    await input('Type ann to confirm').fill('ann')
    await confirm.click()
    await ann.seesToast('ann is deleted')
    expect((await admin.get('/iam/users/ann')).status).toBe(404)
    await ann.page.getByLabel('Search').fill('no such user')
    await ann.page.getByText('No users found').waitFor()
  })

  test('the last administrator cannot be disabled, and the dialog gives the reason', async () => {
    await ann.visit('/administration/users')
    await ann.button('Disable root').click()
    await ann.dialog.getByText('This is your own user').waitFor()
    await ann.dialog.getByRole('button', { name: 'Disable root' }).click()
    await ann.dialog.getByText('This is the last active administrator').waitFor()
    await ann.page.keyboard.press('Escape')
    expect(await user('root')).toMatchObject({ state: 'active' })
  })

  test('a role is created, changed and deleted, and the refusal for a role in use names the users', async () => {
    await ann.visit('/administration/roles')
    await ann.button('Show admin').click()
    await ann.dialog.getByText('Built-in roles cannot be changed').waitFor()
    await ann.dialog.getByText('everything on any resource').waitFor()
    await ann.page.keyboard.press('Escape')
    expect(await ann.button('Change admin').count()).toBe(0)

    await ann.button('New role').click()
    await input('Name').fill('admin')
    await ann.dialog.getByText('A role with this name exists').waitFor()
    await input('Name').fill('wall')
    const permission = (resource: string) => ann.dialog.getByLabel(resource, { exact: true })
    await permission('service').selectOption('read and update')
    await permission('alarms').selectOption('everything')
    await permission('meta').selectOption('none')
    await permission('schemas').selectOption('selected actions')
    expect(await input('read schemas').isChecked()).toBe(true)
    await input('create schemas').check()
    const devices = ['LAMP-1', 'LAMP-3', 'PUMP-1']
    for (const deviceIdentifier of devices) await admin.ask('/devices', { method: 'POST', body: { deviceIdentifier } })
    await input('All devices').uncheck()
    await ann.dialog.getByLabel('Devices', { exact: true }).fill('LAMP-*')
    await ann.page.keyboard.press('Enter')
    await ann.dialog.getByText('Covers 2 devices now.').waitFor()
    await ann.button('Remove LAMP-*').click()
    await ann.dialog.getByLabel('Devices', { exact: true }).fill('LAMP-1, lamp-2')
    await ann.page.keyboard.press('Enter')
    await ann.dialog.getByText('Covers 1 device now.').waitFor()
    for (const device of devices) await admin.ask(`/devices/${device}`, { method: 'DELETE' })
    await ann.button('Save role').click()
    await ann.seesToast('Role wall is saved')
    const saved = async () => ((await admin.get('/iam/roles/wall')).json as { grants: unknown }).grants
    expect(await saved()).toEqual([
      {
        permissions: { service: ['read', 'update'], schemas: ['read', 'create'], alarms: ['*'] },
        devices: ['LAMP-1', 'LAMP-2'],
        services: ['*'],
      },
    ])

    // The form does not save permissions again that another user has removed meanwhile.
    await ann.button('Change wall').click()
    await permission('updates').selectOption('read')
    await admin.putRole('wall', grant({ service: ['read'] }))
    await ann.button('Save role').click()
    await ann.dialog.getByRole('alert').getByText('Another user changed this role meanwhile').waitFor()
    expect(await saved()).toMatchObject([{ permissions: { service: ['read'] } }])
    await ann.button('Load the current version').click()
    expect(await permission('service').inputValue()).toBe('read')
    await ann.button('Add grant').click()
    await permission('health').last().selectOption('read')
    await ann.button('Save role').click()
    await ann.seesToast('Role wall is saved')
    await until(async () => ((await saved()) as unknown[]).length === 2, 'the second grant')

    await admin.bring('holder', ['wall'])
    await ann.button('Delete wall').click()
    await ann.dialog.getByRole('button', { name: 'Delete wall' }).click()
    await ann.dialog.getByText('Role wall is in use by holder').waitFor()
    await admin.delete('/iam/users/holder')
    await ann.dialog.getByRole('button', { name: 'Delete wall' }).click()
    await ann.seesToast('Role wall is deleted')
    expect((await admin.get('/iam/roles/wall')).status).toBe(404)
    // The focus returns to the list for keyboard users.
    await expect.poll(() => ann.focused()).toBe('Roles')
  })

  test('keys are created, shown once and deleted', async () => {
    await ann.visit('/administration/keys')
    await ann.page.getByText('npm run -s admin -- key add provisioning').waitFor()
    await ann.button('New provisioning key').click()
    await input('Name').fill('Hall 3')
    await input('Maximum devices').fill('2')
    await ann.button('Create key').click()
    await ann.page.getByRole('heading', { name: 'The provisioning key Hall 3' }).waitFor()
    const gateway = Buffer.from(`default/*:${await code()}`).toString('base64')
    const body = { deviceIdentifier: 'HALL-1', services: [], updates: [] }
    const headers = { authorization: `Basic ${gateway}` }
    expect((await server.ask('/link', { method: 'POST', body, headers })).status).toBe(204)
    await ann.button('Done').click()
    await ann.button('Delete Hall 3').click()
    await ann.button('Delete the key').click()
    await ann.seesToast('The key Hall 3 is deleted')
    await expect.poll(() => ann.focused()).toBe('Provisioning keys')
    expect((await server.ask('/link', { method: 'POST', body, headers })).status).toBe(401)

    await ann.button('New API key').click()
    await input('Name').and(ann.page.locator(':focus')).waitFor()
    await input('Name').fill('Reporting')
    await input('viewer').check()
    await input('Valid').selectOption('a year')
    await ann.button('Create key').click()
    await ann.page.getByRole('heading', { name: 'The API key Reporting' }).waitFor()
    const key = { 'x-api-key': await code() }
    expect((await server.get('/iam/me', key)).json).toMatchObject({ roles: ['viewer'] })
    await ann.button('Done').click()
    await ann.button('Delete Reporting').click()
    await ann.button('Delete the key').click()
    await ann.seesToast('The key Reporting is deleted')
    expect((await server.get('/iam/me', key)).status).toBe(401)
  })

  test('a tenant is created, selected, changed and deleted', async () => {
    await ann.visit('/administration/tenants')
    await ann.page.getByText('npm run admin -- tenant add acme').waitFor()
    await ann.button('New tenant').click()
    await input('Identifier').fill('acme')
    await input('Name').fill('Acme')
    await input('Second factor').selectOption('required')
    await ann.button('Create tenant').click()
    await ann.seesToast('Tenant acme is created')
    await ann.button('Users of Acme').click()
    await ann.page.getByText('npm run admin -- user add ann --role operator --tenant acme').waitFor()
    await ann.button('Create invitation').click()
    await input('Name').fill('eve')
    await ann.button('Create code').click()
    await ann.page.getByRole('heading', { name: 'The code for eve' }).waitFor()
    expect((await admin.get('/iam/users/eve?tenant=acme')).json).toMatchObject({ name: 'eve', state: 'invited' })
    expect((await admin.get('/iam/users/eve')).status).toBe(404)

    await tab('Tenants')
    await ann.button('Change Acme').click()
    expect((await admin.patch('/iam/tenants/acme', { name: 'Acme Ltd' })).status).toBe(200)
    await input('Hosts').fill('not a host!')
    await ann.button('Save').click()
    await ann.dialog.getByText('must be a host name').first().waitFor()
    await input('Hosts').fill('devices.acme.example')
    await input('Basic scheme').uncheck()
    await ann.button('Save').click()
    await ann.seesToast('Tenant acme is saved')
    expect((await admin.get('/iam/tenants/acme')).json).toMatchObject({
      hosts: ['devices.acme.example'],
      basic: false,
      twoFactor: 'required',
      name: 'Acme Ltd',
    })
    await ann.button('Delete Acme Ltd').click()
    await input('Type acme to confirm').fill('acme')
    await ann.button('Delete tenant and all data').click()
    await ann.seesToast('Tenant acme is closed')
    await tab('Users')
    await ann.row('root').waitFor()
    // The tenant of the user is selected again. The picker is hidden, because there is no other tenant.
    expect(await ann.page.getByLabel('Tenant').count()).toBe(0)
  })

  test('sessions are listed and ended', async () => {
    const sam = await admin.bringIn('sam', ['viewer'])
    await ann.visit('/administration/sessions')
    await ann.page.getByText('npm run admin -- session list ann').waitFor()
    await ann.page.getByLabel('User').fill('unknown')
    await ann.button('Show').click()
    await ann.page.getByText('There is no user unknown here').first().waitFor()
    await ann.page.getByLabel('User').fill('sam')
    await ann.button('Show').click()
    await ann.row('127.0.0.1').getByText('Basic').waitFor()
    await ann.button('Sign sam out everywhere').click()
    await ann.button('End all sessions').click()
    await ann.seesToast('sam is signed out everywhere')
    await ann.page.getByText('sam has no sessions').waitFor()
    expect(await sam.isIn()).toBe(false)
  })

  test('a user who may read only the audit sees the changes and sign-ins of all users or of one user', async () => {
    await admin.putRole('auditor', grant({ audit: ['read'] }))
    const auditor = await Visitor.open()
    await auditor.signIn(await admin.bring('auditor', ['auditor']))
    await auditor.sees('Access denied')
    await auditor.visit('/administration')
    await auditor.row('PUT /iam/roles/auditor').getByText('root').waitFor()
    expect(await auditor.page.getByRole('tab').allInnerTexts()).toEqual(['Audit'])
    await auditor.field('User or API key').fill('Auditor')
    await auditor.button('Show').click()
    await auditor.row('PUT /iam/roles/auditor').waitFor({ state: 'detached' })
    await auditor.row('POST /auth/login').first().waitFor()
    await auditor.field('User or API key').fill('no such user')
    await auditor.button('Show').click()
    await auditor.reads('No entries found')
    await auditor.close()
  })

  test('all tabs are accessible and fit a phone', async () => {
    for (const where of ['users', 'roles', 'tenants', 'keys', 'sessions', 'audit']) {
      await ann.visit(`/administration/${where}`)
      await ann.page.getByRole('tab', { selected: true }).waitFor()
      await until(async () => (await ann.page.locator('.loading').count()) === 0, 'everything to be read')
      await ann.isUsable()
    }
    await ann.visit('/administration/roles')
    await ann.button('New role').click()
    await input('All devices').waitFor()
    await ann.isAccessible()
  })

  test('actions and lists without permission are hidden', async () => {
    await admin.putRole('looker', grant({ users: ['read'], service: ['read'] }))
    const looker = await admin.bring('looker', ['looker'])
    const other = await Visitor.open()
    await other.enter(looker)
    await other.visit('/administration')
    await other.row('looker').getByText('you').waitFor()
    expect(await other.page.getByRole('tab').allInnerTexts()).toEqual(['Users', 'Keys', 'Sessions'])
    for (const name of [/^Invite/, /^Change/, /^Disable/, /^Delete/, /^Reset/]) {
      expect(await other.button(name).count()).toBe(0)
    }
    await other.visit('/administration/keys')
    await other.reads('No API keys')
    expect(await other.button(/^New/).count()).toBe(0)
    expect(await other.page.getByText('Provisioning keys').count()).toBe(0)
    await other.close()

    // With all permissions for only one device, actions that concern all devices are hidden.
    await admin.putRole('narrow', grant({ '*': ['*'] }, ['LAMP-1']))
    const narrow = await Visitor.open()
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
