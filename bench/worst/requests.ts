import { createUser, readToken } from '#bench/harness/identity'
import { sleep } from '#bench/time'
import type { Fixture } from '#bench/worst/fixture'
import { uuid } from '#bench/worst/frames'

/** A request to a tenant at its limits. The data of earlier requests stays. */
export interface RequestInput {
  readonly input: string
  /** Called once; returns the function to measure, which is called for each measurement. */
  prepare(fixture: Fixture): Promise<() => Promise<unknown>>
}

const names = (prefix: string, count: number) => Array.from({ length: count }, (_, index) => `${prefix}${index}`)
const idOf = (crn: string) => crn.split(':')[1] ?? ''
const groupCount = 100
const groupDevices = 10_000
const grantCount = 100

/** Eight services of 1 024 properties: a body has at most 8 250 objects and arrays. */
function declaration(device: string, from = 0): { deviceIdentifier: string; services: object[]; updates: object[] } {
  const properties = Array.from({ length: 1_024 }, (_, propId) => ({ propId: propId + from, type: 'FLOAT64' }))
  const services = names('', 8).map((service) => ({ serviceIdentifier: uuid(Number(service)), properties }))
  return { deviceIdentifier: device, services, updates: [] }
}

function post({ request, link }: Fixture, body: object | string) {
  return request('POST', '/link', body, { authorization: link })
}

function update(propId: number, value: unknown, service = 0) {
  return { serviceIdentifier: uuid(service), propId, value }
}

/** Creates a device with the maximum number of properties, each with a value: adds values until the server refuses. */
async function fillDevice(to: Fixture, device: string): Promise<void> {
  const declared = declaration(device)
  while ((await post(to, declared)).status !== 204 && declared.services.length > 1) declared.services.pop()
  for (let service = 0; service < declared.services.length; service++) {
    const updates = Array.from({ length: 1_024 }, (_, propId) => update(propId, Math.PI, service))
    if ((await post(to, { deviceIdentifier: device, updates })).status !== 204) return
  }
}

/** Creates a device, and adds properties with this text until the server refuses. */
async function fillWith(text: string, to: Fixture, device: string): Promise<void> {
  const properties = Array.from({ length: 1_024 }, (_, propId) => ({ propId, type: 'STRING' }))
  const isTaken = async (body: object) => (await post(to, { deviceIdentifier: device, ...body })).status === 204
  let isOpen = await isTaken({ services: [{ serviceIdentifier: uuid(0), properties }], updates: [] })
  for (let propId = 0; isOpen && propId < properties.length; propId++)
    isOpen = await isTaken({ updates: [update(propId, text)] })
}

/** The number of alarms with long conditions, each of a different form. */
const longConditions = 400
const longCondition = (form: number) => {
  const sums = Array.from({ length: 40 }, (_, place) => ({
    [(form >> (place % 9)) % 2 === 0 ? '+' : 'max']: [{ var: ['0x0002', 1] }, 1, 2, 3],
  }))
  return { '<': [{ '+': [{ var: '0x0001' }, ...sums] }, -1] }
}
const alarmsActive = 2_000

const groups: string[] = []
let limited = ''
const grantsOf = (name: string, devices = 180) =>
  Array.from({ length: grantCount }, (_, index) => ({
    permissions: {
      service: ['read'],
      functions: ['read', 'create'],
      alarms: ['create'],
      roles: ['*'],
      users: ['read'],
    },
    devices: names(`${name}-${index}-`, devices),
    services: names('s', 30),
  }))

function input(name: string, prepare: RequestInput['prepare']): RequestInput {
  return { input: name, prepare }
}

/** An input without preparation. `sent`: the number of the call of `ask`, from 1. */
function counted(name: string, ask: (fixture: Fixture, sent: number) => Promise<unknown>): RequestInput {
  let sent = 0
  return input(name, async (fixture) => () => ask(fixture, ++sent))
}

