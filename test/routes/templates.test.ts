import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { everywhere, on, PeopleDoor, userOf } from '#test/routes/people-door'

/** Templates: made and changed for everybody's mails, read by whoever knows functions. Contract 5.5. */

let door: PeopleDoor
beforeAll(async () => {
  door = await PeopleDoor.open()
})
afterAll(() => door?.close())

const locales = {
  en: { subject: 'S {{value}}', text: 'T' },
  'de-CH': { subject: 'S', text: 'T', html: '<p>{{value}}' },
}

beforeEach(async () => {
  await door.call('root', 'DELETE', '/templates/words')
})

test('made, read, listed, changed and deleted', async () => {
  const whole = {
    name: 'words',
    locales,
    resourceIdentifier: 'crn#template:default/words',
    createdBy: userOf('root'),
    createdAt: expect.any(Number),
    updatedBy: userOf('root'),
    updatedAt: expect.any(Number),
  }
  const made = await door.call('root', 'PUT', '/templates/words', { locales })
  expect([made.status, made.json]).toEqual([200, whole])
  const read = await door.call('root', 'GET', '/templates/words')
  expect([read.status, read.text]).toEqual([200, made.text])
  await door.call('root', 'PUT', '/templates/another', { locales })
  const list = await door.call('root', 'GET', '/templates')
  expect((list.json as { name: string }[]).map(({ name }) => name)).toEqual(['another', 'words'])
  const page = await door.call('root', 'GET', '/templates?limit=1')
  const next = /^<\/api\/v1([^>]+)>/.exec(page.headers.get('link') ?? '')?.[1] ?? ''
  expect((await door.call('root', 'GET', next)).json).toEqual([whole])

  door.give('eve', [everywhere({ functions: ['read', 'update'] })])
  const change = { locales: { en: { subject: 'X', text: 'Y' } } }
  const changed = await door.call('eve', 'PUT', '/templates/words', change)
  expect(changed.json).toEqual({ ...whole, ...change, updatedBy: userOf('eve') })
  expect((await door.call('root', 'DELETE', '/templates/words')).status).toBe(204)
  for (const method of ['GET', 'DELETE']) {
    expect(await door.call('root', method, '/templates/words')).toMatchObject({
      status: 404,
      json: { error: 'Not Found' },
    })
  }
})

describe('what happens decides which right is needed, and it has to reach any device', () => {
  test.each<[string, Parameters<PeopleDoor['give']>[1], [made: number, changed: number, deleted: number]]>([
    ['who may create', [everywhere({ functions: ['create'] })], [200, 403, 403]],
    ['who may update', [everywhere({ functions: ['update'] })], [403, 200, 403]],
    ['who may delete', [everywhere({ functions: ['delete'] })], [403, 403, 204]],
    ['who may do all of some', [on(['A', 'B'], ['*'], { '*': ['*'] })], [403, 403, 403]],
    ['who may do all of a service', [on(['*'], ['x'], { functions: ['*'] })], [200, 200, 204]],
    ['who may read', [everywhere({ functions: ['read'] })], [403, 403, 403]],
  ])('%s', async (_, grants, [made, changed, deleted]) => {
    door.give('eve', grants)
    const put = (who: string) => door.call(who, 'PUT', '/templates/words', { locales })
    expect((await put('eve')).status).toBe(made)
    await put('root')
    expect((await put('eve')).status).toBe(changed)
    const gone = await door.call('eve', 'DELETE', '/templates/words')
    expect([gone.status, gone.text]).toEqual([deleted, ''])
  })

  test('reading needs no device', async () => {
    await door.call('root', 'PUT', '/templates/words', { locales })
    door.give('eve', [on(['A'], ['x'], { functions: ['read'] })])
    expect((await door.call('eve', 'GET', '/templates/words')).status).toBe(200)
    door.give('eve', [on(['A'], ['x'], { meta: ['read'] })])
    expect((await door.call('eve', 'GET', '/templates/words')).status).toBe(403)
  })
})

test.each(['a b', '.é', 'x'.repeat(65), 'a%2Fb'])('%j names none: 404', async (name) => {
  for (const method of ['GET', 'PUT', 'DELETE']) {
    const body = method === 'PUT' ? { locales } : undefined
    expect((await door.call('root', method, `/templates/${name}`, body)).status).toBe(404)
  }
})

test.each<[string, unknown, string]>([
  ['no en', { locales: { de: locales.en } }, 'locales'],
  ['no locale', { locales: { english: locales.en, en: locales.en } }, 'locales.english'],
  ['no text', { locales: { en: { subject: 'S' } } }, 'locales.en.text'],
  ['two lines of subject', { locales: { en: { subject: 'S\nBcc: a@b', text: 'T' } } }, 'locales.en.subject'],
  ['unescaped', { locales: { en: { subject: 'S', text: 'T', html: '{{{value}}}' } } }, 'locales.en.html'],
  ['unescaped too', { locales: { en: { subject: '{{& value}}', text: 'T' } } }, 'locales.en.subject'],
  ['another text', { locales: { en: { subject: 'S', text: '{{> other}}' } } }, 'locales.en.text'],
  ['other tags', { locales: { en: { subject: 'S', text: '{{=<% %>=}}' } } }, 'locales.en.text'],
  ['no end', { locales: { en: { subject: 'S', text: 'a\n{{#value}}' } } }, 'locales.en.text'],
])('%s is refused with its place, and nothing is kept', async (_, body, path) => {
  const { status, json } = await door.call('root', 'PUT', '/templates/words', body)
  const { details } = json as { details: { path: string; message: string }[] }
  expect([status, details.map((detail) => detail.path)]).toEqual([400, [path]])
  expect((await door.call('root', 'GET', '/templates/words')).status).toBe(404)
})

test('one that a function names may go', async () => {
  await door.call('root', 'PUT', '/templates/words', { locales })
  const nodes = [
    { id: 'start', type: 'trigger', on: 'status' },
    { id: 'tell', type: 'email', template: 'words' },
  ]
  const graph = { nodes, edges: [['start', 'tell']] }
  expect((await door.call('root', 'POST', '/functions', { name: 'F', binding: {}, graph })).status).toBe(201)
  expect((await door.call('root', 'DELETE', '/templates/words')).status).toBe(204)
})
