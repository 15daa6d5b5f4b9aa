import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { asyncApiDocument } from '#api/asyncapi'
import { chapters } from '#api/chapters'
import type { RouteEntry } from '#api/entry'
import { openApiDocument } from '#api/openapi'
import { everything } from '#model/scope'
import { asyncApiFile, descriptionRoutes, openApiFile } from '#routes/pages/description-routes'
import type { PageFile } from '#routes/pages/page-files'
import { expectDocumented, expectShape } from '#test/api/documented-answer'
import { prepareCall, preparedNames } from '#test/api/example-calls'
import { AccessFixture } from '#test/routes/access-fixture'

/**
 * Every example of every entry, sent to a server that holds what it is about: the answer has the status and the shape of
 * the example, and is one that the entry describes.
 */

const entries = chapters.flatMap((chapter) => chapter.entries)

/** A secret that the server gives away: no cache may keep it. */
const secretAnswer = /"(token|accessToken|key|code|secret|recoveryCodes|ticket)":/

let ground: AccessFixture
beforeAll(async () => {
  const files = new Map([
    [openApiFile, fileOf(openApiDocument())],
    [asyncApiFile, fileOf(asyncApiDocument())],
  ])
  ground = await AccessFixture.open(descriptionRoutes(files))
})
afterAll(() => ground?.close())

/** As the build would make it. */
function fileOf(document: object): PageFile {
  const bytes = new Map([['identity', Buffer.from(JSON.stringify(document))] as const])
  return { type: 'application/json; charset=utf-8', bytes, digest: 'of the document' }
}

describe.each(entries.map((entry) => [entry.name, entry] as const))('%s', (_, entry) => {
  const { method, path, example } = entry

  test('answers its example as it says', async () => {
    await ground.restore(everything.grants)
    const { asker, headers, parameters, query, body } = await prepareCall(ground, entry)
    const named: Readonly<Record<string, string>> = { ...example.parameters, ...parameters }
    const filled = path.replace(/:(\w+)/g, (_, name) => encodeURIComponent(named[name] ?? ''))
    const asked = query ?? new URLSearchParams(example.query).toString()
    const answer = await ground.call(asker, method, asked === '' ? filled : `${filled}?${asked}`, bodyOf(entry, body), {
      ...headers,
    })
    expect([answer.status, answer.status < 400 ? '' : answer.text]).toEqual([example.status, ''])
    expectDocumented(entry, answer)
    if (entry.isSecret && secretAnswer.test(answer.text)) expect(answer.headers.get('cache-control')).toBe('no-store')
    if (example.answer !== undefined) expectShape(example.answer, JSON.parse(answer.text))
  })
})

/** Of a streamed one as it is. */
function bodyOf({ example, body }: RouteEntry, more: object | undefined): unknown {
  if (body?.isStreamed) return Buffer.from(example.body as string)
  return more ? { ...(example.body as object), ...more } : example.body
}

test('everything that is bound is described, and nothing else', () => {
  expect(entries.map(({ name }) => name).toSorted()).toEqual(ground.bindings.map(({ entry }) => entry.name).toSorted())
})

test('nothing is prepared for an entry that is not there', () => {
  expect(preparedNames.filter((name) => !entries.some((entry) => entry.name === name))).toEqual([])
})