function get(name: string, path: string, authorization?: () => string): RequestInput {
  return input(name, async ({ request, person }) => {
    const headers = { authorization: authorization?.() ?? person }
    return () => request('GET', path, undefined, headers)
  })
}

/** A request with the same body each time. */
function again(name: string, target: string, body: () => object, authorization?: () => string): RequestInput {
  const [method = '', path = ''] = target.split(' ')
  return input(name, async ({ request, person }) => {
    const text = JSON.stringify(body())
    return () => request(method, path, text, { authorization: authorization?.() ?? person })
  })
}

function wrongPost(what: string, body: object): RequestInput {
  const text = JSON.stringify({ deviceIdentifier: 'WRONG', ...body })
  return counted(`POST /link, as many wrong ${what} as it takes`, (to) => post(to, text))
}

async function makeAndDelete({ make, request }: Fixture, path: string, body: object): Promise<void> {
  const { resourceIdentifier } = await make<{ resourceIdentifier: string }>('POST', path, body)
  await request('DELETE', `${path}/${idOf(resourceIdentifier)}`)
}

function making(name: string, path: string, body: () => object): RequestInput {
  return counted(name, (fixture) => makeAndDelete(fixture, path, body()))
}

const alarm = (bound: object) => ({
  ...{ name: 'a', severity: 'info', serviceIdentifier: uuid(0), condition: { '>': [{ var: '0x2000' }, 3] } },
  ...bound,
})
const asLimited = () => limited

function largeGrant() {
  const grants = grantsOf('R')
  const devices = grants.flatMap((grant) => grant.devices).slice(0, groupDevices)
  return { grants: [{ ...grants[0], devices }] }
}

