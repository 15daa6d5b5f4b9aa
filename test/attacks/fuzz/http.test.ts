import fc from 'fast-check'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { z } from 'zod'
import { chapters } from '#api/chapters'
import type { RouteEntry } from '#api/route-entry'
import { everything } from '#model/scope'
import { expectDocumented } from '#test/api/documented-answer'
import { prepareCall, preparedNames } from '#test/api/example-calls'
import { examplePath } from '#test/api/example-request'
import { fuzzRuns } from '#test/attacks/fuzz/fuzz-runs'
import { edited, edits, mutated, oddText } from '#test/attacks/fuzz/mutation'
import { AccessFixture } from '#test/routes/access-fixture'

/**
 * Sends the example of every route with a mutated path, query or body. The answer must be documented and below 500, and
 * unrelated resources must not change.
 */

let fixture: AccessFixture
beforeAll(async () => {
  fixture = await AccessFixture.open()
  await fixture.restore(everything.grants)
  for (const [method, path, body] of unrelated) {
    const { status, text } = await fixture.call('eve', method, path, body)
    expect([path, status < 300, text]).toEqual([path, true, expect.any(String)])
  }
  before = await readUnrelated()
})
afterAll(() => fixture?.close())

/** Resources whose names no example uses. */
const unrelated: readonly (readonly [method: string, path: string, body: object])[] = [
  ['POST', '/devices', { deviceIdentifier: 'KEPT-1', meta: { since: 1 } }],
  ['PUT', '/schemas/kept-service', { name: 'Kept', description: '', properties: {} }],
  ['PUT', '/iam/roles/kept', { grants: [] }],
  ['POST', '/iam/users', { name: 'kept', roles: ['kept'] }],
]
const unrelatedPaths = [
  '/devices/KEPT-1?depth=2',
  '/meta/KEPT-1',
  '/schemas/kept-service',
  '/iam/roles/kept',
  '/iam/users/kept',
]
let before: readonly unknown[] = []

const readUnrelated = () =>
  Promise.all(
    unrelatedPaths.map(async (path) => {
      const { status, text } = await fixture.call('eve', 'GET', path)
      return [path, status, text]
    }),
  )

interface MutatedRequest {
  readonly parameters: Readonly<Record<string, string>>
  readonly query: string
  readonly body: unknown
}

function requestTo({ example, parameters, query, body }: RouteEntry): fc.Arbitrary<MutatedRequest> {
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

/** Texts that do not change the structure of a path. Others are tested over raw sockets. */
const inPath = oddText.filter((text) => text.isWellFormed() && !/^(?:\.\.?|projects|hook|)$/.test(text))

/** The text in the encoding of cursors. */
function encodedText(text: string): string {
  return Buffer.from(text).toString('base64url')
}

const entries = chapters.flatMap((chapter) => chapter.entries)

describe.each(entries.map((entry) => [entry.name, entry] as const))('%s', (_, entry) => {
  // The preparation of such a call needs a sign-in each time.
  const isPrepared = preparedNames.includes(entry.name)

  test('gives a documented answer to any request', async () => {
    await fixture.restore(everything.grants)
    let ready = await prepareCall(fixture, entry)
    await fc.assert(
      fc.asyncProperty(requestTo(entry), async ({ parameters, query, body }) => {
        const path = examplePath(entry, { ...parameters, ...ready.parameters }, ready.query ?? query)
        // Requests with large heads are tested over raw sockets.
        fc.pre(path.length < 3_000)
        const answer = await fixture.call(ready.user, entry.method, path, body, ready.headers)
        expect([answer.status < 500, answer.text]).toEqual([true, expect.any(String)])
        expectDocumented(entry, answer)
        if (isPrepared || (entry.access !== 'none' && answer.status === 401)) {
          await fixture.restore(everything.grants)
          ready = await prepareCall(fixture, entry)
        }
      }),
      fuzzRuns(isPrepared ? 2 : 5),
    )
    await fixture.restore(everything.grants)
    expect(await readUnrelated()).toEqual(before)
  })
})
