import { type ChildProcess, spawn, spawnSync } from 'node:child_process'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { projectRoot } from '#bench/project-root'
import { freePort } from '#bench/server-process'
import { EventClient } from '#test/blackbox/event-client'
import { identityOn, SignedInUser } from '#test/blackbox/signed-in-user'
import { StartedServer } from '#test/blackbox/started-server'
import { until } from '#test/blackbox/until'
import { folderOfSuite } from '#test/temporary-folder'

/**
 * Runs the devices in `examples` with a real server. They must follow the guide for devices: they execute writes, and
 * values that they measured while the server was down arrive once and in order.
 */

const examples = join(projectRoot, 'examples')

interface Language {
  readonly tool: string
  readonly isMqtt?: true
  /** Returns the command line. Throws the error of the compiler. */
  readonly build: (folder: string) => readonly [string, ...string[]]
}

const languages: readonly (readonly [string, Language])[] = [
  ['device.py', { tool: 'python3', build: () => ['python3', '-B', join(examples, 'device.py')] }],
  ['device.cpp', { tool: 'g++', build: compiled }],
  ['device.cpp by MQTT', { tool: 'g++', build: compiled, isMqtt: true }],
]

function compiled(folder: string): readonly [string] {
  const program = join(folder, 'device')
  const line = ['-std=c++17', '-Wall', '-Wextra', '-Werror', '-o', program, join(examples, 'device.cpp')]
  const { status, stderr } = spawnSync('g++', line, { encoding: 'utf8' })
  if (status !== 0) throw new Error(stderr)
  return [program]
}

const [temperature, setpoint, reports] = [0x2000, 0x2001, 0x2002]
const reportSeconds = 0.02

class Device {
  readonly #child: ChildProcess
  output = ''
  ending: number | undefined

  constructor([program, ...args]: readonly [string, ...string[]], url: string, name: string, secret: string) {
    this.#child = spawn(program, [...args, url, name, `${reportSeconds}`], {
      cwd: tmpdir(),
      env: { PATH: process.env.PATH, DEVICE_SECRET: secret },
      stdio: ['ignore', 'pipe', 'pipe'],
    })
    for (const stream of [this.#child.stdout, this.#child.stderr]) {
      stream?.setEncoding('utf8').on('data', (text: string) => {
        this.output += text
      })
    }
    this.#child.once('close', (code) => {
      this.ending = code ?? -1
    })
  }

  /** The connections of the device, each with the numbers of stored reports and of reports that are still unsent. */
  get welcomes(): { readonly stored: number; readonly toSend: number }[] {
    const lines = this.output.matchAll(/^connected, (\d+) stored, (\d+) to send$/gm)
    return [...lines].map(([, stored, toSend]) => ({ stored: Number(stored), toSend: Number(toSend) }))
  }

  async welcomed(times: number): Promise<void> {
    await until(
      () => this.welcomes.length >= times,
      () => `welcome number ${times}\n${this.output}`,
    )
  }

  async ended(): Promise<number> {
    return until(() => (this.ending === undefined ? undefined : { code: this.ending }), 'its end').then(
      ({ code }) => code,
    )
  }

  async kill(): Promise<void> {
    this.#child.kill('SIGKILL')
    await this.ended()
  }
}

