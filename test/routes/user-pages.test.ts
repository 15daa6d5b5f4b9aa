import { expect, test } from 'vitest'
import { anonymous } from '#access/built-in-callers'
import { putUser } from '#actors/directory/rows'
import type { DirectoryState, UserRow } from '#actors/directory/state'
import { listUsers } from '#api/users'
import type { Call } from '#http/call'
import { userRoutes } from '#routes/users'
import { IdentityFixture } from '#test/access/identity-fixture'

const count = 100_000

const fixture = await IdentityFixture.open()
const root = fixture.row('root')
const directory = fixture.directoryState
for (let index = 0; index < count; index++) {
  // In random order, as a store returns them.
  const number = (index * 61_583) % count
  const row: UserRow = { ...root, id: `U${number}`, name: `User ${String(number).padStart(6, '0')}`, roles: [] }
  putUser(directory, row.id, row)
}
const lookUps = countReads(directory)

/** The number of rows that were read. */
function countReads({ users }: DirectoryState): { count: number } {
  const counter = { count: 0 }
  const get = users.get.bind(users)
  users.get = (id) => {
    counter.count++
    return get(id)
  }
  return counter
}

async function page(query: string): Promise<{ readonly names: readonly string[]; readonly next: string | undefined }> {
  const binding = userRoutes(fixture.assembly.context).find(({ entry }) => entry.name === listUsers.name)
  if (!binding) throw new Error('not called')
  const target = { path: '/api/v1/iam/users', query }
  const parsed = listUsers.query?.parse(Object.fromEntries(new URLSearchParams(query)))
  const call = { caller: anonymous, parameters: {}, query: parsed, target } as unknown as Call
  const { chunks, headers } = await fixture.wait(Promise.resolve(binding.answer(call)))
  const whole = async () => {
    let text = ''
    for await (const chunk of chunks ?? []) text += chunk
    return JSON.parse(text) as { name: string }[]
  }
  const next = /\?([^>]*)>; rel="next"/.exec(headers?.Link ?? '')?.[1]
  return { names: (await fixture.wait(whole())).map(({ name }) => name), next }
}

const nameOf = (number: number) => `User ${String(number).padStart(6, '0')}`

test('a page of a hundred thousand users reads only its own rows, at any position', async () => {
  const first = await page('limit=10')
  expect(first.names).toEqual(['root', ...Array.from({ length: 9 }, (_, index) => nameOf(index))])
  // Each row is read once by name and once as text, and one more row shows whether there are more.
  expect(lookUps.count).toBeLessThanOrEqual(3 * 11)
  lookUps.count = 0
  const second = await page(first.next ?? '')
  expect(second.names).toEqual(Array.from({ length: 10 }, (_, index) => nameOf(index + 9)))
  expect(lookUps.count).toBeLessThanOrEqual(3 * 11)
  lookUps.count = 0
  const cursor = Buffer.from(nameOf(count - 4).toUpperCase()).toString('base64url')
  const last = await page(`limit=10&cursor=${cursor}`)
  expect(last).toEqual({ names: [nameOf(count - 3), nameOf(count - 2), nameOf(count - 1)], next: undefined })
  expect(lookUps.count).toBeLessThanOrEqual(3 * 11)
})

test('a list without a limit has all users', async () => {
  const { names, next } = await page('')
  expect([names.length, new Set(names).size, next]).toEqual([count + 1, count + 1, undefined])
  expect(names).toEqual([...names].sort((a, b) => (a.toLowerCase() < b.toLowerCase() ? -1 : 1)))
})
