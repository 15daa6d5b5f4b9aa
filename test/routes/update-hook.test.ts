import { createHmac } from 'node:crypto'
import { afterAll, afterEach, beforeEach, describe, expect, test, vi } from 'vitest'
import type { ScanRequest } from '#actors/project/state'
import { FirmwareFixture, hookSecret, onUpdates } from '#test/routes/firmware-fixture'

/** Contract 6, Hook. Another test covers the signature itself. */

const fixture = await FirmwareFixture.open()
afterAll(() => fixture.close())
await fixture.known('SENSOR-1', 'boiler', [{ firmware: '1.0.0', index: 0 }])

/** The projects that started a scan, and those whose cached answers were dropped. */
let walks: (readonly [tenant: string, project: string, request: ScanRequest])[]
let forgotten: (readonly [string, string])[]
beforeEach(() => {
  walks = []
  forgotten = []
  const { system, firmware } = fixture.assembly.context
  const ask = system.ask.bind(system)
  vi.spyOn(system, 'ask').mockImplementation((address, command, ...more) => {
    const { type, request } = command as { type: string; request: ScanRequest }
    if (type === 'scan') walks.push([address.tenant, address.id, request])
    return ask(address, command, ...more)
  })
  vi.spyOn(firmware.checks, 'doubtProject').mockImplementation((...of) => void forgotten.push(of))
})
afterEach(() => vi.restoreAllMocks())

const signature = (path: string, body: string, secret = hookSecret, time = Math.floor(Date.now() / 1000)) =>
  `t=${time},sha256=${createHmac('sha256', secret).update(`${time}.${path}.${body}`).digest('hex')}`

const signed = (body: string, path = '/updates/hook/boiler') =>
  fixture.call('POST', path, { body, headers: { 'x-hook-signature': signature(`/api/v1${path}`, body) } })

const call = (body: string, by?: string, project = 'boiler') =>
  fixture.call('POST', `/updates/hook/${project}`, { body, ...(by !== undefined && { by }) })

const ofServer = (devices: readonly string[] | null = null) => [
  'default',
  'boiler',
  { by: 'hook', devices, author: null },
]

describe('a signed call of the update server', () => {
  test('is stored before its answer, and starts the scan', async () => {
    const { status, bytes } = await signed('{"event":"release"}')
    expect([status, bytes.length]).toEqual([204, 0])
    expect([walks, forgotten]).toEqual([[ofServer()], [['default', 'boiler']]])
  })

  test('is checked with the path of the request', async () => {
    expect((await signed('', '/updates/hook/boil%65r')).status).toBe(204)
    const path = '/updates/hook/boil%65r'
    const meant = signature('/api/v1/updates/hook/boiler', '')
    expect((await fixture.call('POST', path, { headers: { 'x-hook-signature': meant } })).status).toBe(401)
    expect(walks).toEqual([ofServer()])
  })

  test.each<[string, readonly string[] | null]>([
    ['', null],
    ['not JSON', null],
    ['[]', null],
    ['null', null],
    ['7', null],
    ['"text"', null],
    ['{"__proto__":{"devices":["A"]}}', null],
    ['{"devices":"SENSOR-1"}', null],
    ['{"devices":["SENSOR-1",7]}', null],
    ['{"devices":["SENSOR-1","a:b"]}', null],
    ['{"devices":["sensor-1","SENSOR-1"],"more":{}}', ['SENSOR-1']],
    ['{"devices":[]}', []],
    ['{"tenant":"default"}', null],
    [JSON.stringify({ devices: Array.from({ length: 10_001 }, (_, index) => `D${index}`) }), null],
  ])('selects devices by its body %.60s', async (body, devices) => {
    expect((await signed(body)).status).toBe(204)
    expect(walks).toEqual([ofServer(devices)])
  })

  test.each(['{"tenant":"nowhere"}', '{"tenant":7}', '{"tenant":null}', '{"tenant":"Default"}', '{"tenant":""}'])(
    'selects no devices by %s',
    async (body) => {
      expect((await signed(body)).status).toBe(204)
      expect([walks, forgotten]).toEqual([[], []])
    },
  )

  test.each(['nobody-has-it', 'a%2Fb', '%F0%9F%98%80', 'x'.repeat(65)])(
    'for an unknown project is ignored: %s',
    async (project) => {
      expect((await signed('', `/updates/hook/${project}`)).status).toBe(204)
      expect(walks).toEqual([])
    },
  )
})

describe('a signed-in caller', () => {
  test('needs the permission to update, and starts a scan within their scope', async () => {
    fixture.caller('may', onUpdates(['update'], ['A']))
    fixture.caller('reads', onUpdates(['read', 'create', 'delete']))
    expect((await call('{}', 'may')).status).toBe(204)
    const refused = await call('{}', 'reads')
    expect([refused.status, refused.bytes.length]).toEqual([403, 0])
    expect(walks).toEqual([['default', 'boiler', { by: 'hook', devices: null, author: 'crn#user:may' }]])
  })

  test('acts in their own tenant', async () => {
    fixture.caller('may', onUpdates(['update']))
    for (const tenant of ['other', '', null]) expect((await call(JSON.stringify({ tenant }), 'may')).status).toBe(204)
    expect(walks).toEqual([])
    await call('{"tenant":"default","devices":["SENSOR-1"]}', 'may')
    expect(walks).toMatchObject([['default', 'boiler', { devices: ['SENSOR-1'] }]])
  })
})

test('every signature is refused without a secret', async () => {
  const other = await FirmwareFixture.open({ hookSecret: '' })
  try {
    for (const secret of ['', hookSecret]) {
      const headers = { 'x-hook-signature': signature('/api/v1/updates/hook/boiler', '', secret) }
      expect((await other.call('POST', '/updates/hook/boiler', { headers })).status).toBe(401)
    }
  } finally {
    await other.close()
  }
})