describe.each(languages)('%s', (_, { tool, build, isMqtt }) => {
  const isInstalled = spawnSync(tool, ['--version']).status === 0
  const folder = folderOfSuite()
  let server: StartedServer
  let admin: SignedInUser
  let program: readonly [string, ...string[]]
  let device: Device | undefined

  // In CI, the build fails if the tool is missing.
  beforeEach((context) => {
    if (!isInstalled && !process.env.CI) context.skip(`SKIPPED, not passed: ${tool} is not installed`)
  })
  beforeAll(async () => {
    if (!isInstalled && !process.env.CI) return
    program = build(folder)
    const ports = { PORT: String(await freePort()), MQTT_PORT: isMqtt ? String(await freePort()) : 'off' }
    server = await StartedServer.start({ ...identityOn, ...ports })
    admin = await SignedInUser.signIn(server)
  })
  afterEach(async () => {
    if (device?.ending === undefined) await device?.kill()
  })
  afterAll(() => server?.finish())

  const url = () => (isMqtt ? `mqtt://127.0.0.1:${server.mqttPorts.plain}` : `http://127.0.0.1:${server.port}`)
  const start = async (name: string) => {
    const { password } = await admin.makeDevice(name)
    device = new Device(program, url(), name, password)
    await device.welcomed(1)
    return device
  }
  const propertiesOf = (name: string) => `/devices/${name}/services/climate/properties`
  const reportedValue = async (name: string, propId: number) => {
    const { status, json } = await admin.get(propertiesOf(name))
    return status === 200 ? (json as Record<string, { value?: number }>)[propId]?.value : undefined
  }

  test('reports values, executes writes and answers them', async () => {
    const { output } = await start('HALL')
    expect(output).toContain('connected, 0 stored')
    await until(async () => Number(await reportedValue('HALL', reports)) > 2, 'its reports')
    expect(await reportedValue('HALL', temperature)).toBeGreaterThan(18)
    const properties = propertiesOf('HALL')

    const set = await admin.put(properties, { [setpoint]: 23.5 })
    expect([set.status, set.json]).toEqual([200, { updates: [{ propId: setpoint, status: 'OK' }] }])
    expect(await reportedValue('HALL', setpoint)).toBe(23.5)
    const tooHot = await admin.put(properties, { [setpoint]: 99 })
    expect(tooHot.json).toEqual({
      updates: [{ propId: setpoint, status: 'REJECTED', message: 'from 5 to 30 degrees' }],
    })
    expect((await admin.put(properties, { [temperature]: 30 })).status).toBe(400)
    expect(await reportedValue('HALL', setpoint)).toBe(23.5)
    expect(device?.output).toContain('setpoint 23.5')
  })

  test('sends the values that it measured without a connection once and in order', async () => {
    const cellar = await start('CELLAR')
    const counted = async () => Number(await reportedValue('CELLAR', reports))
    await until(async () => (await counted()) > 10, 'some reports')
    await server.kill()
    await until(() => cellar.output.includes('; reconnecting in '), 'the lost connection to be noticed')
    await server.startAgain()
    admin = await SignedInUser.signIn(server)
    await cellar.welcomed(2)
    const [first, second] = cellar.welcomes
    expect(first?.stored).toBe(0)
    expect(second?.stored).toBeGreaterThan(5)
    expect(second?.toSend).toBeGreaterThan(0)
    const before = await counted()
    await until(async () => (await counted()) > before + 5, 'new reports')

    // Read all stored reports of the device, from the start of the stream.
    const epoch = (await admin.get('/devices')).headers.get('stream-epoch') ?? ''
    const dashboard = await EventClient.open(server, { epoch, offset: 0, devices: 'CELLAR' }, admin)
    const counts = await until(() => {
      const items = dashboard.of('OBJECT_UPDATED').flatMap(({ updates }) => updates)
      const all = items.flatMap((item) => (item.propId === reports && item.tag === 'value' ? [Number(item.value)] : []))
      return all.length > before && all
    }, 'its reports in the stream')
    await dashboard.close()
    expect(counts).toEqual(counts.map((_, index) => index + 1))
  })

  test('ends if its secret is replaced or wrong', async () => {
    const attic = await start('ATTIC')
    expect((await admin.post('/devices/ATTIC/secret')).status).toBe(200)
    expect(await attic.ended()).toBe(1)
    expect(attic.output).toContain(isMqtt ? 'name and secret do not match' : 'closed with 4401')

    device = new Device(program, url(), 'ATTIC', 'wrong')
    expect(await device.ended()).toBe(1)
    expect(device.output).toContain('name and secret do not match')
    expect(device.welcomes).toEqual([])
  })
})
