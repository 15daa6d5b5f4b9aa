import { afterAll, beforeEach, expect, test } from 'vitest'
import { pagesOf } from '#test/blackbox/pages'
import { everywhere, ServerWithUsers, userOf } from '#test/routes/server-with-users'

/** Templates: written for the mails of all users, read by callers who may read functions. Contract 5.5. */

const http = await ServerWithUsers.open()
afterAll(() => http.close())

const locales = {
  en: { subject: 'S {{value}}', text: 'T' },
  'de-CH': { subject: 'S', text: 'T', html: '<p>{{value}}' },
}

beforeEach(async () => {
  await http.call('root', 'DELETE', '/templates/words')
})

test('a template is created, read, listed, changed and deleted', async () => {
  const whole = {
    name: 'words',
    locales,
    resourceIdentifier: 'crn#template:default/words',
    createdBy: userOf('root'),
    createdAt: expect.any(Number),
    updatedBy: userOf('root'),
    updatedAt: expect.any(Number),
  }
  const made = await http.call('root', 'PUT', '/templates/words', { locales })
  expect([made.status, made.json]).toEqual([200, whole])
  const read = await http.call('root', 'GET', '/templates/words')
  expect([read.status, read.text]).toEqual([200, made.text])
  await http.call('root', 'PUT', '/templates/another', { locales })
  const list = await http.call('root', 'GET', '/templates')
  expect((list.json as { name: string }[]).map(({ name }) => name)).toEqual(['another', 'words'])
  const [, last] = await pagesOf((path) => http.call('root', 'GET', path), '/templates?limit=1')
  expect(last?.json).toEqual([whole])

  http.give('eve', [everywhere({ functions: ['read', 'update'] })])
  const change = { locales: { en: { subject: 'X', text: 'Y' } } }
  const changed = await http.call('eve', 'PUT', '/templates/words', change)
  expect(changed.json).toEqual({ ...whole, ...change, updatedBy: userOf('eve') })
  expect((await http.call('root', 'DELETE', '/templates/words')).status).toBe(204)
  for (const method of ['GET', 'DELETE']) {
    expect(await http.call('root', method, '/templates/words')).toMatchObject({
      status: 404,
      json: { error: 'Not Found' },
    })
  }
})

test.each(['a b', '.é', 'x'.repeat(65), 'a%2Fb'])('%j is not a template name: 404', async (name) => {
  for (const method of ['GET', 'PUT', 'DELETE']) {
    const body = method === 'PUT' ? { locales } : undefined
    expect((await http.call('root', method, `/templates/${name}`, body)).status).toBe(404)
  }
})
