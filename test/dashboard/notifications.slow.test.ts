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
import { report, root, SignedInUser, startWithIdentity } from '#test/blackbox/signed-in-user'
import { until } from '#test/blackbox/until'
import { ann, openPages, server, Visitor } from '#test/dashboard/visitor'

/** The subscriptions of a user in a browser, and controls that viewers do not see. §2.6, contract 5.6, 5.7. */
describe('notifications in a browser', () => {
  let admin: SignedInUser
  let bobElsewhere: SignedInUser
  let heat: NamedResource
  openPages({ start: startWithIdentity }, async () => {
    admin = await SignedInUser.signIn(server)
    const bob = await admin.bring('bob', ['viewer'], { email: 'bob@acme.example' })
    bobElsewhere = await SignedInUser.signIn(server, bob)
    await ann.enter(bob)
  })

  const mine = () => subscriptionsOf(bobElsewhere)

  test('an empty list explains how to subscribe', async () => {
    await ann.goTo('/notifications')
    await ann.sees('Notifications')
    await ann.reads('No subscriptions')
    await ann.reads('No functions to subscribe to')
    await ann.isUsable()
  })

  test('a user subscribes to a function by mail, in a locale', async () => {
    await putTemplate(admin)
    heat = await makeFunction(admin)
    await ann.page.reload()
    await ann.field('Function').selectOption({ label: 'Heat' })
    await ann.field('Locale').fill('german')
    await ann.reads('Must be a language such as de, or with a region: de-CH')
    expect(await ann.button('Subscribe').isDisabled()).toBe(true)
    await ann.field('Locale').fill('de-CH')
    await ann.button('Subscribe').click()
    await ann.row('Heat').getByText('de-CH').waitFor()
    await ann.reads('You are subscribed to all functions that you may read.')
    expect(await mine()).toMatchObject([{ topic: heat.resourceIdentifier, type: 'email', locale: 'de-CH' }])
    await ann.isAccessible()
  })

  test('changes of another session appear at once', async () => {
    const [subscription] = await mine()
    const path = `/notifications/subscribe/${subscription?.resourceIdentifier.slice('crn#subscription:'.length)}`
    expect((await bobElsewhere.patch(path, { locale: 'fr' })).status).toBe(200)
    await ann.row('Heat').getByText('fr', { exact: true }).waitFor()
    expect((await bobElsewhere.delete(path)).status).toBe(204)
    await ann.reads('No subscriptions')
    await subscribe(bobElsewhere, heat, { locale: 'it' })
    await ann.row('Heat').getByText('it', { exact: true }).waitFor()
  })

  test('the locale is changed, and the page asks for confirmation before a subscription ends', async () => {
    await ann.button('Change the locale of Heat').click()
    await ann.page.locator('dialog[open]').getByLabel('Locale').fill('nl')
    await ann.isAccessible()
    await ann.button('Change').click()
    await ann.row('Heat').getByText('nl', { exact: true }).waitFor()
    expect(await mine()).toMatchObject([{ locale: 'nl' }])
    await ann.button('End the subscription to Heat').click()
    await ann.button('End subscription').click()
    await ann.reads('No subscriptions')
    expect(await mine()).toEqual([])
  })

  test('a subscription that another session has just created is refused with the reason', async () => {
    // This is the answer of the server if another session was faster.
    await ann.page.route('**/notifications/subscribe', (route) =>
      route.request().method() === 'POST' ? route.fulfill({ status: 409 }) : route.continue(),
    )
    await ann.field('Function').selectOption({ label: 'Heat' })
    await ann.button('Subscribe').click()
    await ann.reads('You are already subscribed to it')
    await ann.page.unroute('**/notifications/subscribe')
  })

  test('controls without permission are hidden from a viewer', async () => {
    expect(await ann.page.getByText('Mails of this tenant').count()).toBe(0)
    await ann.goTo('/alarms')
    await ann.reads('Creating an alarm needs permission to create alarms.')
    expect(await ann.page.getByRole('link', { name: 'New alarm' }).count()).toBe(0)
    await ann.goTo('/functions')
    await ann.page.getByRole('link', { name: 'Heat' }).waitFor()
    expect(await ann.button('Disable Heat').count()).toBe(0)
    await ann.page.getByRole('link', { name: 'Heat' }).click()
    await ann.sees('Heat')
    await ann.page.locator('.graph').waitFor()
    await ann.page.getByRole('region', { name: 'Applies to' }).getByText('all devices').waitFor()
    expect(await ann.button('Save').count()).toBe(0)
    expect(await ann.button('Remove').count()).toBe(0)
    // A test run needs only read permission.
    await ann.button('Run test').click()
    await ann.reads('Path')
    await ann.isAccessible()
    await ann.goTo('/functions/templates/heat')
    expect(await ann.field('Subject').isEditable()).toBe(false)
    await ann.goTo('/functions/groups')
    await ann.reads('Creating a group needs permission to create functions.')
  })

  test('administrators see failed mails', async () => {
    const chief = await Visitor.open()
    await chief.signIn(root)
    await chief.goTo('/notifications')
    await chief.reads('Mails of this tenant')
    await chief.reads('No failures so far.')
    await chief.goTo(pathOf(heat))
    await chief.page.getByRole('link', { name: 'Subscribe' }).click()
    // The link has selected the function.
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
