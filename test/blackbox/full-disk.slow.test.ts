import { execFileSync } from 'node:child_process'
import { mkdtempSync, rmdirSync } from 'node:fs'
import { rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { EventClient } from '#test/blackbox/event-client'
import { type Fields, LinkClient } from '#test/blackbox/link-client'
import { type Environment, StartedServer } from '#test/blackbox/started-server'
import { until } from '#test/blackbox/until'

const MIB = 1024 * 1024
const device = 'FULL'
const service = 'pictures'
const picture = 1
const declaration = [{ serviceIdentifier: service, properties: [{ propId: picture, type: 'STRING' }] }]
const schema = { name: 'S', properties: {} }

/** A disk of 128 MiB, of which a ballast takes 80. Architecture 5, contract 7 and 8. */
describe('a server whose disk is full', () => {
  let disk: string
  let ballast: string
  let skipReason: string | undefined
  let server: StartedServer | undefined

  beforeEach(async () => {
    disk = mkdtempSync(join(tmpdir(), 'blackbox-disk-'))
    ballast = join(disk, 'ballast')
    try {
      execFileSync('mount', ['-t', 'tmpfs', '-o', 'size=128m', 'tmpfs', disk], { stdio: 'pipe' })
      skipReason = undefined
    } catch (error) {
      skipReason = `a small disk could not be mounted (needs root): ${error instanceof Error ? error.message : error}`
      if (process.env.CI) throw error
      console.warn(`Skipped, the server was not tried on a full disk: ${skipReason}`)
      return
    }
    await writeFile(ballast, new Uint8Array(80 * MIB))
  })
  afterEach(async () => {
    await server?.discard()
    if (skipReason === undefined) execFileSync('umount', ['--lazy', disk])
    rmdirSync(disk)
  })

  /** Undefined during 503, which the server answers while it reloads the store. */
  const statusOf = async (running: StartedServer) => {
    const { status, json, headers } = await running.get('/health/status')
    if (status === 503) expect(Number(headers.get('retry-after'))).toBeGreaterThan(0)
    else expect(status).toBe(200)
    if (status === 503) return undefined
    return (json as { database: { status: string } }).database.status
  }

  /** An incompressible text that starts with its number. */
  const pictureOf = (seq: number) => {
    let word = seq
    const words = Array.from({ length: 5_000 }, () => {
      word = (Math.imul(word, 1664525) + 1013904223) >>> 0
      return word.toString(36)
    })
    return `${seq} ${words.join('')}`
  }

  /** Sends until the connection is closed. Returns the last acknowledged number. */
  async function fill(link: LinkClient, flakeAddress: number, from: number): Promise<number> {
    let acknowledged = from - 1
    for (let seq = from; !link.closing; seq++) {
      link.send(['U', flakeAddress, seq, 0, [picture, pictureOf(seq)]])
      if (seq % 8 === 0) {
        await until(() => link.closing || link.waiting.some((ack) => Number((ack as unknown[])[2]) >= seq), 'an answer')
      }
    }
    for (const ack of link.waiting) if (Array.isArray(ack)) acknowledged = Math.max(acknowledged, Number(ack[2]))
    return acknowledged
  }

  const numbersIn = (client: EventClient) =>
    client.of('OBJECT_UPDATED').map(({ updates }) => parseInt(String(updates[0]?.value), 10))
  const upTo = (last: number) => Array.from({ length: last }, (_, index) => index + 1)

  test.for<[string, Environment]>([
    ['with headroom', { STORAGE_HEADROOM_MB: '16' }],
    ['without headroom', { STORAGE_HEADROOM_MB: '0' }],
    ['with headroom, synced', { STORAGE_HEADROOM_MB: '16', DURABILITY: 'disk' }],
  ])(
    'refuses writes, serves reads, and recovers when there is space: %s',
    { timeout: 240_000 },
    async ([_, environment], context) => {
      if (skipReason !== undefined) return context.skip(skipReason)
      const running = await StartedServer.start(environment, join(disk, 'data'))
      server = running
      const dashboard = await EventClient.open(running)
      const first = await LinkClient.open(running, 'json')
      const { flakeAddress } = await first.hello(device, declaration, { session: 'a' })
      await running.ask('/schemas/kept', { method: 'PUT', body: schema })

      const acknowledged = await fill(first, flakeAddress, 1)
      expect(acknowledged).toBeGreaterThan(50)
      const { code } = await first.closed()
      expect([code, code === 1013 ? [] : running.run.lines]).toEqual([1013, []])
      expect(first.waiting.filter((frame) => !Array.isArray(frame))).toMatchObject([{ type: 'ERROR', code: 'STORAGE' }])

      // Each kind of write is refused, with Retry-After.
      await until(async () => (await statusOf(running)) === 'read_only', 'the store to be read only')
      const writes: readonly (readonly [string, string, unknown])[] = [
        ['PUT', '/schemas/new', schema],
        ['DELETE', '/schemas/kept', undefined],
        ['POST', '/devices', { deviceIdentifier: 'NEW' }],
        ['PATCH', `/meta/${device}`, { room: 'A' }],
        ['DELETE', `/devices/${device}`, undefined],
        [
          'POST',
          '/link',
          { deviceIdentifier: device, updates: [{ serviceIdentifier: service, propId: picture, value: 'x' }] },
        ],
      ]
      for (const [method, path, body] of writes) {
        const { status, json, headers } = await running.ask(path, { method, body })
        expect([method, path, status, json]).toEqual([method, path, 503, { error: 'STORAGE' }])
        expect(Number(headers.get('retry-after'))).toBeGreaterThan(0)
      }
      const refused = await LinkClient.open(running, 'json')
      refused.send({ type: 'HELLO', deviceIdentifier: device, session: 'a', services: declaration })
      expect(await refused.take({ type: 'ERROR' })).toMatchObject({ code: 'STORAGE' })
      expect((await refused.closed()).code).toBe(1013)

      // Reads work: state, schemas, events from the start.
      const shown = async () => {
        const { status, json } = await running.get(`/devices/${device}/services/${service}/properties`)
        expect(status).toBe(200)
        return parseInt(String((json as Record<string, Fields>)[picture]?.value), 10)
      }
      const stored = await shown()
      expect(stored).toBeGreaterThanOrEqual(acknowledged)
      expect((await running.get('/schemas/kept')).status).toBe(200)
      expect((await running.get('/schemas/new')).status).toBe(404)
      expect((await running.get('/devices?depth=2')).status).toBe(200)
      await dashboard.ping()
      expect((await running.get('/health')).status).toBe(200)
      const { epoch } = await dashboard.stream()
      const late = await EventClient.open(running, { epoch, offset: 0 })
      expect(await late.stream()).toMatchObject({ recovered: true })
      await late.caughtUp(running)
      expect(numbersIn(late)).toEqual(numbersIn(dashboard))
      expect(numbersIn(late).length).toBeGreaterThanOrEqual(acknowledged)

      // Free some space.
      await rm(ballast)
      await until(async () => (await statusOf(running)) === 'ok', 'the store to take writes again', 40_000)
      const second = await LinkClient.open(running, 'json')
      const welcome = await second.hello(device, declaration, { session: 'a' })
      expect(welcome.seq).toBeGreaterThanOrEqual(stored)
      for (let seq = welcome.seq + 1; seq <= welcome.seq + 20; seq++) {
        second.send(['U', flakeAddress, seq, 0, [picture, pictureOf(seq)]])
      }
      await second.take(['A', flakeAddress, welcome.seq + 20])
      expect(await running.ask('/schemas/new', { method: 'PUT', body: schema })).toMatchObject({ status: 200 })
      expect(await shown()).toBe(welcome.seq + 20)

      // All sockets received each number once.
      const now = await EventClient.open(running, { epoch, offset: 0 })
      for (const client of [dashboard, late, now]) {
        await client.caughtUp(running)
        expect(client.closing).toBeUndefined()
        expect(client.controls.filter(({ type }) => type === 'RESYNC')).toEqual([])
        expect(numbersIn(client)).toEqual(upTo(welcome.seq + 20))
      }

      // The next process has everything.
      expect(await running.stop()).toBe(0)
      await running.startAgain()
      const third = await LinkClient.open(running, 'json')
      expect((await third.hello(device, declaration, { session: 'a' })).seq).toBe(welcome.seq + 20)
      expect((await running.get('/schemas/kept')).status).toBe(200)
      expect(await running.stop()).toBe(0)
    },
  )

  test('a start on a full disk fails with this reason', async (context) => {
    if (skipReason !== undefined) return context.skip(skipReason)
    await writeFile(join(disk, 'more'), new Uint8Array(64 * MIB)).catch(() => undefined)
    await expect(StartedServer.start({}, join(disk, 'data'))).rejects.toThrow(/ended at its start\n.*(full|space)/)
  })
})
