import { describe, expect, onTestFinished, test } from 'vitest'
import { codeOf } from '#test/access/totp-code'
import { type Credentials, codeIn, newName, root, SignedInUser, startWithIdentity } from '#test/blackbox/signed-in-user'
import { openPages, server, Visitor } from '#test/dashboard/visitor'

/** A script that counts the object URLs of the page. */
const countingFiles = `{
  globalThis.filesOpen = 0
  const { createObjectURL, revokeObjectURL } = URL
  URL.createObjectURL = (blob) => (filesOpen++, createObjectURL.call(URL, blob))
  URL.revokeObjectURL = (url) => (filesOpen--, revokeObjectURL.call(URL, url))
}`

/** Sign-in with DPoP, and the account page of a user, in a browser. §5.2, contract 2. */
describe('signing in with a browser', () => {
  let admin: SignedInUser
  openPages({ start: startWithIdentity }, async () => {
    admin = await SignedInUser.signIn(server)
  })

  const visit = async () => {
    const visitor = await Visitor.open()
    onTestFinished(() => visitor.close())
    return visitor
  }
  /** The one-time code of the secret that the page shows. The code is that of `laterMs` from now. */
  const shownCode = async ({ page }: Visitor, laterMs = 0) => {
    const secret = await page.locator('.command code').textContent()
    return codeOf((secret ?? '').replaceAll(' ', ''), Date.now() + laterMs)
  }

  test('a user signs in, and not with a wrong password; the session survives a reload and ends with signing out', async () => {
    const ann = await visit()
    await ann.sees('Sign in')
    await ann.isUsable()
    await ann.signIn({ ...root, password: 'a wrong password' })
    await ann.seesRefusal('Name or password is wrong.')
    await ann.isAccessible()
    await ann.enter(root)
    await ann.isLive()
    // A reload shows the same page again.
    await ann.goTo('/account')
    await ann.page.reload()
    await ann.sees('Your account')
    await ann.reads('this one')
    await ann.isAccessible()
    await ann.button('Sign out').click()
    await ann.sees('Sign in')
    await ann.page.reload()
    await ann.sees('Sign in')
  })

  test('the fleet page of a new server creates a key for simulated devices', async () => {
    const ann = await visit()
    await ann.signIn(root)
    await ann.reads('No devices yet')
    await ann.button('Create key').click()
    await ann.reads(/^npm run fleet -- .* --key \S+$/)
    // The key may not write schemas, so the page has stored them.
    const described = (await admin.get('/schemas?depth=1')).json as { readonly schema: { readonly name: string } }[]
    expect(described.map(({ schema }) => schema.name).sort()).toEqual([
      'Air',
      'Controls',
      'Diagnostics',
      'Power',
      'Pump',
    ])
    await ann.isAccessible()
  })

  test('a page that is opened before the server answers tries again, and shows that a slow request waits', async () => {
    const ann = await visit()
    await ann.enter(root)
    let asked = 0
    await ann.page.route('**/iam/me', (route) => {
      asked++
      return asked === 1 ? route.abort() : route.continue()
    })
    await ann.page.reload()
    await ann.reads('The page retries automatically.')
    await ann.sees('Fleet')
    await ann.page.unroute('**/iam/me')
    await ann.goTo('/account')
    await ann.field('Current password').fill('not the password')
    await ann.field('New password').fill('another password')
    await ann.field('Repeat the new password').fill('another password')
    const release = await ann.holdRequests('**/auth/password')
    await ann.button('Change password').click()
    await ann.reads('Still waiting')
    release()
    await ann.seesRefusal('Name or password is wrong.')
    expect(await ann.page.getByText('Still waiting').count()).toBe(0)
  })

  test('a viewer does not see the administration, also in a browser that denies storage', async () => {
    const user = await admin.bring(newName('viewer'), ['viewer'])
    const ann = await visit()
    // In a browser that denies storage to pages, access to the storage throws an error.
    await ann.page.addInitScript(`{
      const deny = () => { throw new DOMException('denied', 'SecurityError') }
      for (const name of ['localStorage', 'sessionStorage']) Object.defineProperty(window, name, { get: deny })
      IDBFactory.prototype.open = deny
      LockManager.prototype.request = async () => deny()
    }`)
    await ann.page.reload()
    await ann.button(/^Theme: system/).click()
    await ann.button(/^Theme: dark/).waitFor()
    await ann.signIn(user)
    await ann.reads('No devices yet')
    const links = ann.page.getByRole('navigation', { name: 'Pages' }).getByRole('link')
    expect(await links.allTextContents()).not.toContain('Administration')
    expect(await ann.button('Add device').count()).toBe(0)
    await ann.goTo('/administration/users')
    await ann.sees('Access denied')
    await ann.isAccessible()
  })

  test('unsaved input survives the end of the session, but only for the same user', async () => {
    const user = await admin.bring(newName('editor'), ['admin'])
    expect((await admin.post('/devices', { deviceIdentifier: 'PUMP-1', meta: { hall: 3 } })).status).toBe(201)
    const endAll = async () => expect((await admin.delete(`/iam/users/${user.name}/sessions`)).status).toBe(204)
    const ann = await visit()
    const typed = '{ "hall": 4 }'
    const dialog = ann.page.getByRole('dialog', { name: 'Metadata of PUMP-1' })
    await ann.enter(user)
    await ann.goTo('/devices/PUMP-1')
    await ann.button('Change…').click()
    await dialog.getByLabel('Metadata as JSON').fill(typed)
    await endAll()
    await ann.sees('Sign in')
    await ann.reads('with your unsaved input')
    expect(await ann.field('E-mail address or name').inputValue()).toBe(user.name)
    // The page behind the sign-in is not visible and not reachable, and Escape does not close the sign-in.
    for (let press = 0; press < 3; press++) await ann.page.keyboard.press('Escape')
    expect([await dialog.isVisible(), await ann.page.getByText('PUMP-1').first().isVisible()]).toEqual([false, false])
    await ann.isUsable()
    await ann.signIn(user)
    await ann.sees('PUMP-1')
    await ann.isLive()
    const field = dialog.getByLabel('Metadata as JSON')
    expect([await field.inputValue(), await ann.page.title()]).toEqual([typed, 'PUMP-1 · Device Data Backend'])
    expect(await ann.page.evaluate('document.activeElement?.tagName')).toBe('TEXTAREA')
    await dialog.getByRole('button', { name: 'Save' }).click()
    await ann.reads('The metadata of PUMP-1 is saved')
    expect((await admin.get('/meta/PUMP-1')).json).toMatchObject({ meta: { hall: 4 } })

    await ann.goTo('/functions/groups/new')
    await ann.field('Name').fill('Private group')
    await endAll()
    await ann.sees('Sign in')
    await ann.signIn(root)
    await ann.sees('New group')
    expect(await ann.field('Name').inputValue()).toBe('')
  })

  test('a user of several tenants with the same address and password chooses one', async () => {
    const email = 'twin@example.com'
    const password = 'the very same password'
    for (const tenant of ['north', 'south']) {
      expect((await admin.post('/iam/tenants', { tenantIdentifier: tenant, name: `The ${tenant}` })).status).toBe(201)
      const name = newName(tenant)
      const invited = await admin.post(`/iam/users?tenant=${tenant}`, { name, email, roles: ['viewer'] })
      const body = { name, code: codeIn(invited), password }
      expect((await server.ask('/iam/signup', { method: 'POST', body })).status).toBe(201)
    }
    const ann = await visit()
    await ann.signIn({ name: email, password })
    await ann.sees('Choose a tenant')
    await ann.isAccessible()
    await ann.button(/^The south/).click()
    await ann.sees('Fleet')
    await ann.goTo('/account')
    await ann.page.getByRole('definition').filter({ hasText: 'south' }).first().waitFor()
  })

  test('an invited user sets a password with a code, and is signed in', async () => {
    const name = newName('invited')
    const invited = await admin.post('/iam/users', { name, roles: ['viewer'] })
    const ann = await visit()
    await ann.page.getByRole('link', { name: 'Choose a password' }).click()
    await ann.sees('Choose a password')
    await ann.isAccessible()
    // A truncated percent encoding is used unchanged.
    await ann.goTo(`/sign-up/${name}/%`)
    await ann.page.reload()
    await expect.poll(() => ann.field('Code').inputValue()).toBe('%')
    // An address with name and code fills in both fields.
    await ann.goTo(`/sign-up/${name}/${codeIn(invited)}`)
    await ann.page.reload()
    await ann.field('Password').fill('a password that is chosen')
    await ann.field('Stay signed in on this device').uncheck()
    await ann.button('Set password').click()
    await ann.sees('Fleet')
    await ann.page.reload()
    await ann.sees('Sign in')
  })

  test('a required second factor is set up during the first sign-in, and needed at the next one', async () => {
    const tenant = 'strict'
    expect((await admin.post('/iam/tenants', { tenantIdentifier: tenant, name: 'Strict' })).status).toBe(201)
    const user: Credentials = await admin.bring(newName('strict'), ['viewer'], {}, `?tenant=${tenant}`)
    expect((await admin.patch(`/iam/tenants/${tenant}`, { twoFactor: 'required' })).status).toBe(200)

    const ann = await visit()
    await ann.signIn(user)
    await ann.sees('Set up a second factor')
    await ann.isAccessible()
    await ann.page.evaluate(countingFiles)
    await ann.button('With an app for one-time codes').click()
    await ann.page.getByRole('img', { name: 'QR code of the secret below' }).waitFor()
    await ann.isAccessible()
    const secret = ((await ann.page.locator('.command code').textContent()) ?? '').replaceAll(' ', '')
    await ann.field('Code from the app').fill(await shownCode(ann))
    await ann.button('Sign in').click()
    await ann.sees('Recovery codes')
    await ann.isAccessible()
    const codes = await ann.page.locator('.codes li').allTextContents()
    expect(codes).toHaveLength(10)
    expect(await ann.page.evaluate('filesOpen')).toBe(1)
    await ann.button('I have saved them').click()
    await ann.sees('Fleet')
    await expect.poll(() => ann.page.evaluate('filesOpen')).toBe(0)
    await ann.button('Sign out').click()

    await ann.signIn(user)
    await ann.sees('Second factor')
    await ann.isAccessible()
    await ann.field('Code from the app').fill(codeOf(secret, Date.now()))
    await ann.button('Sign in').click()
    await ann.sees('Fleet')
    await ann.button('Sign out').click()

    await ann.signIn(user)
    await ann.button('With a recovery code').click()
    await ann.field('Recovery code').fill(codes[0] ?? '')
    await ann.button('Sign in').click()
    await ann.sees('Fleet')
  })

  test('users change their password, set up and remove one-time codes, and end other sessions', async () => {
    const user = await admin.bring(newName('own'), ['operator'])
    const elsewhere = await SignedInUser.signIn(server, user)
    const ann = await visit()
    await ann.enter(user)
    await ann.goTo('/account')
    await ann.page.getByRole('table').getByRole('row').nth(2).waitFor()
    await ann.button('End').click()
    await ann.reads('The session has ended')
    expect(await elsewhere.isIn()).toBe(false)

    await ann.field('E-mail address').fill('own@acme.example')
    await ann.field('Password to confirm').fill(user.password)
    await ann.button('Change address').click()
    await ann.reads('Mails go to own@acme.example')

    const password = 'another password'
    await ann.field('Current password').fill(user.password)
    await ann.field('New password').fill(password)
    await ann.field('Repeat the new password').fill(password)
    await ann.button('Change password').click()
    await ann.reads('The password is changed, and other sessions have ended')

    await ann.button('Set up…').click()
    await ann.field('Your password').fill(password)
    await ann.button('Continue').click()
    await ann.page.getByRole('img', { name: 'QR code of the secret below' }).waitFor()
    await ann.isAccessible()
    await ann.field('Code from the app').fill(await shownCode(ann))
    await ann.button('Activate').click()
    await ann.sees('Recovery codes')
    await ann.button('I have saved them').click()
    await ann.sees('Your account')
    await ann.reads('Active.')
    await ann.button('Remove…').click()
    await ann.field('Your password').fill(password)
    await ann.button('Remove').click()
    await ann.reads('One-time codes are removed')
    await ann.reads('Not active.')
    expect(await ann.button('Remove…').count()).toBe(0)
    await ann.fitsAPhone()
    await ann.button('Sign out everywhere…').click()
    await ann.reads('All your sessions end at once')
    await ann.button('Sign out everywhere').click()
    await ann.sees('Sign in')
  })
})
