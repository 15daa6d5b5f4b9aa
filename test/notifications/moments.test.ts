import { afterEach, describe, expect, test } from 'vitest'
import { directoryAddress } from '#actors/directory/commands'
import { subscriberAddress } from '#actors/subscriber/commands'
import type { SkipReason } from '#model/delivery'
import { type Grant, scopeOf } from '#model/scope'
import { MailRefused } from '#notifications/mail'
import { DeliveryStage } from '#test/notifications/delivery-stage'

/**
 * What became another between the moment at which something happened and the one at which somebody is told: the mail goes
 * by what is so then. Contract 5.7.
 */

let room: DeliveryStage
afterEach(async () => {
  expect(room.stage.bugs).toEqual([])
  await room.close()
})

const enough: Grant = {
  permissions: { notifications: ['read'], functions: ['read'], service: ['read'], alarms: ['read'], meta: ['read'] },
  devices: ['A', 'B'],
  services: ['svc'],
}
const without = (resource: keyof Grant['permissions']) => {
  const { [resource]: _, ...permissions } = enough.permissions
  return () => room.person('ann', { scope: scopeOf([{ ...enough, permissions }]) })
}
const reaching = (more: Partial<Grant>) => () => room.person('ann', { scope: scopeOf([{ ...enough, ...more }]) })

/** What is another, what ann gets then, and what is counted. */
type Change = readonly [name: string, change: () => unknown, subjects: readonly string[], reason?: SkipReason]

