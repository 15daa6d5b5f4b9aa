import fc from 'fast-check'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { z } from 'zod'
import { chapters } from '#api/chapters'
import type { RouteEntry } from '#api/entry'
import { everything } from '#model/scope'
import { expectDocumented } from '#test/api/documented-answer'
import { prepareCall, preparedNames } from '#test/api/example-calls'
import { tried } from '#test/attacks/fuzz/fuzzing'
import { edited, edits, mutated, oddText } from '#test/attacks/fuzz/mutation'
import { AccessFixture } from '#test/routes/access-fixture'

/**
 * Every route, by its example with something changed in it: in the path, the query, the body, or the body's bytes. Whatever
 * is sent, the answer is one that the route describes, none says that we failed, and what nobody named stays as it was.
 */

let ground: AccessFixture
beforeAll(async () => {
  ground = await AccessFixture.open()
  await ground.restore(everything.grants)
  for (const [method, path, body] of made) {
    const { status, text } = await ground.call('eve', method, path, body)
    expect([path, status < 300, text]).toEqual([path, true, expect.any(String)])
  }
  before = await keptNow()
})
afterAll(() => ground?.close())

/** Under names that no example has. */
const made: readonly (readonly [method: string, path: string, body: object])[] = [
  ['POST', '/devices', { deviceIdentifier: 'KEPT-1', meta: { since: 1 } }],
  ['PUT', '/schemas/kept-service', { name: 'Kept', description: '', properties: {} }],
  ['PUT', '/iam/roles/kept', { grants: [] }],
  ['POST', '/iam/users', { name: 'kept', roles: ['kept'] }],
]
const shown = ['/devices/KEPT-1?depth=2', '/meta/KEPT-1', '/schemas/kept-service', '/iam/roles/kept', '/iam/users/kept']
let before: readonly unknown[] = []

const keptNow = () =>
  Promise.all(
    shown.map(async (path) => {
      const { status, text } = await ground.call('eve', 'GET', path)
      return [path, status, text]
    }),
  )

interface Sent {
  readonly parameters: Readonly<Record<string, string>>
  readonly query: string
  readonly body: unknown
}

function sentTo({ example, parameters, query, body }: RouteEntry): fc.Arbitrary<Sent> {
  const often = <T>(value: T, other: fc.Arbitrary<T>) =>
    fc.oneof({ weight: 3, arbitrary: fc.constant(value) }, { weight: 1, arbitrary: other })
  const ofPath = Object.entries(example.parameters ?? {}).map(([name, value]) => [name, often(value, inPath)] as const)
  const names = query instanceof z.ZodObject ? Object.keys(query.shape) : []
  const values = fc.oneof(oddText, oddText.map(encodedText), fc.constantFrom('true', '1', '2', 'now'))
  const field = fc.tuple(fc.constantFrom(...names, 'unknown'), values)
  const json = mutated(example.body).map((value) => JSON.stringify(value) ?? '')
  const bytes = fc.tuple(json, edits(3)).map(([text, all]) => edited(Buffer.from(text), all))
  return fc.record({
    parameters: parameters ? fc.record(Object.fromEntries(ofPath)) : fc.constant({}),
    query: often(
      new URLSearchParams(example.query).toString(),
      fc.array(field, { maxLength: 3 }).map((all) => new URLSearchParams(all).toString()),
    ),
    body: body
      ? fc.oneof(
          { weight: 4, arbitrary: json.map((text) => Buffer.from(text)) },
          { weight: 1, arbitrary: bytes },
          { weight: 1, arbitrary: fc.uint8Array({ maxLength: 30 }) },
        )
      : fc.constant(undefined),
  })
}

/** What a path leads to something else by, or nowhere, is tried over raw sockets. */
const inPath = oddText.filter((text) => text.isWellFormed() && !/^(?:\.\.?|projects|hook|)$/.test(text))

/** As cursors are made. */
function encodedText(text: string): string {
  return Buffer.from(text).toString('base64url')
}

const entries = chapters.flatMap((chapter) => chapter.entries)

describe.each(entries.map((entry) => [entry.name, entry] as const))('%s', (_, entry) => {
  // What has to be made ready for one costs a sign-in each time.
  const isPrepared = preparedNames.includes(entry.name)

  test('answers as it says, whatever it is sent', async () => {
    await ground.restore(everything.grants)
    let ready = await prepareCall(ground, entry)
    await fc.assert(
      fc.asyncProperty(sentTo(entry), async ({ parameters, query, body }) => {
        const path = entry.path.replace(/:(\w+)/g, (_, name: string) =>
          encodeURIComponent(ready.parameters?.[name] ?? parameters[name] ?? ''),
        )
        const asked = ready.query ?? query
        // How large a head may be is in the tables over raw sockets.
        fc.pre(path.length + asked.length < 3_000)
        const answer = await ground.call(
          ready.asker,
          entry.method,
          asked === '' ? path : `${path}?${asked}`,
          body,
          ready.headers,
        )
        expect([answer.status < 500, answer.text]).toEqual([true, expect.any(String)])
        expectDocumented(entry, answer)
        if (isPrepared || (entry.access !== 'none' && answer.status === 401)) {
          await ground.restore(everything.grants)
          ready = await prepareCall(ground, entry)
        }
      }),
      tried(isPrepared ? 3 : 10),
    )
    await ground.restore(everything.grants)
    expect(await keptNow()).toEqual(before)
  })
})
