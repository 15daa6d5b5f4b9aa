import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { LinkClient } from '#test/blackbox/link-client'
import { wrongFields } from '#test/blackbox/signed-in-user'
import { type Answer, StartedServer } from '#test/blackbox/started-server'
import { until } from '#test/blackbox/until'

const uuid = '5f2a7c10-0001-4b6d-9e3f-a0000000000a'
const properties = [
  { propId: 0x2000, type: 'FLOAT' },
  { propId: 0x2001, type: 'STRING' },
  { propId: 0x2002, type: 'UINT8' },
  { propId: 0x2003, type: 'UINT64' },
]
const schema = {
  name: 'Climate',
  properties: {
    '0x2000': { name: 'temperature', type: 'float' },
    '0x2001': { name: 'label', type: 'string' },
    '0x2002': { name: 'mode', type: 'uint8', enum: { 1: { name: 'on' } } },
    '0x2003': { name: 'count.all', type: 'uint64' },
  },
}

/** Contract 3.7, over the API. Unit tests cover the meaning of conditions. */
describe('a filter', () => {
  let server: StartedServer
  let link: LinkClient

  /** A, B, D and E are online; D has an error for the temperature, E offers other services, F was never connected. */
  beforeAll(async () => {
    server = await StartedServer.here()
    link = await LinkClient.open(server, 'json')
    const climate = (...values: unknown[]) => [
      { serviceIdentifier: 'climate', properties: properties.map((each, at) => ({ ...each, value: values[at] })) },
    ]
    await link.hello('A', climate(20.5, 'eco', 1, '18446744073709551615'))
    await link.hello('B', climate(25, '', 2, 5))
    const { flakeAddress } = await link.hello('C', climate(-3, 'leak here', 1))
    const broken = await link.hello('D', climate(0, undefined, 3))
    await link.report(broken.flakeAddress, 1, 'climate', [{ propId: 0x2000, error: 'no signal' }])
    await link.hello('E', [
      { serviceIdentifier: 'climate.hall', properties: [{ propId: 0x2000, type: 'UINT8', value: 7 }] },
      { serviceIdentifier: uuid, properties: [{ propId: 1, type: 'BOOL', value: true }] },
    ])
    link.send({ type: 'BYE', flakeAddress })
    const meta = { name: 'Spare' }
    await server.ask('/devices', { method: 'POST', body: { deviceIdentifier: 'F', meta } })
    await server.ask('/schemas/climate', { method: 'PUT', body: schema })
    const site = { site: { floor: 1, 'a.b': 'x' }, name: 'Boiler', tags: ['hot'] }
    await server.ask('/meta/A', { method: 'PATCH', body: site })
    await server.ask('/meta/B', { method: 'PATCH', body: { site: { floor: 2 } } })
    await until(
      async () => ((await server.get('/meta/C')).json as { status: string }).status === 'offline',
      'C to be offline',
    )
  })
  afterAll(async () => {
    link?.socket.terminate()
    await server?.finish()
  })

  const pathOf = (filter: unknown, more = '') =>
    `/devices?filter=${encodeURIComponent(typeof filter === 'string' ? filter : JSON.stringify(filter))}${more}`
  const namesIn = ({ json }: Answer) =>
    (json as { deviceIdentifier: string }[]).map(({ deviceIdentifier }) => deviceIdentifier).join('')
  const nextIn = ({ headers }: Answer) => /^<\/api\/v1([^>]+)>; rel="next"$/.exec(headers.get('link') ?? '')?.[1]

  /** All pages. */
  async function paged(path: string, limit: number): Promise<string> {
    let names = ''
    for (let next: string | undefined = `${path}&limit=${limit}`; next !== undefined; ) {
      const page = await server.get(next)
      expect(page.status).toBe(200)
      names += namesIn(page)
      next = nextIn(page)
      if (next !== undefined) expect(namesIn(page)).toHaveLength(limit)
    }
    return names
  }

  const name = { var: 'deviceIdentifier' }
  const status = { var: 'status' }
  const temperature = { var: 'services.climate.temperature' }
  const mode = { var: 'services.climate.mode' }
  const label = { var: 'services.climate.label' }
  const floor = { var: 'meta.site.floor' }

  test.each<[filter: unknown, found: string]>([
    [true, 'ABCDEF'],
    [null, ''],
    [{ in: [name, ['B', 'F', 'X']] }, 'BF'],
    [{ '!=': [status, 'online'] }, 'CF'],
    [{ '==': [floor, 2] }, 'B'],
    [{ '==': [{ var: 'meta.site.a.b' }, 'x'] }, 'A'],
    [{ '>': [temperature, 20] }, 'AB'],
    [{ missing: ['services.climate.temperature'] }, 'DEF'],
    [{ in: ['leak', label] }, 'C'],
    [{ '==': [{ var: 'services.climate.count.all' }, '18446744073709551615'] }, 'A'],
    [{ '==': [{ var: 'services.climate.hall.0x2000' }, 7] }, 'E'],
    [{ var: `services.${uuid}.0x1` }, 'E'],
    [{ var: 'services.climate' }, 'ABCD'],
    [{ '!': { var: 'services.climate' } }, 'EF'],
    [{ var: 'services.climate.hall' }, 'E'],
    [{ var: `services.${uuid.toUpperCase()}` }, 'E'],
    [{ and: [{ '==': [status, 'online'] }, { '>': [temperature, 20] }, { '==': [mode, 2] }] }, 'B'],
  ])('%j finds %s, in full and in pages', async (filter, found) => {
    const path = pathOf(filter)
    const whole = await server.get(path)
    expect([whole.status, namesIn(whole), nextIn(whole)]).toEqual([200, found, undefined])
    for (const limit of [1, 2, 10]) expect(await paged(path, limit)).toBe(found)
  })

  test('narrows other parameters', async () => {
    expect(namesIn(await server.get(pathOf(true, '&deviceIdentifier=c&deviceIdentifier=A&deviceIdentifier=X')))).toBe(
      'AC',
    )
    expect(
      await paged(pathOf({ '>': [temperature, 0] }, '&deviceIdentifier=C&deviceIdentifier=A&deviceIdentifier=B'), 1),
    ).toBe('AB')
    const [device] = (await server.get(pathOf({ '==': [name, 'A'] }, '&depth=2&raw=false'))).json as object[]
    expect(device).toEqual((await server.get('/devices/A?raw=false')).json)
  })

  test('has its own ETag', async () => {
    const [all, some] = [await server.get('/devices'), await server.get(pathOf({ '==': [mode, 1] }))]
    const etag = some.headers.get('etag') ?? ''
    expect(etag).not.toBe(all.headers.get('etag'))
    expect((await server.get(pathOf({ '==': [mode, 1] }), { 'if-none-match': etag })).status).toBe(304)
    // Callers get the error with any grants.
    expect((await server.get(pathOf({ var: 'x' }), { 'if-none-match': '*' })).status).toBe(400)
  })

  test('is valid or refused with 400', async () => {
    expect(wrongFields(await server.get('/devices?filter=true&filter=true'))).toEqual(['filter'])
  })

  test('is ignored by other lists', async () => {
    expect((await server.get('/services?filter=x')).status).toBe(200)
  })
})
