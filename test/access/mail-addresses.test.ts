import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { operator } from '#access/built-in-callers'
import { hashOf } from '#access/secret-text'
import { formatCrn } from '#model/crn'
import { IdentityFixture } from '#test/access/identity-fixture'

const old = 'ann@acme.example'
const later = 'ann@later.example'

let fixture: IdentityFixture
let ann: string

beforeEach(async () => {
  fixture = await IdentityFixture.open()
  await fixture.addUser('ann', { email: old })
  ann = formatCrn({ type: 'user', id: fixture.row('ann').id })
})
afterEach(() => fixture.close())

const recipientOf = (user: string, tenant = 'default') => {
  const { isActive, address } = fixture.identity.authors.recipientOf(tenant, user)
  return isActive ? (address ?? 'nowhere') : 'nobody'
}
const update = (change: object) =>
  fixture.directory({ type: 'update_user', user: fixture.row('ann').id, ...change } as never)
const startUpdate = (change: object) =>
  fixture.assembly.context.system.ask(
    { kind: 'directory', tenant: 'default', id: 'directory' },
    { type: 'update_user', user: fixture.row('ann').id, ...change },
  )

/** Users get mails whether they are signed in or not. Contract 5.7. */
describe('a user gets mails', () => {
  test('at the new address of the account once it is stored, while their tokens stay as they are', async () => {
    const { token } = await fixture.basic('ann')
    const caller = await fixture.bearer(token)
    expect(recipientOf(ann)).toBe(old)
    await update({ email: later })
    expect([recipientOf(ann), caller.isCurrent()]).toEqual([later, true])
    expect(await fixture.bearer(token)).toBe(caller)
    await update({ email: null })
    expect([recipientOf(ann), caller.isCurrent()]).toEqual(['nowhere', true])
  })

  test('only in their tenant', () => {
    expect(recipientOf(ann, 'acme')).toBe('nobody')
  })

  test('unless they are disabled, deleted, or have not signed up', async () => {
    await update({ state: 'disabled', email: later })
    expect(recipientOf(ann)).toBe('nobody')
    await update({ state: 'active' })
    expect(recipientOf(ann)).toBe(later)
    await fixture.invite('bob', { email: 'bob@acme.example' })
    expect(recipientOf(formatCrn({ type: 'user', id: fixture.row('bob').id }))).toBe('nobody')
    await fixture.directory({ type: 'remove_user', user: fixture.row('ann').id })
    expect(recipientOf(ann)).toBe('nobody')
  })

  test('at the old address until the new one is stored', async () => {
    const updated = startUpdate({ email: later })
    await Promise.resolve()
    expect([fixture.row('ann').email, recipientOf(ann)]).toEqual([later, old])
    await fixture.wait(updated)
    expect(recipientOf(ann)).toBe(later)
  })

  test.each([
    ['was lost', false, old],
    ['reached the disk', true, later],
  ])('at the stored address after a failed write that %s', async (_, reachedDisk, address) => {
    fixture.faults.next = { fail: 'full', reachedDisk }
    expect(await fixture.refusal(startUpdate({ email: later }))).toBe('storage STORAGE')
    await fixture.world.advance(5_000)
    expect(recipientOf(ann)).toBe(address)
    fixture = await fixture.restart()
    expect(recipientOf(ann)).toBe(address)
  })
})

test('an API key is an active recipient until it expires, the operator always is, and an unknown user is not', async () => {
  const key = 'crn#key:K1abcdefgh'
  const expiresAt = fixture.world.now() + 1_000
  const added = { id: 'K1abcdefgh', name: 'x', hash: hashOf('x'), roles: ['viewer'], expiresAt }
  expect(recipientOf(key)).toBe('nobody')
  await fixture.tenant('default', { type: 'add_api_key', ...added })
  expect([recipientOf(key), recipientOf(key, 'acme')]).toEqual(['nowhere', 'nobody'])
  fixture.world.spend(1_000)
  expect(recipientOf(key)).toBe('nobody')
  expect([recipientOf(operator.user), recipientOf(operator.user, 'acme')]).toEqual(['nowhere', 'nobody'])
  expect(recipientOf('crn#user:anonymous')).toBe('nobody')
  await fixture.world.settle()
})
