import { afterEach, describe, expect, test } from 'vitest'
import { directoryAddress } from '#actors/directory/state'
import { subscriberAddress } from '#actors/subscriber/state'
import type { SkipReason } from '#model/delivery'
import { type Grant, scopeOf } from '#model/scope'
import { MailRefused } from '#notifications/mail'
import { DeliveryFixture } from '#test/notifications/delivery-fixture'

/** A mail follows the state at the moment of sending, not of the request. Contract 5.7. */

let fixture: DeliveryFixture
afterEach(() => fixture.close())

const enough: Grant = {
  permissions: { notifications: ['read'], functions: ['read'], service: ['read'], alarms: ['read'], meta: ['read'] },
  devices: ['A', 'B'],
  services: ['svc'],
}
const narrow: Grant = { ...enough, devices: ['B'] }

/** A change, the mails that ann then gets, and the counted reason. */
type Change = readonly [name: string, change: () => unknown, subjects: readonly string[], reason?: SkipReason]

const changes: readonly Change[] = [
  ['nothing', () => {}, ['ann@example.com: It is 7']],
  ['a grant removed', () => fixture.setRecipient('ann', { scope: scopeOf([narrow]) }), [], 'forbidden'],
  ['the device unbound', () => fixture.putFunction('F', { binding: { devices: ['B'] } }), [], 'unbound'],
  ['bound by a group', () => fixture.putFunction('F', { binding: { groups: ['hall'] } }), ['ann@example.com: It is 7']],
  ['removed from the group', () => removeFromGroup(), [], 'unbound'],
  ['disabled', () => fixture.putFunction('F', { binding, enabled: false }), [], 'unbound'],
  ['renamed', () => fixture.putFunction('F', { binding, name: 'New' }), ['ann@example.com: It is 7']],
  ['the user disabled', () => fixture.setRecipient('ann', { isActive: false, scope: scopeOf([]) }), [], 'disabled'],
  ['the address removed', () => fixture.setRecipient('ann', { address: null }), [], 'no_address'],
  ['the address invalid', () => fixture.setRecipient('ann', { address: 'a b@c' }), [], 'bad_address'],
  [
    'the address changed',
    () => fixture.setRecipient('ann', { address: 'new@example.com' }),
    ['new@example.com: It is 7'],
  ],
  ['the locale changed', () => setLocale('de'), ['ann@example.com: Es ist 7']],
  ['the template changed', () => fixture.putTemplate(words('Now')), ['ann@example.com: Now 7']],
  ['the template deleted', () => fixture.askTenant({ type: 'delete_template', name: 'words' }), [], 'no_template'],
  [
    'the mail too large',
    () => fixture.putTemplate(words('{{#meta.many}}{{meta.long}}{{/meta.many}}')),
    [],
    'too_large',
  ],
  ['unsubscribed', () => fixture.unsubscribe('ann'), []],
  ['subscribed again', () => subscribeAgain(), []],
  ['the function deleted', () => fixture.askTenant({ type: 'delete_function', id: 'F' }), []],
  ['the user deleted', () => fixture.ask(subscriberAddress('default', 'ann'), { type: 'erase' }), []],
]

const binding = { devices: ['A', 'B'] }

function words(en: string) {
  return {
    locales: {
      en: { subject: `${en} {{value}}`, text: `${en} {{meta.site}}` },
      de: { subject: 'Es ist {{value}}', text: 'x' },
    },
  }
}

async function removeFromGroup(): Promise<void> {
  const bound = fixture.putFunction('F', { binding: { groups: ['hall'] } })
  await Promise.all([bound, fixture.putGroup('hall', ['B'])])
}

async function setLocale(locale: string): Promise<void> {
  await fixture.ask(subscriberAddress('default', 'ann'), { type: 'set_locale', id: 'ann-F', locale })
}

async function subscribeAgain(): Promise<void> {
  await fixture.unsubscribe('ann')
  await fixture.subscribe('ann', 'F', { id: 'ann-again' })
}

