import { describe, expect, test } from 'vitest'
import type { DeviceBinding } from '#model/group'
import { everything, type Grant, scopeOf } from '#model/scope'
import { LocalePatch, maySubscribe, SubscribeBody, SubscriptionEntry, subscriptionEntryOf } from '#model/subscription'

const body = { topic: 'crn#function:6Hn3wRt5Mz', type: 'email', locale: 'de-CH' }

describe('a body', () => {
  test('may have any topic, type of message and locale', () => {
    const types = ['apn', 'gcm', 'webpush'].map((type) => ({ type }))
    for (const more of [{}, { topic: 'anything' }, { locale: 'en' }, ...types])
      expect(SubscribeBody.parse({ ...body, ...more })).toEqual({ ...body, ...more })
  })

  test.each<[unknown, string[]]>([
    [{ type: 'email', locale: 'en' }, ['topic']],
    [{ topic: 'a', locale: 'en' }, ['type']],
    [{ topic: 'a', type: 'email' }, ['locale']],
    [{}, ['topic', 'type', 'locale']],
    [{ ...body, topic: 5 }, ['topic']],
    [{ ...body, type: 'sms' }, ['type']],
    ...['EN', 'de-ch', 'de_CH', 'deu', 'd', '', 'de-CH ', 'de-CHE'].map((locale): [unknown, string[]] => [
      { ...body, locale },
      ['locale'],
    ]),
    [{ ...body, user: 'crn#user:2Vb7qYx9Kd' }, ['']],
  ])('%j is refused', (bad, paths) => {
    const { error } = SubscribeBody.safeParse(bad)
    expect(error?.issues.map(({ path }) => path.join('.'))).toEqual(paths)
  })

  test('of a patch has only the locale', () => {
    expect(LocalePatch.parse({ locale: 'fr' })).toEqual({ locale: 'fr' })
    for (const bad of [{}, { locale: 'FR' }, { locale: 'fr', type: 'email' }, { locale: 'fr', topic: 'a' }]) {
      expect(LocalePatch.safeParse(bad).success).toBe(false)
    }
  })
})

test('a subscription is shown with resource names, without internal fields', () => {
  const stored = { ...body, id: '5Tn2bGh9Kd', function: '6Hn3wRt5Mz', type: 'email', origin: 'https://a' } as const
  const shown = subscriptionEntryOf({ ...stored, createdBy: 'crn#key:4Qm8sUx2Bw', createdAt: 7 })
  expect(shown).toEqual({
    ...body,
    resourceIdentifier: 'crn#subscription:5Tn2bGh9Kd',
    createdBy: 'crn#key:4Qm8sUx2Bw',
    createdAt: 7,
  })
  expect(SubscriptionEntry.parse(shown)).toEqual(shown)
})

describe('a subscriber', () => {
  const grant = (resource: 'functions' | 'service', devices: string[], services = ['*']): Grant => ({
    permissions: { [resource]: ['read'] },
    devices,
    services,
  })
  const both = (devices: string[], services?: string[]): Grant => ({
    ...grant('functions', devices, services),
    permissions: { functions: ['read'], service: ['read'] },
  })
  const members: Record<string, readonly string[]> = { G: ['B', 'C'], none: [] }
  const membersOf = (group: string) => members[group]
  const A: DeviceBinding = { devices: ['A'], groups: null }
  const all: DeviceBinding = { devices: null, groups: null }
  const none: DeviceBinding = { devices: [], groups: null }
  const grouped: DeviceBinding = { devices: ['A'], groups: ['G'] }
  const gone: DeviceBinding = { devices: ['A'], groups: ['G', 'gone'] }

  test.each([
    ['with full access, for a deleted group', [...everything.grants], gone, true],
    ['with one device, for that one', [both(['A'])], A, true],
    ['with functions only', [grant('functions', ['A'])], A, false],
    ['with services only', [grant('service', ['A'])], A, false],
    ['with some devices, for all', [both(['A', 'B', 'C'])], all, false],
    ['with all functions and some services', [grant('functions', ['*']), grant('service', ['A'])], all, false],
    ['with all members', [both(['A', 'B', 'C'])], grouped, true],
    ['without one member', [both(['A', 'B'])], grouped, false],
    ['with all listed devices, for a deleted group', [both(['A', 'B', 'C'])], gone, false],
    ['with nothing, for no device', [], none, false],
    ['with any access, for an unknown group', [both(['X'])], { devices: null, groups: ['none'] }, true],
  ] as const)('may subscribe, or may not: %s', (_, grants, bound, isAllowed) => {
    expect(maySubscribe(scopeOf(grants), bound, membersOf)).toBe(isAllowed)
  })
})
