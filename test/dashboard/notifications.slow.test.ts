import type { Browser } from 'playwright-core'
import { describe, expect, test } from 'vitest'
import {
  makeFunction,
  type NamedResource,
  pathOf,
  putTemplate,
  subscribe,
  subscriptionsOf,
  untilOutbox,
} from '#test/blackbox/notification-calls'
import { type Credentials, report, root, SignedInUser, startWithIdentity } from '#test/blackbox/signed-in-user'
import type { StartedServer } from '#test/blackbox/started-server'
import { until } from '#test/blackbox/until'
import { fitsAPhone } from '#test/dashboard/page-queries'
import { openPages, Visitor } from '#test/dashboard/visitor'

/** The user's own subscriptions in a browser, and the controls that viewers do not get. §2.6, contract 5.6, 5.7. */
describe('notifications in a browser', () => {
  let server: StartedServer
  let browser: Browser
  let admin: SignedInUser
  let bob: Credentials
  let bobElsewhere: SignedInUser
  let page: Visitor
  let heat: NamedResource
  openPages(startWithIdentity, async (opened) => {
    ;({ server, browser } = opened)
    admin = await SignedInUser.signIn(server)
    bob = await admin.bring('bob', ['viewer'], { email: 'bob@acme.example' })
    bobElsewhere = await SignedInUser.signIn(server, bob)
    page = await Visitor.open(browser, server)
    await page.signIn(bob)
    await page.sees('Fleet')
    return page
  })

  const row = (text: string) => page.page.getByRole('row').filter({ hasText: text })
  const mine = () => subscriptionsOf(bobElsewhere)

  test('an empty list explains how to subscribe', async () => {
    await page.goTo('/notifications')
    await page.sees('Notifications')
    await page.reads('No subscriptions')
    await page.reads('No functions to subscribe to')
    await page.isAccessible()
    await fitsAPhone(page)
  })

  test('a user subscribes to a function by mail, in a locale', async () => {
    await putTemplate(admin)
    heat = await makeFunction(admin)
    await page.page.reload()
    await page.field('Function').selectOption({ label: 'Heat' })
    await page.field('Locale').fill('german')
    await page.reads('Must be a language such as de, or with a region: de-CH')
    expect(await page.button('Subscribe').isDisabled()).toBe(true)
    await page.field('Locale').fill('de-CH')
    await page.button('Subscribe').click()
    await row('Heat').getByText('de-CH').waitFor()
    await page.reads('You are subscribed to all functions that you may read.')
    expect(await mine()).toMatchObject([{ topic: heat.resourceIdentifier, type: 'email', locale: 'de-CH' }])
    await page.isAccessible()
  })

  test('changes by another session appear at once', async () => {
    const [subscription] = await mine()
    const path = `/notifications/subscribe/${subscription?.resourceIdentifier.slice('crn#subscription:'.length)}`
    expect((await bobElsewhere.patch(path, { locale: 'fr' })).status).toBe(200)
    await row('Heat').getByText('fr', { exact: true }).waitFor()
    expect((await bobElsewhere.delete(path)).status).toBe(204)
    await page.reads('No subscriptions')
    await subscribe(bobElsewhere, heat, { locale: 'it' })
    await row('Heat').getByText('it', { exact: true }).waitFor()
  })

  test('the locale is changed; ending asks for confirmation', async () => {
    await page.button('Change the locale of Heat').click()
    await page.page.locator('dialog[open]').getByLabel('Locale').fill('nl')
    await page.isAccessible()
    await page.button('Change').click()
    await row('Heat').getByText('nl', { exact: true }).waitFor()
    expect(await mine()).toMatchObject([{ locale: 'nl' }])
    await page.button('End the subscription to Heat').click()
    await page.button('End subscription').click()
    await page.reads('No subscriptions')
    expect(await mine()).toEqual([])
  })

  test('a subscription that another session has just created is refused with the reason', async () => {
    // The answer that the server gives when another session was faster.
    await page.page.route('**/notifications/subscribe', (route) =>
      route.request().method() === 'POST' ? route.fulfill({ status: 409 }) : route.continue(),
    )
    await page.field('Function').selectOption({ label: 'Heat' })
    await page.button('Subscribe').click()
    await page.reads('You are already subscribed to it')
    await page.page.unroute('**/notifications/subscribe')
  })

  test('controls that a viewer has no permission for are hidden', async () => {
    expect(await page.page.getByText('Mails of this tenant').count()).toBe(0)
    await page.goTo('/alarms')
    await page.reads('Creating an alarm needs permission to create alarms.')
    expect(await page.page.getByRole('link', { name: 'New alarm' }).count()).toBe(0)
    await page.goTo('/functions')
    await page.page.getByRole('link', { name: 'Heat' }).waitFor()
    expect(await page.button('Disable Heat').count()).toBe(0)
    await page.page.getByRole('link', { name: 'Heat' }).click()
    await page.sees('Heat')
    await page.page.locator('.graph').waitFor()
    await page.page.getByRole('region', { name: 'Applies to' }).getByText('all devices').waitFor()
    expect(await page.button('Save').count()).toBe(0)
    expect(await page.button('Remove').count()).toBe(0)
    // Running a test needs read permission only.
    await page.button('Run test').click()
    await page.reads('Path')
    await page.isAccessible()
    await page.goTo('/functions/templates/heat')
    expect(await page.field('Subject').isEditable()).toBe(false)
    await page.goTo('/functions/groups')
    await page.reads('Creating a group needs permission to create functions.')
  })

  test('administrators see failed mails', async () => {
    const chief = await Visitor.open(browser, server)
    await chief.signIn(root)
    await chief.goTo('/notifications')
    await chief.reads('Mails of this tenant')
    await chief.reads('No failures so far.')
    await chief.goTo(pathOf(heat))
    await chief.page.getByRole('link', { name: 'Subscribe' }).click()
    // The link selected the function.
    await chief.button('Subscribe').click()
    await until(async () => (await subscriptionsOf(admin)).length === 1, 'the subscription')
    // The administrator has no address.
    const made = await admin.post('/devices', { deviceIdentifier: 'SENSOR-1' })
    const device = { name: 'SENSOR-1', password: (made.json as { secret: string }).secret }
    await report(server, device, 20)
    await report(server, device, 35)
    await untilOutbox(admin, { failures: [{ reason: 'no_address', count: 1 }] })
    await chief.button('Refresh').click()
    await chief.reads('the user has no address')
    await chief.reads('Your account has no e-mail address')
    await chief.isAccessible()
    expect((await admin.delete(pathOf(heat))).status).toBe(204)
    await chief.reads('No subscriptions')
    await chief.close()
  })
})
