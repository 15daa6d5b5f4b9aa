import { afterAll, describe, expect, test } from 'vitest'
import type { RouteEntry } from '#api/route-entry'
import { everything } from '#model/scope'
import { bindingsOf } from '#routes/bindings'
import { examplePath } from '#test/api/example-request'
import { AccessFixture } from '#test/routes/access-fixture'

/** Every route refuses an invalid body and names the fault; the caller has every permission. Contract 1.3, 1.5. */

const fixture = await AccessFixture.open()
afterAll(() => fixture.close())
await fixture.restore(everything.grants)

/**
 * Separate tests cover bodies that keep unknown fields, bodies whose fields are properties of a device, routes that need a proof first,
 * and routes with two kinds of errors.
 */
const entries = bindingsOf({} as never, {} as never, {} as never)
  .map(({ entry }) => entry)
  .filter(({ body, name, access }) => {
    const isProven = access === 'proof' || access === 'user or proof' || access === 'link'
    // Streamed bodies, and calls of an update server, are raw bytes.
    if (body?.isStreamed || access === 'hook') return false
    const isOwn =
      /^(write(Device|Service)Properties|(put|patch)(Device|Service)Desired|putSchema|patchMeta|subscribe)$/.test(name)
    return body && !isProven && !isOwn
  })

const send = (entry: RouteEntry, body: unknown) => fixture.call('eve', entry.method, examplePath(entry), body)

/** The paths of the reported faults. */
async function refused(entry: RouteEntry, body: unknown): Promise<readonly string[]> {
  const before = fixture.storedText('default')
  const { status, text } = await send(entry, body)
  const { error, details } = JSON.parse(text) as { error: string; details: { path: string }[] }
  expect([status, error]).toEqual([400, 'Validation Error'])
  expect(fixture.storedText('default')).toBe(before)
  return details.map(({ path }) => path)
}

/** A value of another type, and one that is too long where possible. */
function wrongFor(value: unknown): unknown[] {
  const isFraction = typeof value === 'number' && !Number.isInteger(value)
  const common = [{ surprise: 1 }, ...(isFraction ? [] : [1.5])]
  if (typeof value === 'string') return [...common, null, ['x'], 'x'.repeat(6_000)]
  if (typeof value === 'boolean') return [...common, 'true', 0]
  if (typeof value === 'number') return [...common, '7', -1, 1e300]
  if (Array.isArray(value))
    return [...common, 'x', null, [1], Array.from({ length: 20_000 }, (_, index) => `x${index}`)]
  return ['x', 1, []]
}

test('some operations have a body', () => {
  expect(entries.length).toBeGreaterThan(10)
})

describe.each(entries.map((entry) => [entry.name, entry] as const))('%s', (_, entry) => {
  const given = entry.example.body as Readonly<Record<string, unknown>>
  const isOptional = entry.body?.schema.safeParse(undefined).success === true

  test('refuses everything but an object', async () => {
    for (const body of [[], 'x', 7, null, [given]]) expect((await refused(entry, body)).length).toBeGreaterThan(0)
    if (!isOptional) expect((await refused(entry, undefined)).length).toBeGreaterThan(0)
  })

  test('names unknown fields', async () => {
    expect(await refused(entry, { ...given, surprise: 1 })).toContain('surprise')
  })

  test.each(Object.entries(given))('names an invalid %s', async (field, value) => {
    for (const wrong of wrongFor(value)) {
      const paths = await refused(entry, { ...given, [field]: wrong })
      expect(paths.some((path) => path === field || path.startsWith(`${field}.`))).toBe(true)
    }
  })

  test.each(Object.keys(given))('names a missing %s that is required', async (field) => {
    const { [field]: _gone, ...rest } = given
    if (entry.body?.schema.safeParse(rest).success) return
    expect(await refused(entry, rest)).toContain(field)
  })

  test('refuses a prototype', async () => {
    const { status, text } = await send(entry, JSON.parse(`{"__proto__":{"a":1},"rest":${JSON.stringify(given)}}`))
    expect([status, JSON.parse(text)]).toEqual([400, { error: 'the body has a key __proto__' }])
  })
})
