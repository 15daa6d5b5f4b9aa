import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { LinkClient } from '#test/blackbox/link-client'
import { StartedServer } from '#test/blackbox/started-server'
import { until } from '#test/blackbox/until'

const service = 'climate'
const device = 'HISTORY-1'
const path = `/devices/${device}/services/${service}/history`
const properties = [
  { propId: 0x2000, type: 'FLOAT' },
  { propId: 0x2001, type: 'BOOL' },
  { propId: 0x2002, type: 'UINT8' },
  { propId: 0x2003, type: 'STRING' },
  { propId: 0x2004, type: 'UINT8' },
]
const schema = {
  name: 'Climate',
  properties: {
    '0x2000': { name: 'temperature', type: 'float', unit: '°C' },
    '0x2004': { name: 'noise', type: 'uint8', history: false },
    '0x2002': { name: 'mode', type: 'uint8', enum: { 0: { name: 'off' }, 1: { name: 'on' } } },
  },
}
const minute = 60_000
const hour = 60 * minute
const start = Math.floor(Date.now() / 3_600_000 - 2) * 3_600_000
/** A point for each minute of an hour that ended at least an hour ago. */
const points = Array.from({ length: 60 }, (_, index) => ({
  time: start + index * minute,
  value: 20 + (index % 10) / 10,
}))

interface Answer {
  readonly from: number
  readonly series: readonly (Readonly<Record<string, readonly unknown[]>> & { readonly propId: number })[]
}

function importCsv(server: StartedServer, body: string) {
  return server.ask('/history/import', { method: 'POST', body, headers: { 'content-type': 'text/csv' } })
}

