import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import type { RouteEntry } from '#api/entry'
import { everything } from '#model/scope'
import { bindingsOf } from '#routes/bindings'
import { AccessGround } from '#test/routes/access-ground'

/** What is no body of a route is refused, and named; whoever asks may do everything. Contract 1.3, 1.5. */

let ground: AccessGround
beforeAll(async () => {
  ground = await AccessGround.open()
  await ground.restore(everything.grants)
})
afterAll(() => ground?.close())

/**
 * Those that keep what they do not know, those whose fields are a device's properties, those that ask for a proof first, and
 * what refuses in two ways have tests of their own.
 */
const entries = bindingsOf({} as never, {} as never, {} as never)
  .map(({ entry }) => entry)
  .filter(({ body, name, access }) => {
    const isProven = access === 'proof' || access === 'person or proof' || access === 'link'
    // Bytes as they are, and whatever an update server says.
    if (body?.isStreamed || access === 'hook') return false
    const isOwn = ['putSchema', 'patchMeta', 'writeDeviceProperties', 'writeServiceProperties', 'subscribe'].includes(
      name,
    )
    return body && !isProven && !isOwn
  })

async function send(entry: RouteEntry, body: unknown) {
  const { path, example, method } = entry
  const filled = path.replace(/:(\w+)/g, (_, name) => encodeURIComponent(example.parameters?.[name] ?? ''))
  const query = new URLSearchParams(example.query)
  return ground.call('eve', method, `${filled}${query.size > 0 ? `?${query}` : ''}`, body)
}

/** Paths of what is said to be wrong. */
async function refused(entry: RouteEntry, body: unknown): Promise<readonly string[]> {
  const before = ground.whole('default')
  const { status, text } = await send(entry, body)
  const { error, details } = JSON.parse(text) as { error: string; details: { path: string }[] }
  expect([status, error]).toEqual([400, 'Validation Error'])
  expect(ground.whole('default')).toBe(before)
  return details.map(({ path }) => path)
}

/** Of another type than what is there; too long, where that can be. */
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

test('there are some of them', () => {
  expect(entries.length).toBeGreaterThan(10)
})

describe.each(entries.map((entry) => [entry.name, entry] as const))('%s', (_, entry) => {
  const given = entry.example.body as Readonly<Record<string, unknown>>
  const isOptional = entry.body?.schema.safeParse(undefined).success === true

  test('takes nothing but an object', async () => {
    for (const body of [[], 'x', 7, null, [given]]) expect((await refused(entry, body)).length).toBeGreaterThan(0)
    if (!isOptional) expect((await refused(entry, undefined)).length).toBeGreaterThan(0)
  })

  test('names what it does not know', async () => {
    expect(await refused(entry, { ...given, surprise: 1 })).toContain('surprise')
  })

  test.each(Object.entries(given))('names %s where it is wrong', async (field, value) => {
    for (const wrong of wrongFor(value)) {
      const paths = await refused(entry, { ...given, [field]: wrong })
      expect(paths.some((path) => path === field || path.startsWith(`${field}.`))).toBe(true)
    }
  })

  test.each(Object.keys(given))('names %s where it is missing and needed', async (field) => {
    const { [field]: _gone, ...rest } = given
    if (entry.body?.schema.safeParse(rest).success) return
    expect(await refused(entry, rest)).toContain(field)
  })

  test('takes no prototype', async () => {
    const { status, text } = await send(entry, JSON.parse(`{"__proto__":{"a":1},"rest":${JSON.stringify(given)}}`))
    expect([status, JSON.parse(text)]).toEqual([400, { error: 'the body has a key __proto__' }])
  })
})