const changes: readonly Change[] = [
  ['nothing', () => {}, ['ann@example.com: It is 7']],
  ['notifications taken', without('notifications'), [], 'forbidden'],
  ['functions taken', without('functions'), [], 'forbidden'],
  ['services taken', without('service'), [], 'forbidden'],
  ['alarms taken', without('alarms'), ['ann@example.com: It is 7']],
  ['what people recorded taken', without('meta'), ['ann@example.com: It is 7']],
  ['the device taken out', reaching({ devices: ['B'] }), [], 'forbidden'],
  ['another device of it taken out', reaching({ devices: ['A'] }), [], 'forbidden'],
  ['another service instead', reaching({ services: ['heating'] }), [], 'forbidden'],
  ['all roles taken', () => room.person('ann', { scope: scopeOf([]) }), [], 'forbidden'],
  ['more given', reaching({ devices: ['*'] }), ['ann@example.com: It is 7']],
  ['the device unbound', () => room.putFunction('F', { binding: { devices: ['B'] } }), [], 'unbound'],
  ['bound by a group', () => room.putFunction('F', { binding: { groups: ['hall'] } }), ['ann@example.com: It is 7']],
  ['out of the group', () => outOfGroup(), [], 'unbound'],
  ['disabled', () => room.putFunction('F', { binding, enabled: false }), [], 'unbound'],
  ['renamed', () => room.putFunction('F', { binding, name: 'New' }), ['ann@example.com: It is 7']],
  ['the user disabled', () => room.person('ann', { isActive: false, scope: scopeOf([]) }), [], 'disabled'],
  ['the address removed', () => room.person('ann', { address: null }), [], 'no_address'],
  ['the address no good', () => room.person('ann', { address: 'a b@c' }), [], 'bad_address'],
  ['the address changed', () => room.person('ann', { address: 'new@example.com' }), ['new@example.com: It is 7']],
  ['the locale changed', () => setLocale('de'), ['ann@example.com: Es ist 7']],
  ['the words changed', () => room.putTemplate(words('Now')), ['ann@example.com: Now 7']],
  ['the template gone', () => room.tell({ type: 'delete_template', name: 'words' }), [], 'no_template'],
  ['the mail too large', () => room.putTemplate(words('{{#meta.many}}{{meta.long}}{{/meta.many}}')), [], 'too_large'],
  ['unsubscribed', () => room.unsubscribe('ann'), []],
  ['subscribed anew', () => anew(), []],
  ['the function deleted', () => room.tell({ type: 'delete_function', id: 'F' }), []],
  ['the user deleted', () => room.ask(subscriberAddress('default', 'ann'), { type: 'erase' }), []],
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

async function outOfGroup(): Promise<void> {
  const bound = room.putFunction('F', { binding: { groups: ['hall'] } })
  await Promise.all([bound, room.putGroup('hall', ['B'])])
}

async function setLocale(locale: string): Promise<void> {
  await room.ask(subscriberAddress('default', 'ann'), { type: 'set_locale', id: 'ann-F', locale })
}

async function anew(): Promise<void> {
  await room.unsubscribe('ann')
  await room.subscribe('ann', 'F', { id: 'ann-again' })
}

async function open(): Promise<void> {
  room = await DeliveryStage.open()
  const many = Array.from({ length: 300 }, (_, index) => index)
  await room.addDevice('A', { site: 'north', long: 'x'.repeat(1_000), many })
  await room.putTemplate(words('It is'))
  await room.putGroup('hall', ['A', 'B'])
  await room.putFunction('F', { binding })
  room.person('ann', { scope: scopeOf([enough]) })
  await room.subscribe('ann')
}

async function expectOutcome(subjects: readonly string[], reason: SkipReason | undefined): Promise<void> {
  await room.pass(5 * 60_000)
  expect(room.subjects).toEqual(subjects)
  expect(room.failures).toEqual(reason ? { [reason]: 1 } : {})
  expect(await room.entries('delivering')).toEqual([])
  expect(room.deliveries.figuresOf('default')).toEqual({ requests: 0, subscribers: 0 })
}

const named = changes.map(([name, change, subjects, reason]) => ({ name, change, subjects, reason }))

describe.each(named)('$name', ({ change, subjects, reason }) => {
  test('before it is looked who is to hear of it', async () => {
    await open()
    // In one commit, at most.
    room.requestSoon(7)
    await change()
    await expectOutcome(subjects, reason)
  })

  test('between that and the moment at which the mail is handed over', async () => {
    await open()
    let isChanged = false
    const { gate } = room.stage.system
    const settled = gate.settled.bind(gate)
    // It is made by then, and waits until all that it is made of is stored.
    gate.settled = async (...asked) => {
      if (!isChanged) {
        isChanged = true
        void change()
        await new Promise<void>((resolve) => room.world.after(50, resolve))
      }
      return settled(...asked)
    }
    await room.request(7)
    await room.world.advance(100)
    expect(isChanged).toBe(true)
    await expectOutcome(subjects, reason)
  })

  test.each(['later', 'transport'] as const)('between two tries (%s)', async (kind) => {
    await open()
    room.answering = () => Promise.reject(new MailRefused(kind, '450'))
    await room.request(7)
    await room.world.advance(100)
    room.answering = () => {}
    await change()
    await expectOutcome(subjects, reason)
  })
})

test('what people recorded is in a mail of who may read it, and empty in others’', async () => {
  await open()
  await room.putFunction('F', { binding: { devices: ['A'] } })
  await room.subscribe('ben')
  const { meta: _, ...permissions } = enough.permissions
  room.person('ben', { scope: scopeOf([{ ...enough, permissions }]) })
  await room.request(7)
  await room.pass()
  const textOf = (name: string) => room.arrived.find(({ to }) => to === `${name}@example.com`)?.text
  expect([textOf('ann'), textOf('ben')]).toEqual(['It is north', 'It is '])
})

test('of a tenant that is being deleted nobody hears, and none of its actors is asked', async () => {
  room = await DeliveryStage.open()
  await room.addTenant('acme')
  await room.putTemplate(words('It is'), 'words', 'acme')
  await room.putFunction('F', {}, 'acme')
  await room.subscribe('ann', 'F', { tenant: 'acme' })
  await room.subscribe('ben', 'F', { tenant: 'acme' })
  let answered = () => {}
  room.answering = ({ to }) =>
    to === 'ann@example.com'
      ? new Promise<void>((resolve) => {
          answered = resolve
        })
      : Promise.reject(new MailRefused('later', '450'))
  await room.request(7, 'F', 'acme')
  await room.world.advance(100)
  await room.ask(directoryAddress, { type: 'delete_tenant', tenant: 'acme' })
  room.deliveries.tenantEnded('acme')
  const commits = room.stage.commits.length
  answered()
  await room.pass(60_000)
  expect(room.subjects).toEqual(['ann@example.com: It is 7'])
  expect(room.stage.commits).toHaveLength(commits)
  expect(room.deliveries.figuresOf('acme')).toEqual({ requests: 0, subscribers: 0 })
  expect(room.deliveries.countOf('acme', 'F')).toBe(0)
})
