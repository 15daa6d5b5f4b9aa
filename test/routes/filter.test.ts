import { afterAll, describe, expect, test } from 'vitest'
import { DeviceFilters } from '#routes/devices'
import { LinkClient } from '#test/blackbox/link-client'
import { nextPage, pagesOf } from '#test/blackbox/pages'
import { wrongFields } from '#test/blackbox/signed-in-user'
import { type Answer, StartedServer } from '#test/blackbox/started-server'
import { until } from '#test/blackbox/until'

const properties = [
  { propId: 0x2000, type: 'FLOAT' },
  { propId: 0x2002, type: 'UINT8' },
]
const schema = {
  name: 'Climate',
  properties: {
    '0x2000': { name: 'temperature', type: 'float' },
    '0x2002': { name: 'mode', type: 'uint8', enum: { 1: { name: 'on' } } },
  },
}

const server = await StartedServer.here()
afterAll(() => server.finish())
const link = await LinkClient.open(server, 'json')
afterAll(() => link.socket.terminate())
// A and B are online, C is offline, and F was never connected.
const climate = (...values: number[]) => [
  { serviceIdentifier: 'climate', properties: properties.map((each, at) => ({ ...each, value: values[at] })) },
]
await link.hello('A', climate(20.5, 1))
await link.hello('B', climate(25, 2))
const { flakeAddress } = await link.hello('C', climate(-3, 1))
link.send({ type: 'BYE', flakeAddress })
await server.ask('/devices', { method: 'POST', body: { deviceIdentifier: 'F' } })
await server.ask('/schemas/climate', { method: 'PUT', body: schema })
await server.ask('/meta/A', { method: 'PATCH', body: { site: { floor: 1 } } })
await server.ask('/meta/B', { method: 'PATCH', body: { site: { floor: 2 } } })
await until(
  async () => ((await server.get('/meta/C')).json as { status: string }).status === 'offline',
  'C to be offline',
)

/** Contract 3.7, over the API. Unit tests cover the meaning of conditions. */
describe('a filter', () => {
  const pathOf = (filter: unknown, more = '') =>
    `/devices?filter=${encodeURIComponent(typeof filter === 'string' ? filter : JSON.stringify(filter))}${more}`
  const namesIn = ({ json }: Answer) =>
    (json as { deviceIdentifier: string }[]).map(({ deviceIdentifier }) => deviceIdentifier).join('')
  /** The names on all pages, in order. */
  async function paged(path: string, limit: number): Promise<string> {
    const pages = await pagesOf((at) => server.get(at), `${path}&limit=${limit}`)
    for (const page of pages.slice(0, -1)) expect(namesIn(page)).toHaveLength(limit)
    return pages.map(namesIn).join('')
  }

  const name = { var: 'deviceIdentifier' }
  const status = { var: 'status' }
  const temperature = { var: 'services.climate.temperature' }
  const mode = { var: 'services.climate.mode' }
  const floor = { var: 'meta.site.floor' }

  test.each<[filter: unknown, found: string]>([
    [true, 'ABCF'],
    [{ in: [name, ['B', 'F', 'X']] }, 'BF'],
    [{ '!=': [status, 'online'] }, 'CF'],
    [{ '==': [floor, 2] }, 'B'],
    [{ '>': [temperature, 20] }, 'AB'],
    [{ and: [{ '==': [status, 'online'] }, { '>': [temperature, 20] }, { '==': [mode, 2] }] }, 'B'],
  ])('%j finds %s, in full and in pages', async (filter, found) => {
    const path = pathOf(filter)
    const whole = await server.get(path)
    expect([whole.status, namesIn(whole), nextPage(whole)]).toEqual([200, found, undefined])
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

const over = (floor: number) => ({ '>': [{ var: 'meta.floor' }, floor] })

test('a filter is compiled once for all callers while it is in use', () => {
  const filters = new DeviceFilters()
  const first = filters.of(over(0))
  expect(filters.of(JSON.parse(JSON.stringify(over(0))))).toBe(first)
  const second = filters.of(over(1))
  for (let floor = 2; floor < 65; floor++) {
    filters.of(over(floor))
    filters.of(over(0))
  }
  expect(filters.of(over(0))).toBe(first)
  expect(filters.of(over(1))).not.toBe(second)
})