/** Contract 9. */
describe('history', () => {
  let server: StartedServer
  let link: LinkClient
  let flakeAddress: number
  let seq = 0

  async function connect() {
    link = await LinkClient.open(server, 'json')
    const welcome = await link.hello(device, [{ serviceIdentifier: service, properties }], { session: 'boot' })
    flakeAddress = welcome.flakeAddress
    seq = welcome.seq
  }

  async function report(time: number, updates: readonly object[]) {
    seq += 1
    link.send({ type: 'UPDATE', flakeAddress, seq, serviceIdentifier: service, timestamp: time, updates })
    await link.acknowledged(flakeAddress, seq)
  }

  const read = async (query: string, of = path) => {
    let answer: Awaited<ReturnType<StartedServer['get']>> | undefined
    // The end is later than now, because a server on a busy machine takes some seconds to start.
    await until(async () => {
      answer = await server.get(`${of}?${query}`)
      return answer.status !== 503
    }, 'history to be up to date')
    expect([answer?.status, answer?.text]).toEqual([200, expect.anything()])
    return answer?.json as Answer
  }

  beforeAll(async () => {
    server = await StartedServer.start({ HISTORY: 'on' })
    await server.ask(`/schemas/${service}`, { method: 'PUT', body: schema })
    await connect()
    for (const { time, value } of points) {
      await report(time, [
        { propId: 0x2000, value },
        { propId: 0x2002, value: value > 20.4 ? 1 : 0 },
      ])
    }
    await report(start + 30 * minute + 1, [
      { propId: 0x2003, value: 'half' },
      { propId: 0x2004, value: 1 },
    ])
  })
  afterAll(() => server?.finish())

  test('has every value at once in both trees, and names the position from which live values continue', async () => {
    const query = `from=${start}&to=${start + 60 * minute}&properties=temperature,0x2003`
    const answer = await server.get(`${path}?${query}`)
    const series = (answer.json as Answer).series
    expect(series).toMatchObject([
      { propId: 0x2000, name: 'temperature', unit: '°C', type: 'FLOAT', marks: [], retainedFrom: expect.any(Number) },
      { propId: 0x2003, type: 'STRING', time: [start + 30 * minute + 1], value: ['half'] },
    ])
    expect(series[0]?.time).toEqual(points.map(({ time }) => time))
    expect(series[0]?.value).toEqual(points.map(({ value }) => value))
    expect(Number(answer.headers.get('stream-offset'))).toBeGreaterThanOrEqual(points.length)
    const mirrored = await read(query, `/services/${service}/devices/${device}/history`)
    expect(mirrored.series.map(({ time, value }) => ({ time, value }))).toEqual(
      series.map(({ time, value }) => ({ time, value })),
    )
  })

  test('is aggregated, with the same result after the server is killed', async () => {
    const query = `from=${start}&to=${start + 60 * minute}&interval=10m&aggregates=min,avg,max,count&properties=8192`
    const expected = {
      min: Array(6).fill(20),
      avg: Array(6).fill(20.45),
      max: Array(6).fill(20.9),
      count: Array(6).fill(10),
    }
    const before = await read(query)
    expect(before.series[0]).toMatchObject({ ...expected, avg: Array(6).fill(expect.closeTo(20.45, 9)) })
    await server.kill()
    await server.startAgain()
    expect(await read(query)).toEqual(before)
    await connect()
    const held = await read(`from=${start}&to=${start + 60 * minute}&interval=1h&aggregates=duration&properties=mode`)
    expect(held.series[0]?.duration).toEqual([{ '0': 30 * minute, '1': 30 * minute }])
    const auto = await read(`from=${start}&to=${start + 60 * minute}&interval=auto&points=12&properties=8192`)
    expect(auto).toMatchObject({ interval: 5 * minute })
  })

  test('stores no values of a property whose schema has `history: false`, also after a restart', async () => {
    await report(start + 40 * minute + 1, [{ propId: 0x2004, value: 2 }])
    expect((await read(`from=${start}&properties=noise`)).series).toMatchObject([{ name: 'noise', time: [] }])
    const changed = { ...schema, properties: { ...schema.properties, '0x2004': { name: 'noise' } } }
    await server.ask(`/schemas/${service}`, { method: 'PUT', body: changed })
    expect((await read(`from=${start}&properties=noise`)).series).toMatchObject([{ name: 'noise', time: [] }])
    await report(start + 41 * minute, [{ propId: 0x2004, value: 3 }])
    expect((await read(`from=${start}&properties=noise`)).series).toMatchObject([{ name: 'noise', value: [3] }])
  })

  test('has imported values at once in place of existing ones, also after the server is killed', async () => {
    const timeAt = (index: number) => new Date(start - hour + index * minute).toISOString()
    const rows = (values: readonly number[]) =>
      values.map((value, index) => `${device},${service},,temperature,${timeAt(index)},${value}\n`).join('')
    const head = 'deviceIdentifier,serviceIdentifier,propId,name,time,value\n'
    const importRows = async (text: string) => (await importCsv(server, head + text)).json
    expect(await importRows(rows([1, 2, 3]))).toMatchObject({ rows: 3, stored: 3, details: [] })
    const more = [
      `${device},${service},8192,,${timeAt(1)},22.5`,
      `${device},${service},0x2001,,${timeAt(1)},true`,
      `${device},${service},0x2003,,${timeAt(1)},"a ""b"""`,
      `${device},${service},8192,,1970-01-01T00:00:00Z,1`,
      `${device},${service},8192,,yesterday,1`,
      `${device},${service},8192,,${timeAt(1)},warm`,
      `${device},${service},humidity,,${timeAt(1)},1`,
      `OTHER-1,${service},8192,,${timeAt(1)},1`,
      `${device},${service}`,
    ]
    expect(await importRows(more.join('\r\n'))).toEqual({
      rows: 9,
      stored: 3,
      rejected: { unknown: 2, invalid: 3, old: 1 },
      details: [6, 7, 8, 9, 10].map((line) => ({ line, message: expect.any(String) })),
    })
    await server.kill()
    await server.startAgain()
    await connect()
    const { series } = await read(`from=${start - hour}&to=${start}`)
    expect(series.map(({ value }) => value)).toEqual([[1, 22.5, 3], [true], [], ['a "b"'], []])
    // Values that devices report later replace imported values too.
    await report(start - hour, [{ propId: 0x2000, value: 9 }])
    const replaced = await read(`from=${start - hour}&to=${start}&properties=8192`)
    expect(replaced.series[0]?.value).toEqual([9, 22.5, 3])
  })

  test.each([
    ['deviceIdentifier,serviceIdentifier,propId,time\n', 'value'],
    ['deviceIdentifier,serviceIdentifier,time,value\n', 'propId'],
    ['deviceIdentifier,serviceIdentifier,propId,time,value,unit\n', 'unit'],
  ])('is not imported from a text that begins with %j', async (text, message) => {
    const answer = await importCsv(server, text)
    expect([answer.status, answer.text]).toEqual([400, expect.stringContaining(message)])
  })

  test('is read in pages, which all name the position of the first page', async () => {
    const times: unknown[] = []
    let next: string | undefined = `${path}?from=${start}&to=${start + 60 * minute}&limit=25&properties=8192`
    const positions = new Set<string | null>()
    while (next !== undefined) {
      const answer = await server.get(next)
      times.push(...((answer.json as Answer).series[0]?.time ?? []))
      positions.add(answer.headers.get('stream-offset'))
      next = /<\/api\/v1(.+)>; rel="next"/.exec(answer.headers.get('link') ?? '')?.[1]
      await report(Date.now(), [{ propId: 0x2001, value: true }])
    }
    expect(times).toEqual(points.map(({ time }) => time))
    expect(positions.size).toBe(1)
  })

  test('has the status of the device', async () => {
    const { time, status } = (await server.get(`/meta/${device}/history`)).json as Record<string, readonly unknown[]>
    // The device connected again before it was shown as offline.
    expect(status).toEqual(['online'])
    expect(time).toEqual([expect.any(Number)])
    expect((await server.get(`/meta/${device}/history?from=5&to=4`)).status).toBe(400)
  })

  test('has a mark at the time of an error', async () => {
    const now = Date.now()
    await report(now, [{ propId: 0x2000, error: 'broken' }])
    const { series } = await read(`from=${now}&to=${now + 1}&properties=8192`)
    expect(series).toMatchObject([{ time: [], marks: [{ time: now, tag: 'error', error: 'broken' }] }])
  })

  test.each([
    ['from=5&to=5', 'from'],
    ['from=yesterday', 'from'],
    ['properties=humidity', 'properties'],
    ['properties=77', 'properties'],
    ['interval=500', 'interval'],
    [`from=0&interval=1s&to=${10 * 365 * 86_400_000}`, 'interval'],
    ['interval=1m&properties=0x2003&aggregates=avg', 'aggregates'],
    ['interval=1m&aggregates=median', 'aggregates.0'],
    ['interval=1d&tz=Mars/Base', 'tz'],
    ['limit=100001', 'limit'],
    ['order=random', 'order'],
  ])('is not read with the query %s', async (query, errorPath) => {
    const answer = await server.get(`${path}?${query}`)
    expect(answer.status).toBe(400)
    expect(answer.json).toMatchObject({ error: 'Validation Error', details: [{ path: errorPath }] })
  })

  const query = (body: object) => server.ask('/history/query', { method: 'POST', body })

  test('is read for several series, and for one property of several devices', async () => {
    const span = { from: start, to: start + 60 * minute, interval: '1h' }
    const named = { deviceIdentifier: device, serviceIdentifier: service }
    const several = await query({
      series: [
        { ...named, properties: ['temperature', 0x2002] },
        { ...named, deviceIdentifier: 'UNKNOWN' },
      ],
      aggregates: ['count'],
      ...span,
    })
    expect([several.status, several.json]).toMatchObject([
      200,
      {
        interval: 60 * minute,
        series: [
          { ...named, propId: 0x2000, name: 'temperature', count: [60] },
          { ...named, propId: 0x2002, count: [60] },
        ],
      },
    ])
    expect(Number(several.headers.get('stream-offset'))).toBeGreaterThan(0)
    const one = { serviceIdentifier: service, property: 'temperature', across: 'max', ...span }
    const answer = { interval: 60 * minute, aggregate: 'avg', across: 'max', devices: 1, time: [start] }
    const filter = { '==': [{ var: 'deviceIdentifier' }, device] }
    for (const selection of [{}, { devices: [device, 'UNKNOWN'] }, { filter }]) {
      const found = await query({ ...one, ...selection })
      expect([found.status, found.json]).toMatchObject([200, { ...answer, value: [expect.closeTo(20.45, 9)] }])
    }
    expect((await query({ ...one, devices: ['UNKNOWN'] })).json).toMatchObject({ devices: 0, time: [], value: [] })
  })

  test.each([
    [
      { series: [{ deviceIdentifier: device, serviceIdentifier: service, properties: ['humidity'] }] },
      'series.0.properties',
    ],
    [{ serviceIdentifier: service, property: 'humidity', across: 'max', interval: 1_000 }, 'property'],
    [
      { serviceIdentifier: service, property: 8192, across: 'max', interval: 1_000, groups: ['5Kd9tVw3Cx'] },
      'groups.0',
    ],
    [{ serviceIdentifier: service, property: 8192, across: 'max', interval: 1_000, from: 5, to: 5 }, 'from'],
  ])('is not read with the body %j', async (body, errorPath) => {
    const answer = await query(body)
    expect([answer.status, answer.json]).toMatchObject([400, { details: [{ path: errorPath }] }])
  })

  test('is exported as CSV and NDJSON', async () => {
    const names = `deviceIdentifier=${device}&serviceIdentifier=${service}&properties=temperature`
    const span = `from=${start}&to=${start + 2 * minute}`
    const csv = await server.get(`/history/export?${names}&${span}`)
    const rowOf = (time: number, value: unknown) =>
      `${device},${service},8192,temperature,${new Date(time).toISOString()},${value}`
    const head = 'deviceIdentifier,serviceIdentifier,propId,name,time'
    expect(csv.text.trimEnd().split('\n')).toEqual([`${head},value`, rowOf(start, 20), rowOf(start + minute, 20.1)])
    expect(csv.headers.get('content-type')).toContain('text/csv')
    const lines = await server.get(`/history/export?${names}&${span}&format=ndjson&interval=1m&aggregates=count`)
    expect(JSON.parse(lines.text.split('\n')[0] ?? '')).toMatchObject({ propId: 8192, count: 1 })
    expect((await server.get(`/history/export?${names.replace(device, 'UNKNOWN')}&format=csv`)).status).toBe(404)
    expect((await server.get(`/history/export?${names}x&format=csv`)).status).toBe(400)
  })

  test('is not found for unknown resources, and is deleted with its device', async () => {
    for (const missing of [path.replace(device, 'NO-DEVICE'), path.replace(service, 'no-service')]) {
      expect((await server.get(missing)).status).toBe(404)
    }
    await server.ask(`/devices/${device}`, { method: 'DELETE' })
    expect((await server.get(path)).status).toBe(404)
    await connect()
    expect((await read(`from=${start}`)).series.every(({ time }) => time?.length === 0)).toBe(true)
  })

  test('is not found if it is off', async () => {
    const other = await StartedServer.start()
    const answer = await other.get(path)
    await other.finish()
    expect([answer.status, answer.json]).toEqual([404, { error: 'history is off' }])
  })
})
