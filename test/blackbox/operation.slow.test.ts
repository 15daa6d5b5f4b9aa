import { readdirSync, renameSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:net'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { HealthStatus } from '#api/health'
import { EventClient } from '#test/blackbox/event-client'
import { LinkClient } from '#test/blackbox/link-client'
import { climate, degrees, sensor, temperature } from '#test/blackbox/sensor'
import { type Environment, ServerRun, StartedServer } from '#test/blackbox/started-server'
import { until } from '#test/blackbox/until'
import { folderOfSuite } from '#test/temporary-folder'

/** The start, the running and the end of the process. Contract 8. */
describe('a start', () => {
  const folder = folderOfSuite()

  const run = async (environment: Environment, args: readonly string[] = []) => {
    const started = new ServerRun({ DATA_DIR: folder, ...environment }, args)
    const code = await started.ended
    return { code, lines: started.output.split('\n').filter((line) => line !== ''), output: started.output }
  }

  test('with bad settings ends with exit code 78 and one line for each error', async () => {
    const { code, lines } = await run({ PORT: '-1', DURABILITY: 'some', SMTP_URL: 'mail.example' })
    expect(code).toBe(78)
    expect(lines.map((line) => line.split(':')[0]).sort()).toEqual(['DURABILITY', 'PORT', 'SMTP_URL'])
    for (const line of lines) expect(line).toMatch(/^[A-Z_]+: got .+, takes .+/)
    expect(readdirSync(folder)).toEqual([])
  })

  test.each(['--help', '-h'])('with %s lists the settings, and no server runs', async (option) => {
    const { code, output } = await run({ PORT: 'http' }, [option])
    expect(code).toBe(0)
    for (const name of ['PORT', 'HOST', 'DATA_DIR', 'DURABILITY', 'STREAM_RETENTION_MB', 'LOG_LEVEL']) {
      expect(output).toMatch(new RegExp(`\\b${name}\\b`))
    }
    expect(readdirSync(folder)).toEqual([])
  })

  test('with an unknown argument reports it, and no server runs', async () => {
    const { code, output } = await run({}, ['--port', '9000'])
    expect([code, output]).toEqual([78, expect.stringContaining('unknown argument --port')])
    expect(readdirSync(folder)).toEqual([])
  })

  test('on a port in use reports it, and the data folder stays unlocked', async () => {
    const taken = createServer()
    await new Promise<void>((resolve) => taken.listen(0, '127.0.0.1', resolve))
    const { port } = taken.address() as { port: number }
    const { code, output } = await run({ PORT: String(port) })
    expect(code).toBe(1)
    expect(output).toContain(String(port))
    await new Promise((resolve) => taken.close(resolve))
    const server = await StartedServer.start({}, folder)
    await server.finish()
  })

  test('with a file as data folder reports it', async () => {
    const file = join(folder, 'file')
    writeFileSync(file, 'x')
    const { code, output } = await run({ DATA_DIR: file })
    expect(code).toBe(1)
    expect(output).toContain(file)
    rmSync(file)
  })

  test('with a database without CURRENT fails, because the database is not empty', async () => {
    const data = join(folder, 'headless')
    const server = await StartedServer.start({}, data)
    await server.ask('/schemas/kept', { method: 'PUT', body: { name: 'kept', properties: {} } })
    await server.finish()
    const current = join(data, 'db', 'CURRENT')
    renameSync(current, join(folder, 'CURRENT'))
    const { code, output } = await run({ DATA_DIR: data })
    expect(code).toBe(1)
    expect(output).toContain('CURRENT')
    renameSync(join(folder, 'CURRENT'), current)
    const again = await StartedServer.start({}, data)
    expect((await again.get('/schemas/kept')).status).toBe(200)
    await again.finish()
  })

  test('creates a data folder that is private to its owner', async () => {
    const data = join(folder, 'private')
    const server = await StartedServer.start({}, data)
    await server.finish()
    expect(statSync(data).mode & 0o077).toBe(0)
  })
})

describe('a running server', () => {
  let server: StartedServer

  beforeAll(async () => {
    server = await StartedServer.start()
  })
  afterAll(() => server?.finish())

  test('locks its data folder, so that the start of a second server on it fails with the reason', async () => {
    const second = new ServerRun({ DATA_DIR: server.dataFolder })
    expect(await second.ended).toBe(1)
    expect(second.output).toContain(server.dataFolder)
    expect(second.output).toMatch(/another process|in use|lock/i)
    expect(second.lines.some(({ port }) => port !== undefined)).toBe(false)
    const put = await server.ask('/schemas/after', { method: 'PUT', body: { name: 'after', properties: {} } })
    expect(put.status).toBe(200)
  })

  test('counts devices and sockets in health/status', async () => {
    const status = async () => {
      const { status, json } = await server.get('/health/status')
      expect(status).toBe(200)
      return HealthStatus.strict().parse(json)
    }
    const before = await status()
    expect(before.database.status).toBe('ok')
    expect(before.disk.totalDiskBytes).toBeGreaterThan(before.disk.freeDiskBytes)
    expect(before.memory.totalMemoryBytes).toBeGreaterThan(before.memory.processMemoryBytes)
    expect(before.cpu.cpuUsagePercent.every((percent) => percent >= 0 && percent <= 100)).toBe(true)
    const links = [await LinkClient.open(server, 'json'), await LinkClient.open(server, 'msgpack')] as const
    const events = await EventClient.open(server)
    await links[0].hello('HEALTH-1', sensor)
    await links[0].hello('HEALTH-2', sensor)
    await links[1].hello('HEALTH-3', sensor)
    const during = await status()
    expect([during.links, during.sockets, during.devices]).toEqual([2, 1, before.devices + 3])
    expect(during.stream.epoch).toBe(before.stream.epoch)
    expect(during.stream.offset).toBeGreaterThan(before.stream.offset)
    expect(during.stream.retainedFrom).toBe(1)
    for (const client of [...links, events]) await client.close()
    await until(async () => {
      const { links, sockets } = await status()
      return links === 0 && sockets === 0
    }, 'all to be disconnected')
    await server.ask('/devices/HEALTH-1', { method: 'DELETE' })
    expect((await status()).devices).toBe(before.devices + 2)
  })

  test.each(['SIGTERM', 'SIGINT'] as const)(
    'exits with 0 at %s and closes sockets with 1012, and the next server has all data',
    async (signal) => {
      const device = `STOP-${signal}`
      const link = await LinkClient.open(server, 'json')
      const events = await EventClient.open(server)
      const { flakeAddress } = await link.hello(device, sensor, { session: 'a' })
      await link.report(flakeAddress, 1, climate, [degrees(1)], [degrees(2)])
      const answer = server.get('/devices?depth=2')
      await events.caughtUp(server)
      const { epoch } = await events.stream()
      server.run.signal(signal)
      expect(await server.run.ended).toBe(0)
      expect((await answer).status).toBe(200)
      expect((await link.closed()).code).toBe(1012)
      expect((await events.closed()).code).toBe(1012)
      expect(server.complaints).toEqual([])
      await expect(server.get('/health')).rejects.toThrow()

      await server.startAgain()
      const { json } = await server.get(`/devices/${device}/services/${climate}/properties`)
      expect(json).toMatchObject({ [temperature]: { value: 2 } })
      const again = await EventClient.open(server, { epoch, offset: events.lastOffset })
      expect(await again.stream()).toMatchObject({ recovered: true })
      const newer = await LinkClient.open(server, 'json')
      expect(await newer.hello(device, sensor, { session: 'a' })).toMatchObject({ flakeAddress, seq: 2 })
      await again.caughtUp(server)
      await newer.close()
      await again.close()
    },
  )

  test('stores every acknowledged report while it stops', async () => {
    const link = await LinkClient.open(server, 'json')
    const { flakeAddress, window } = await link.hello('STOP-FLOOD', sensor, { session: 'a' })
    const lastAcknowledged = () => Number((link.waiting.at(-1) as unknown[] | undefined)?.[2] ?? 0)
    const flood = setInterval(() => {
      // Unacknowledged reports stay within the window, because the server closes connections that exceed it.
      const count = Math.min(20, window - (seq - lastAcknowledged()))
      for (let place = 0; place < count; place++) link.send(['U', flakeAddress, ++seq, 0, [temperature, seq]])
    }, 1)
    let seq = 0
    await until(() => link.waiting.length > 20, 'some of it to be acknowledged')
    expect(await server.stop()).toBe(0)
    clearInterval(flood)
    await link.closed()
    const acknowledged = lastAcknowledged()
    await server.startAgain()
    const again = await LinkClient.open(server, 'json')
    const welcome = await again.hello('STOP-FLOOD', sensor, { session: 'a' })
    expect(welcome.seq).toBeGreaterThanOrEqual(acknowledged)
    const { json } = await server.get(`/devices/STOP-FLOOD/services/${climate}/properties`)
    expect(json).toMatchObject({ [temperature]: { value: welcome.seq } })
    await again.close()
  })
})