async function open(): Promise<void> {
  fixture = await DeliveryFixture.open()
  const many = Array.from({ length: 300 }, (_, index) => index)
  await fixture.addDevice('A', { site: 'north', long: 'x'.repeat(1_000), many })
  await fixture.putTemplate(words('It is'))
  await fixture.putGroup('hall', ['A', 'B'])
  await fixture.putFunction('F', { binding })
  fixture.setRecipient('ann', { scope: scopeOf([enough]) })
  await fixture.subscribe('ann')
}

async function expectOutcome(subjects: readonly string[], reason: SkipReason | undefined): Promise<void> {
  await fixture.expectIdle(5 * 60_000)
  expect(fixture.subjects).toEqual(subjects)
  expect(fixture.failures).toEqual(reason ? { [reason]: 1 } : {})
}

const named = changes.map(([name, change, subjects, reason]) => ({ name, change, subjects, reason }))

describe.each(named)('$name', ({ change, subjects, reason }) => {
  test('before the subscribers are read', async () => {
    await open()
    // The request and the change share a commit.
    fixture.requestSoon(7)
    await change()
    await expectOutcome(subjects, reason)
  })

  test('between reading the subscribers and sending the mail', async () => {
    await open()
    let isChanged = false
    const { gate } = fixture.runtime.system
    const whenStored = gate.whenStored.bind(gate)
    // The mail is composed, and waits until everything it was composed from is stored.
    gate.whenStored = async (...asked) => {
      if (!isChanged) {
        isChanged = true
        void change()
        await new Promise<void>((resolve) => fixture.world.after(50, resolve))
      }
      return whenStored(...asked)
    }
    await fixture.request(7)
    await fixture.world.advance(100)
    expect(isChanged).toBe(true)
    await expectOutcome(subjects, reason)
  })

  test('between two tries', async () => {
    await open()
    fixture.onSend = () => Promise.reject(new MailRefused('later', '450'))
    await fixture.request(7)
    await fixture.world.advance(100)
    fixture.onSend = () => {}
    await change()
    await expectOutcome(subjects, reason)
  })
})

test('metadata is empty in mails to users who may not read it', async () => {
  await open()
  await fixture.putFunction('F', { binding: { devices: ['A'] } })
  await fixture.subscribe('ben')
  const { meta: _, ...permissions } = enough.permissions
  fixture.setRecipient('ben', { scope: scopeOf([{ ...enough, permissions }]) })
  await fixture.request(7)
  await fixture.advance()
  const textOf = (name: string) => fixture.arrived.find(({ to }) => to === `${name}@example.com`)?.text
  expect([textOf('ann'), textOf('ben')]).toEqual(['It is north', 'It is '])
})

test('deleting a tenant stops its mails and asks none of its actors', async () => {
  fixture = await DeliveryFixture.open()
  await fixture.addTenant('acme')
  await fixture.putTemplate(words('It is'), 'words', 'acme')
  await fixture.putFunction('F', {}, 'acme')
  await fixture.subscribe('ann', 'F', { tenant: 'acme' })
  await fixture.subscribe('ben', 'F', { tenant: 'acme' })
  let answered = () => {}
  fixture.onSend = ({ to }) =>
    to === 'ann@example.com'
      ? new Promise<void>((resolve) => {
          answered = resolve
        })
      : Promise.reject(new MailRefused('later', '450'))
  await fixture.request(7, 'F', 'acme')
  await fixture.world.advance(100)
  await fixture.ask(directoryAddress, { type: 'delete_tenant', tenant: 'acme' })
  fixture.deliveries.tenantEnded('acme')
  const commits = fixture.runtime.commits.length
  answered()
  await fixture.advance(60_000)
  expect(fixture.subjects).toEqual(['ann@example.com: It is 7'])
  expect(fixture.runtime.commits).toHaveLength(commits)
  expect(fixture.deliveries.backlogOf('acme')).toEqual({ requests: 0, subscribers: 0 })
  expect(fixture.deliveries.countOf('acme', 'F')).toBe(0)
})
