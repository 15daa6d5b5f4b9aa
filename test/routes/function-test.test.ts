import { afterAll, describe, expect, test } from 'vitest'
import { deliveryAddress } from '#actors/delivery/delivery'
import type { TriedFunction } from '#api/functions'
import { everywhere, grantOn, ServerWithUsers } from '#test/routes/server-with-users'

/** Trial runs of functions: the path through the nodes, and mails that are not sent. Contract 5.4. */

const http = await ServerWithUsers.open()
afterAll(() => http.close())
await template('words', {
  en: {
    subject: '{{function}}: {{value}}',
    text: '{{deviceIdentifier}} {{value}} was {{previous}} {{meta.hall}}',
    html: '<b>{{value}}</b>',
  },
  de: { subject: 'Ist {{value}}', text: '{{on}} {{service}} {{property}} {{alarm}}' },
})
const properties = { '0x0001': { name: 'heat', description: '', type: 'float' } }
await http.call('root', 'PUT', '/schemas/climate', { name: 'Climate', description: '', properties })
const made = await http.call('root', 'POST', '/alarms', {
  name: 'Too warm',
  severity: 'info',
  serviceIdentifier: 'climate',
  condition: { '>': [{ var: '0x1' }, 1] },
  devices: ['A'],
})
const alarm = made.headers.get('location')?.split('/').at(-1) ?? ''

async function template(name: string, locales: object): Promise<void> {
  expect((await http.call('root', 'PUT', `/templates/${name}`, { locales })).status).toBe(200)
}

const onProperty = { id: 'value', type: 'trigger', on: 'property', serviceIdentifier: 'climate', propId: 1 }
const onAlarm = () => ({ id: 'alarm', type: 'trigger', on: 'alarm', alarmId: alarm, to: 'active' })
const onStatus = { id: 'offline', type: 'trigger', on: 'status', to: 'offline' }
const hot = { id: 'hot', type: 'condition', logic: { '>': [{ var: 'value' }, 30] } }
const rising = { id: 'rising', type: 'condition', logic: { '>': [{ var: 'value' }, { var: 'previous' }] } }
const hourly = { id: 'hourly', type: 'throttle', seconds: 3600 }
const mail = { id: 'mail', type: 'email', template: 'words' }
const shout = { id: 'shout', type: 'email', template: 'nowhere' }

/** Nodes in a row; several triggers share the nodes behind them. */
const chain = (...nodes: { id: string }[]) => ({
  nodes,
  edges: nodes.slice(1).map(({ id }, place) => [nodes[place]?.id, id]),
})

async function createFunction(graph: object, more: object = {}): Promise<string> {
  const body = { name: 'Heat <1>', binding: { devices: ['A'] }, graph, ...more }
  const { status, headers } = await http.call('root', 'POST', '/functions', body)
  expect(status).toBe(201)
  return headers.get('location')?.split('/').at(-1) ?? ''
}

async function runTest(graph: object, sample: object, user = 'root'): Promise<TriedFunction> {
  const id = await createFunction(graph)
  const { status, json } = await http.call(user, 'POST', `/functions/${id}/test`, { sample })
  expect(status).toBe(200)
  const { head, requests } = http.system.peek(deliveryAddress('default', id))
  expect([head.seq, requests.size]).toEqual([0, 0])
  return json as TriedFunction
}

test('the result has the path to a mail, and the mail with escaped HTML', async () => {
  const sample = { deviceIdentifier: 'a', value: '<i>31</i>', previous: 29, meta: { hall: 'A & B' } }
  expect(await runTest(chain(onProperty, hourly, mail), sample)).toEqual({
    path: ['value', 'hourly', 'mail'],
    stopped: [],
    mails: [
      {
        node: 'mail',
        template: 'words',
        locale: 'en',
        subject: 'Heat <1>: <i>31</i>',
        text: 'A <i>31</i> was 29 A & B',
        html: '<b>&lt;i&gt;31&lt;&#x2F;i&gt;</b>',
      },
    ],
  })
})

describe('a run stops with a reason', () => {
  test.each<[string, object[], object, string[], object[]]>([
    [
      'a condition is false',
      [onProperty, hot, mail],
      { value: 3 },
      ['value', 'hot'],
      [{ node: 'hot', because: 'false' }],
    ],
    ['there is no value', [onProperty, hot, mail], {}, ['value', 'hot'], [{ node: 'hot', because: 'no value: value' }]],
    [
      'there was no value before',
      [onProperty, rising, mail],
      { value: 3 },
      ['value', 'rising'],
      [{ node: 'rising', because: 'no value: previous' }],
    ],
    ['the status is another one', [onStatus, mail], { value: 'online' }, [], []],
    [
      'the chosen trigger expects another value',
      [onStatus, mail],
      { value: 'online', trigger: 'offline' },
      ['offline'],
      [{ node: 'offline', because: 'false' }],
    ],
  ])('%s', async (_, nodes, sample, path, stopped) => {
    expect(await runTest(chain(...(nodes as { id: string }[])), sample)).toEqual({ path, stopped, mails: [] })
  })

  test('but never at a throttle, and also if the function is disabled', async () => {
    const id = await createFunction(chain(onProperty, hourly, mail), { enabled: false })
    for (let times = 0; times < 2; times++) {
      const { json } = await http.call('root', 'POST', `/functions/${id}/test`, { sample: { value: 1 } })
      expect((json as TriedFunction).mails).toHaveLength(1)
    }
  })
})