export const requests: readonly RequestInput[] = [
  counted('POST /link, the largest declaration, new', (to, sent) => post(to, declaration('NEW', sent * 2_000))),
  input('POST /link, the most updates', async (to) => {
    const [first] = declaration('MOST').services
    const updates = names('', 4_096).map((place) => update(Number(place) % 1_024, 1))
    await post(to, { deviceIdentifier: 'MOST', services: [first], updates: [] })
    return () => post(to, { deviceIdentifier: 'MOST', updates })
  }),
  input('POST /link, the longest lists', async (to) => {
    const properties = names('', 4).map((propId) => ({ propId: Number(propId), type: 'UINT8-ARRAY' }))
    const services = [{ serviceIdentifier: uuid(0), properties }]
    const value = Array(32_000).fill(1)
    const updates = properties.map(({ propId }) => update(propId, value))
    return () => post(to, { deviceIdentifier: 'LISTS', services, updates })
  }),
  wrongPost('declarations', {
    updates: [],
    services: names('s', 8).map((serviceIdentifier) => ({ serviceIdentifier, properties: Array(1_000).fill({}) })),
  }),
  wrongPost('updates', { updates: Array(4_096).fill({}) }),
  input('GET of a device that is full', async (fixture) => {
    await fillDevice(fixture, 'FULL')
    return () => fixture.request('GET', '/devices/FULL')
  }),
  input('GET of a device that is full of texts', async (fixture) => {
    await fillWith('€'.repeat(16_000), fixture, 'WIDE')
    return () => fixture.request('GET', '/devices/WIDE')
  }),
  get('GET of a device that is full, by hexadecimal ids', '/devices/FULL?hex=true'),
  get('GET of a device that is full, by names', '/devices/FULL?raw=false'),
  get('GET of all devices, some of them full', '/devices?depth=2'),
  get('GET of all services, some of devices that are full', '/services?depth=2'),
  get(
    'a filter of 8 KiB',
    `/devices?filter=${encodeURIComponent(JSON.stringify({ or: names('', 60).map((name) => ({ '==': [{ var: `services.${uuid(Number(name))}.0x0001` }, 'x'] })) }))}`,
  ),
  get('a query of 1 000 fields', `/devices?${names('a', 1_000).join('&')}`),
  input('DELETE of a device that is full', async (fixture) => {
    for (const device of names('GONE', 5)) await fillDevice(fixture, device)
    let sent = 0
    return () => fixture.request('DELETE', `/devices/GONE${sent++}`)
  }),
  input('GET of 100 groups of 10 000 devices', async ({ make, request }) => {
    while (groups.length < groupCount) {
      const devices = names(`G${groups.length}-`, groupDevices - 1)
      groups.push(
        (await make<{ resourceIdentifier: string }>('POST', '/groups', { name: 'g', devices })).resourceIdentifier,
      )
    }
    return () => request('GET', '/groups')
  }),
  making('POST of an alarm bound to 100 groups of 10 000 devices', '/alarms', () => alarm({ groups })),
  making('POST of a function bound to 100 groups of 10 000 devices', '/functions', () => ({
    ...{ name: 'f', binding: { groups }, graph: { nodes: [{ id: 't', type: 'trigger', on: 'status' }], edges: [] } },
  })),
  making('POST of a group of 10 000 devices', '/groups', () => ({ name: 'g', devices: names('H', groupDevices) })),
  input('POST of an alarm bound to 100 groups, while a socket is open', async (to) => {
    const socket = await to.open('/events')
    socket.on('message', () => {})
    return () => makeAndDelete(to, '/alarms', alarm({ groups }))
  }),
  making('POST of an alarm that names 10 000 devices', '/alarms', () => alarm({ devices: names('H', groupDevices) })),
  input('PUT of a schema of 1 024 properties with 5 names of values each', async ({ request }) => {
    const entries = Object.fromEntries(names('', 5).map((value) => [value, { name: `value ${value}` }]))
    const property = (name: string) => ({ name, type: 'uint8', enum: entries })
    const properties = Object.fromEntries(names('', 1_024).map((id) => [`0x${Number(id).toString(16)}`, property(id)]))
    let sent = 0
    return () => request('PUT', `/schemas/${uuid(99)}`, { name: `S${++sent}`, properties })
  }),
  again('POST of an action over 100 000 devices', 'POST /devices/actions', () => ({
    ...{ groups: groups.slice(0, 10), serviceIdentifier: uuid(0), updates: { '0x2000': 1 } },
  })),
  again('PUT of a role of 100 grants', 'PUT /iam/roles/big', () => ({ grants: grantsOf('R') })),
  input('PUT of a role of 100 grants, by a user with 100 grants', async ({ port, person, request }) => {
    const user = await createUser(port, person, { name: 'limited', role: 'big' })
    limited = `Bearer ${await readToken(port, user)}`
    return () => request('PUT', '/iam/roles/copy', { grants: grantsOf('R') }, { authorization: limited })
  }),
  again(
    'PUT of a role of one grant of 10 000 devices, by a user with 100 grants',
    'PUT /iam/roles/copy',
    largeGrant,
    asLimited,
  ),
  get('GET of all devices, by a user with 100 grants', '/devices?depth=2', asLimited),
  input('GET of 100 roles of 100 grants', async ({ make, request }) => {
    for (const name of names('r', 100)) await make('PUT', `/iam/roles/${name}`, { grants: grantsOf(name) })
    return () => request('GET', '/iam/roles')
  }),
  input('PUT of a role that 1 000 sockets depend on, each with a filter', async ({ open, request }) => {
    for (let opened = 0; opened < 1_000; opened++)
      (await open(`/events?services=s${opened}`, undefined, limited)).on('message', () => {})
    let sent = 0
    return () => request('PUT', '/iam/roles/big', { grants: grantsOf(`R${++sent % 2}`) })
  }),
  counted('PATCH of the roles of a user with 1 000 sockets', ({ request }, sent) =>
    request('PATCH', '/iam/users/limited', { roles: ['big', ...(sent % 2 ? ['r1'] : [])] }),
  ),
  counted('a socket with 2 000 names in its filter', async ({ open }) =>
    (await open(`/events?devices=${names('D', 1_000)}&services=${names('s', 1_000)}`)).close(),
  ),
  counted('a socket that resumes far behind', async ({ open, request }) => {
    const { headers } = await request('GET', '/devices?limit=1')
    const socket = await open(`/events?epoch=${headers['stream-epoch']}&offset=0`)
    socket.on('message', () => {})
    await sleep(1_500)
    socket.close()
  }),
  counted('PATCH of 64 KiB of metadata', ({ request }, sent) => {
    const a = Object.fromEntries(names('k', 6_000).map((key, place) => [key, (sent - 1) * 6_000 + place]))
    return request('PATCH', '/meta/FULL', { a })
  }),
  input('test of a function with the most work in templates', async ({ make, request }) => {
    const text = `${'{{#meta.l}}'.repeat(14)}{{value}}${'{{/meta.l}}'.repeat(14)}`.repeat(30)
    await make('PUT', '/templates/worst', { locales: { en: { subject: 's', text, html: text } } })
    const mails = names('e', 60)
    const nodes = [
      { id: 't', type: 'trigger', on: 'status' },
      ...mails.map((id) => ({ id, type: 'email', template: 'worst' })),
    ]
    const graph = { nodes, edges: mails.map((id) => ['t', id]) }
    const body = { name: 'f', binding: { devices: [] }, graph }
    const { resourceIdentifier } = await make<{ resourceIdentifier: string }>('POST', '/functions', body)
    const sample = { value: 'online', meta: { l: [1, 2, 3, 4] } }
    return () => request('POST', `/functions/${idOf(resourceIdentifier)}/test`, { sample })
  }),
  again('PUT of a rollout whose window never opens', 'PUT /updates/projects/p/rollout', () => ({
    ...{ firmware: '1.0.0', percent: 1, window: { cron: '0 0 31 2,4,6,9,11 *', minutes: 1 } },
  })),
  input('metrics of 200 tenants', async ({ make, port }) => {
    for (const tenantIdentifier of names('t', 200)) await make('POST', '/iam/tenants', { tenantIdentifier, name: 'T' })
    return async () => (await fetch(`http://127.0.0.1:${port}/metrics`)).text()
  }),
  get(
    'a token of 8 KB',
    '/devices',
    () =>
      `Bearer ${names('', 3)
        .map(() => 'a'.repeat(2_600))
        .join('.')}`,
  ),
  get('credentials of 8 KB', '/iam/token', () => `Basic ${Buffer.from(`a:${'p'.repeat(6_000)}`).toString('base64')}`),
  get('a backup', '/backup'),
  // Near the end, because these alarms stay, and would be evaluated for later values.
  input('POST of one of 400 long alarms, and then a value for all of them', async (to) => {
    const properties = names('', 3).map((propId) => ({ propId: Number(propId), type: 'FLOAT64' }))
    const services = [{ serviceIdentifier: uuid(0), properties }]
    await post(to, { deviceIdentifier: 'LONG', services, updates: [] })
    const long = (form: number) => ({ ...alarm({ devices: ['LONG'] }), condition: longCondition(form) })
    for (let form = 0; form < longConditions; form++) await to.make('POST', '/alarms', long(form))
    let sent = 0
    return async () => {
      await to.make('POST', '/alarms', long(longConditions + ++sent))
      await post(to, { deviceIdentifier: 'LONG', updates: [update(1, sent)] })
    }
  }),
  input('DELETE of a device with 2 000 active alarms', async (to) => {
    const devices = names('ALARMED', 3)
    for (const deviceIdentifier of devices) {
      const services = [{ serviceIdentifier: uuid(0), properties: [{ propId: 1, type: 'FLOAT64' }] }]
      await post(to, { deviceIdentifier, services, updates: [] })
      await post(to, { deviceIdentifier, updates: [update(1, 5)] })
    }
    const condition = { '>': [{ var: '0x0001' }, 3] }
    for (let made = 0; made < alarmsActive; made++)
      await to.make('POST', '/alarms', { ...alarm({ devices }), condition })
    await sleep(20_000)
    let sent = 0
    return () => to.request('DELETE', `/devices/ALARMED${sent++}`)
  }),
]
