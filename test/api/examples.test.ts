import { afterAll, describe, expect, test } from 'vitest'
import { asyncApiDocument } from '#api/asyncapi'
import { chapters } from '#api/chapters'
import { openApiDocument } from '#api/openapi'
import { everything } from '#model/scope'
import type { PageFile } from '#routes/pages/page-files'
import { asyncApiFile, descriptionRoutes, openApiFile } from '#routes/pages/page-routes'
import { expectDocumented, expectShape } from '#test/api/documented-answer'
import { prepareCall, preparedNames } from '#test/api/example-calls'
import { exampleBody, examplePath } from '#test/api/example-request'
import { AccessFixture } from '#test/routes/access-fixture'

/** Sends every example to a server. The answer must have the status and shape of the example. */

const entries = chapters.flatMap((chapter) => chapter.entries)

/** Finds secrets in answers. No cache may store such answers. */
const secretAnswer = /"(token|accessToken|key|code|secret|recoveryCodes|ticket)":/

const files = new Map([
  [openApiFile, fileOf(openApiDocument())],
  [asyncApiFile, fileOf(asyncApiDocument())],
])
const fixture = await AccessFixture.open(descriptionRoutes(files))
afterAll(() => fixture.close())

/** The file that the build would write for this document. */
function fileOf(document: object): PageFile {
  const bytes = new Map([['identity', Buffer.from(JSON.stringify(document))] as const])
  return { type: 'application/json; charset=utf-8', bytes, digest: 'of the document' }
}

describe.each(entries.map((entry) => [entry.name, entry] as const))('%s', (_, entry) => {
  const { method, example } = entry

  test('answers its example as documented', async () => {
    await fixture.restore(everything.grants)
    const { user, headers, parameters, query, body } = await prepareCall(fixture, entry)
    const path = examplePath(entry, parameters, query)
    const answer = await fixture.call(user, method, path, exampleBody(entry, body), { ...headers })
    expect([answer.status, answer.status < 400 ? '' : answer.text]).toEqual([example.status, ''])
    expectDocumented(entry, answer)
    if (entry.isSecret && secretAnswer.test(answer.text)) expect(answer.headers.get('cache-control')).toBe('no-store')
    if (example.answer !== undefined) expectShape(example.answer, JSON.parse(answer.text))
  })
})

test('the entries are exactly those of the bound routes', () => {
  expect(entries.map(({ name }) => name).toSorted()).toEqual(
    fixture.http.bindings.map(({ entry }) => entry.name).toSorted(),
  )
})

test('every preparation has the name of an entry', () => {
  expect(preparedNames.filter((name) => !entries.some((entry) => entry.name === name))).toEqual([])
})
