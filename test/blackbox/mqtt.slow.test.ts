import { spawnSync } from 'node:child_process'
import { createConnection, createServer, type Server, type Socket } from 'node:net'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { freePort } from '#bench/server-process'
import { ServerRun, StartedServer } from '#test/blackbox/started-server'
import { until } from '#test/blackbox/until'
import { folderOfSuite } from '#test/temporary-folder'

const folder = folderOfSuite()

describe('ports', () => {
  const occupied: Server[] = []
  const occupy = (port: number) =>
    new Promise<void>((resolve) => {
      const server = createServer()
      occupied.push(server)
      // Another process may already use the port.
      server.once('error', () => resolve())
      server.listen(port, '127.0.0.1', resolve)
    })
  afterAll(() => {
    for (const server of occupied) server.close()
  })

  test('the server starts with a warning if the default port is in use', async () => {
    await occupy(1883)
    const server = await StartedServer.start({ MQTT_PORT: '' })
    await until(() => server.lines.some(({ msg }) => /^no MQTT: .*1883.*MQTT_PORT/.test(msg)), 'the warning')
    expect(server.mqttPorts).toEqual({})
    await server.finish()
  })

  test('the server exits with 78 if a configured port is in use', async () => {
    const port = await freePort()
    await occupy(port)
    const run = new ServerRun({ DATA_DIR: join(folder, 'taken'), MQTT_PORT: String(port) })
    expect(await run.ended).toBe(78)
    expect(run.output).toMatch(new RegExp(`MQTT_PORT: cannot listen on 127.0.0.1:${port}`))
  })

  test.each([
    ['a missing certificate', { TLS_CERT: '/nowhere/cert.pem', TLS_KEY: '/nowhere/key.pem' }, /TLS_CERT: .*nowhere/],
    ['an empty certificate', { TLS_CERT: '/dev/null', TLS_KEY: '/dev/null' }, /TLS_CERT, TLS_KEY: /],
  ])('the server exits with 78 because of %s', async (_, settings, message) => {
    const run = new ServerRun({ DATA_DIR: join(folder, 'tls'), MQTT_PORT: '0', MQTT_TLS_PORT: '0', ...settings })
    expect(await run.ended).toBe(78)
    expect(run.output).toMatch(message)
  })
})

const services = [{ serviceIdentifier: 'svc', properties: [{ propId: 1, type: 'UINT32' }] }]
const hello = JSON.stringify({ type: 'HELLO', deviceIdentifier: 'TOOL-1', services })

describe('other clients', () => {
  let server: StartedServer
  let port: string
  beforeAll(async () => {
    server = await StartedServer.start({ MQTT_PORT: '0' })
    port = String(server.mqttPorts.plain)
  })
  afterAll(() => server?.finish())

  const isMissing = (program: string, ...args: readonly string[]) => spawnSync(program, args).status !== 0
  // In CI, the tests fail if the programs are missing.
  const isSkipped = (isThere: boolean) => !isThere && !process.env.CI

  test('mosquitto_pub can report in both versions, and mosquitto_sub is refused for a foreign topic', async (context) => {
    if (isSkipped(!isMissing('which', 'mosquitto_pub')))
      context.skip('mosquitto_pub is missing: apt-get install mosquitto-clients')
    for (const version of ['mqttv311', 'mqttv5']) {
      for (const quality of ['0', '1', '2']) {
        const args = ['-h', '127.0.0.1', '-p', port, '-V', version, '-q', quality, '-t', 'v1/link', '-m', hello]
        const { status, stderr } = spawnSync('mosquitto_pub', args, { encoding: 'utf8' })
        expect({ status, stderr }).toEqual({ status: 0, stderr: '' })
      }
    }
    expect((await server.get('/devices/TOOL-1')).status).toBe(200)
    const refused = spawnSync(
      'mosquitto_sub',
      ['-h', '127.0.0.1', '-p', port, '-V', 'mqttv5', '-t', 'a/b', '-W', '5'],
      {
        encoding: 'utf8',
      },
    )
    expect(refused.stderr).toMatch(/denied|refused|invalid/i)
  })
})

describe('15 000 connections at once', () => {
  const count = 15_000
  const openFilesMax = Number(spawnSync('sh', ['-c', 'ulimit -n'], { encoding: 'utf8' }).stdout)
  const connect = (port: number, name: string) =>
    new Promise<Socket>((resolve, reject) => {
      const socket = createConnection(port, '127.0.0.1')
      socket.once('error', reject)
      const body = [0, 4, ...Buffer.from('MQTT'), 4, 0x82, 0, 0, 0, name.length, ...Buffer.from(name)]
      const packet = Buffer.from([0x10, body.length + 2 + name.length, ...body, 0, name.length, ...Buffer.from(name)])
      socket.once('connect', () => socket.write(packet))
      socket.once('data', (answer) => {
        expect(answer).toEqual(Buffer.of(0x20, 2, 0, 0))
        resolve(socket)
      })
    })

  test('are accepted, and another client is served', async (context) => {
    if (openFilesMax < count + 1_000) context.skip(`at most ${openFilesMax} open files, ${count + 1_000} are needed`)
    const server = await StartedServer.start({ MQTT_PORT: '0' })
    const port = server.mqttPorts.plain as number
    const sockets: Socket[] = []
    while (sockets.length < count) {
      const names = Array.from({ length: 500 }, (_, at) => `D-${sockets.length + at}`)
      sockets.push(...(await Promise.all(names.map((name) => connect(port, name)))))
    }
    const metric = async () => {
      const text = await (await fetch(`http://127.0.0.1:${server.port}/metrics`)).text()
      return Number(/^ddb_mqtt_connections (\d+)$/m.exec(text)?.[1])
    }
    expect(await metric()).toBe(count)
    expect((await server.get('/devices?limit=1')).status).toBe(200)
    for (const socket of sockets) socket.destroy()
    await until(async () => (await metric()) === 0, 'the end of the connections')
    await server.finish()
  })
})
