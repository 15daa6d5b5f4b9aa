import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { type RouteEntry, takesIdempotencyKey } from '#api/route-entry'
import type { Grant } from '#model/scope'
import { bindingsOf } from '#routes/bindings'
import { AccessFixture } from '#test/routes/access-fixture'

/** Calls each changing route twice as in its example, under one key. Contract 1.10. */

const everything: readonly Grant[] = [{ permissions: { '*': ['*'] }, devices: ['*'], services: ['*'] }]
const entries = bindingsOf({} as never, {} as never, {} as never).map(({ entry }) => entry)
const keyed = entries.filter(takesIdempotencyKey)

let fixture: AccessFixture
let keys = 0
beforeAll(async () => {
  fixture = await AccessFixture.open()
})
afterAll(() => fixture?.close())

async function prepare(entry: RouteEntry): Promise<{ path: string; headers: Record<string, string> }> {
  await fixture.restore(everything)
  const { example, name } = entry
  if (example.parameters?.name === 'bob') await fixture.bring('bob')
  if (/^write(Device|Service)Properties$/.test(name)) await fixture.link()
  const parameters: Record<string, string> = { ...example.parameters }
  if (name === 'endSession') parameters.id = await fixture.secondSession('eve')
  const path = entry.path.replace(/:(\w+)/g, (_, parameter) => encodeURIComponent(parameters[parameter] ?? ''))
  const query = new URLSearchParams(example.query)
  return {
    path: query.size > 0 ? `${path}?${query}` : path,
    headers: { 'idempotency-key': `key-${++keys}` },
  }
}

const open = keyed.filter(({ isSecret }) => !isSecret)
const secret = keyed.filter(({ isSecret }) => isSecret)

test('there are routes of both kinds', () => {
  expect([open.length > 12, secret.length > 8]).toEqual([true, true])
})

describe.each(open.map((entry) => [entry.name, entry] as const))('%s', (_, entry) => {
  const { method, example } = entry

  test('runs once, and returns the same answer twice', async () => {
    const { path, headers } = await prepare(entry)
    const send = () => fixture.call('eve', method, path, example.body, headers)
    const first = await send()
    expect(first.status).toBe(example.status)
    // An answer with `no-store` must not be stored here either.
    expect(first.headers.get('cache-control')).toBe('private, no-cache')
    await fixture.evaluated('default')
    const [whole, told] = [fixture.whole('default'), fixture.entryCount('default')]
    for (let times = 0; times < 3; times++) {
      const again = await send()
      expect([again.status, again.text]).toEqual([first.status, first.text])
      expect(again.headers.get('location')).toBe(first.headers.get('location'))
      expect(again.headers.get('cache-control')).toBe('private, no-cache')
      expect(again.headers.get('x-request-id')).not.toBe(first.headers.get('x-request-id'))
    }
    expect([fixture.whole('default'), fixture.entryCount('default')]).toEqual([whole, told])
  })
})

describe.each(secret.map((entry) => [entry.name, entry] as const))('%s has secrets', (_, entry) => {
  test('and stores nothing', async () => {
    const { path, headers } = await prepare(entry)
    const kept = await fixture.keptKeys('default')
    const answer = await fixture.call('eve', entry.method, path, entry.example.body, headers)
    expect(answer.status).toBeLessThan(500)
    expect(await fixture.keptKeys('default')).toBe(kept)
  })
})
