import { afterAll, describe, expect, test } from 'vitest'
import { idempotencyIndex } from '#actors/idempotency/idempotency'
import { type RouteEntry, takesIdempotencyKey } from '#api/route-entry'
import { everything } from '#model/scope'
import { bindingsOf } from '#routes/bindings'
import { prepareResources } from '#test/api/example-calls'
import { examplePath } from '#test/api/example-request'
import { AccessFixture } from '#test/routes/access-fixture'

/** Calls each changing route twice as in its example, under one key. Contract 1.10. */

const entries = bindingsOf({} as never, {} as never, {} as never).map(({ entry }) => entry)
const keyed = entries.filter(takesIdempotencyKey)

let keys = 0
const fixture = await AccessFixture.open()
afterAll(() => fixture.close())

async function prepare(entry: RouteEntry): Promise<{ path: string; headers: Record<string, string> }> {
  await fixture.restore(everything.grants)
  await prepareResources(fixture, entry)
  const own = entry.name === 'endSession' ? { id: await fixture.secondSession('eve') } : undefined
  return { path: examplePath(entry, own), headers: { 'idempotency-key': `key-${++keys}` } }
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
    await fixture.evaluated()
    const entryCount = () => fixture.system.registry.head('default').taken
    const before = [fixture.storedText('default'), entryCount()]
    for (let times = 0; times < 3; times++) {
      const again = await send()
      expect([again.status, again.text]).toEqual([first.status, first.text])
      expect(again.headers.get('location')).toBe(first.headers.get('location'))
      expect(again.headers.get('cache-control')).toBe('private, no-cache')
      expect(again.headers.get('x-request-id')).not.toBe(first.headers.get('x-request-id'))
    }
    expect([fixture.storedText('default'), entryCount()]).toEqual(before)
  })
})

describe.each(secret.map((entry) => [entry.name, entry] as const))('%s has secrets', (_, entry) => {
  test('and stores nothing', async () => {
    const { path, headers } = await prepare(entry)
    const kept = await fixture.entries(idempotencyIndex, 'default')
    const answer = await fixture.call('eve', entry.method, path, entry.example.body, headers)
    expect(answer.status).toBeLessThan(500)
    expect(await fixture.entries(idempotencyIndex, 'default')).toEqual(kept)
  })
})