describe('the triggers of a run', () => {
  const all = () => ({
    nodes: [onProperty, onAlarm(), onStatus, mail, shout],
    edges: [
      ['value', 'mail'],
      ['alarm', 'shout'],
      ['offline', 'mail'],
      ['offline', 'shout'],
    ],
  })

  test.each<[object, string[]]>([
    [{ value: 'offline' }, ['value', 'mail', 'offline', 'shout']],
    [{ value: true }, ['value', 'mail', 'alarm', 'shout']],
    [{ value: false }, ['value', 'mail']],
    // Each event is the one that its trigger expects.
    [{}, ['value', 'mail', 'alarm', 'shout', 'offline']],
    [{ trigger: 'offline' }, ['offline', 'mail', 'shout']],
    [{ trigger: 'alarm', value: true }, ['alarm', 'shout']],
  ])('with the sample %j pass the expected nodes', async (sample, path) => {
    const { path: found, mails } = await runTest(all(), sample)
    expect(found).toEqual(path)
    // A node behind several triggers sends one mail.
    expect(mails.map(({ node }) => node)).toEqual(path.filter((id) => id === 'mail' || id === 'shout'))
  })

  test.each(['mail', 'unknown'])('%s is refused as a trigger', async (trigger) => {
    const id = await createFunction(all())
    const { status, json } = await http.call('root', 'POST', `/functions/${id}/test`, { sample: { trigger } })
    const details = [{ path: 'sample.trigger', message: `node "${trigger}" must be a trigger` }]
    expect([status, json]).toEqual([400, { error: 'Validation Error', details }])
  })
})

describe('the mails of a run', () => {
  test('a missing template is reported', async () => {
    const { mails } = await runTest(chain(onProperty, shout), { value: 1 })
    expect(mails).toEqual([{ node: 'shout', template: 'nowhere', error: 'no_template' }])
  })

  test('a mail above the size limit is reported', async () => {
    const rounds = '{{#meta.list}}{{#meta.list}}{{#meta.list}}{{value}}{{/meta.list}}{{/meta.list}}{{/meta.list}}'
    await template('flood', { en: { subject: 's', text: rounds } })
    const flood = { id: 'flood', type: 'email', template: 'flood' }
    const meta = { list: Array.from({ length: 100 }, (_, index) => index) }
    const { mails } = await runTest(chain(onProperty, flood), { value: 'x'.repeat(1000), meta })
    expect(mails).toEqual([{ node: 'flood', template: 'flood', error: 'too_large' }])
  })

  test('mails above the size limit of the answer are left out', async () => {
    await template('long', { en: { subject: 's', text: '{{#meta.list}}{{value}}{{/meta.list}}' } })
    const nodes = Array.from({ length: 8 }, (_, index) => ({ id: `m${index}`, type: 'email', template: 'long' }))
    const graph = { nodes: [onProperty, ...nodes], edges: nodes.map(({ id }) => ['value', id]) }
    const meta = { list: Array.from({ length: 200 }, (_, index) => index) }
    const { mails } = await runTest(graph, { value: 'x'.repeat(1000), meta })
    const left = mails.map((mail) => ('error' in mail ? mail.error : mail.text.length))
    expect(left).toEqual([...Array(3).fill(200_000), ...Array(5).fill('left_out')])
  })

  test.each([
    ['de-CH', 'de'],
    ['de', 'de'],
    ['fr-CH', 'en'],
    [undefined, 'en'],
  ])('a mail for %s uses %s', async (locale, found) => {
    const { mails } = await runTest(chain(onProperty, mail), { value: 1, ...(locale && { locale }) })
    expect(mails).toMatchObject([{ locale: found }])
  })

  const textFor = async (user: string, graph: object) => {
    const { mails } = await runTest(graph, { value: true, locale: 'de' }, user)
    return mails.map((mail) => 'text' in mail && mail.text)
  }

  test('names are shown only if the caller may read them', async () => {
    const runs = { functions: ['read' as const] }
    http.give('eve', [everywhere(runs)])
    expect(await textFor('root', chain(onProperty, mail))).toEqual(['property Climate heat '])
    expect(await textFor('eve', chain(onProperty, mail))).toEqual(['property climate 0x0001 '])
    expect(await textFor('root', chain(onAlarm(), mail))).toEqual(['alarm   Too warm'])
    expect(await textFor('eve', chain(onAlarm(), mail))).toEqual([`alarm   ${alarm}`])
    http.give('eve', [everywhere(runs), grantOn(['A'], ['climate'], { schemas: ['read'], alarms: ['read'] })])
    expect(await textFor('eve', chain(onProperty, mail))).toEqual(['property Climate heat '])
    expect(await textFor('eve', chain(onAlarm(), mail))).toEqual(['alarm   Too warm'])
  })
})

test.each<[string, unknown]>([
  ['sample', undefined],
  ['sample.surprise', { surprise: 1 }],
  ['sample.value', { value: {} }],
  ['sample.previous', { previous: [[]] }],
  ['sample.meta', { meta: [] }],
  ['sample.time', { time: 'now' }],
  ['sample.locale', { locale: 'english' }],
  ['sample.deviceIdentifier', { deviceIdentifier: 'a b c' }],
  ['sample.trigger', { trigger: 7 }],
])('an error in %s names its place', async (path, sample) => {
  const id = await createFunction(chain(onProperty, mail))
  const { status, json } = await http.call('root', 'POST', `/functions/${id}/test`, { sample })
  expect(status).toBe(400)
  expect((json as { details: { path: string }[] }).details.map((detail) => detail.path)).toContain(path)
})
