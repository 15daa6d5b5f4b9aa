import { readFileSync } from 'node:fs'
import { Session } from 'node:inspector/promises'
import { fileURLToPath } from 'node:url'
import { generateKeyPair, generateProof } from 'dpop'
import { afterAll, beforeAll, expect, test } from 'vitest'
import WebSocket from 'ws'
import { identityOn, root } from '#test/blackbox/people'
import { StartedServer } from '#test/blackbox/started-server'
import { until } from '#test/blackbox/until'

/**
 * ARCHITECTURE.md lists the files of five paths. A file is on a path when one of its functions runs in each of five rounds.
 * The clients here import nothing of the product, so that only the server is counted.
 */
const roundCount = 5
const projectRoot = fileURLToPath(new URL('../../', import.meta.url))
const coverage = new Session()

let server: StartedServer
let authorization: string
let provisioningKey: string

beforeAll(async () => {
  server = await StartedServer.here(identityOn)
  const basic = `Basic ${Buffer.from(`${root.name}:${root.password}`).toString('base64')}`
  const { json } = await server.get('/iam/token', { authorization: basic })
  authorization = `Bearer ${(json as { token: string }).token}`
  const { key } = (await call('POST', '/iam/provisioning-keys', { name: 'Hall', maxDevices: 100 })) as { key: string }
  provisioningKey = key
  coverage.connect()
  await coverage.post('Profiler.enable')
  await coverage.post('Profiler.startPreciseCoverage', { callCount: true, detailed: false })
})

afterAll(async () => {
  coverage.disconnect()
  await server.finish()
})

/** The files of `src` and `actors` in which a function ran since the last call. */
async function filesRun(): Promise<Set<string>> {
  const { result } = await coverage.post('Profiler.takePreciseCoverage')
  const run = result.filter(({ functions }) => functions.some(({ ranges }) => ranges.some(({ count }) => count > 0)))
  const paths = run.map(({ url }) => url.replace(/^file:\/\//, '').replace(/\?.*$/, ''))
  return new Set(paths.flatMap((path) => /^((?:src|actors)\/.*)\.ts$/.exec(path.replace(projectRoot, ''))?.[1] ?? []))
}

async function filesOf(run: (round: number) => Promise<unknown>): Promise<string[]> {
  // The first round loads modules and fills caches.
  await run(0)
  let files: Set<string> | undefined
  for (let round = 1; round <= roundCount; round++) {
    await filesRun()
    await run(round)
    const now = await filesRun()
    files = files ? new Set([...files].filter((file) => now.has(file))) : now
  }
  return [...(files as Set<string>)].sort()
}

/** As `actors/{device/{apply,report},edit}` stands for three files. */
function listed(path: string): string[] {
  const text = readFileSync(new URL('../../ARCHITECTURE.md', import.meta.url), 'utf8')
  const section = text.split(`**${path}**`)[1]?.split('```')[1] ?? ''
  return section.trim().split(/\s+/).flatMap(expand).sort()
}

function expand(pattern: string): string[] {
  const open = pattern.indexOf('{')
  if (open < 0) return [pattern]
  const close = closing(pattern, open)
  const parts = partsOf(pattern.slice(open + 1, close))
  return parts.flatMap((part) => expand(pattern.slice(0, open) + part + pattern.slice(close + 1)))
}

function closing(pattern: string, open: number): number {
  let depth = 0
  for (let at = open; at < pattern.length; at++) {
    if (pattern[at] === '{') depth++
    if (pattern[at] === '}' && --depth === 0) return at
  }
  throw new Error(`${pattern} has no end`)
}

function partsOf(list: string): string[] {
  const parts = ['']
  let depth = 0
  for (const letter of list) {
    if (letter === '{') depth++
    if (letter === '}') depth--
    if (letter === ',' && depth === 0) parts.push('')
    else parts[parts.length - 1] += letter
  }
  return parts
}

class JsonSocket {
  readonly #socket: WebSocket
  readonly #received: Record<string, unknown>[] = []

  constructor(path: string, protocols: string[] = [], headers: Record<string, string> = { authorization }) {
    this.#socket = new WebSocket(server.ws + path, protocols, { headers })
    this.#socket.on('message', (data) => this.#received.push(JSON.parse(String(data))))
  }

  async open(): Promise<this> {
    await new Promise((opened, failed) => this.#socket.once('open', opened).once('error', failed))
    return this
  }

  send(message: unknown): void {
    this.#socket.send(JSON.stringify(message))
  }

  take(type: string): Promise<Record<string, unknown>> {
    return until(
      () => {
        const place = this.#received.findIndex((message) => message.type === type)
        return place < 0 ? undefined : this.#received.splice(place, 1)[0]
      },
      () => `${type} to come`,
    )
  }

  close(): void {
    this.#socket.terminate()
  }
}

async function call(method: string, path: string, body?: unknown): Promise<unknown> {
  const { status, text } = await server.ask(path, { method, headers: { authorization }, body })
  expect(status, text).toBeLessThan(300)
  return text && JSON.parse(text)
}

async function linkOf(device: string, more: object = {}): Promise<{ link: JsonSocket; flakeAddress: unknown }> {
  const link = await new JsonSocket('/link', ['link.v1.json'], {
    authorization: `Basic ${btoa(`*:${provisioningKey}`)}`,
  }).open()
  const services = [{ serviceIdentifier: 'c', properties: [{ propId: 0x2000, type: 'FLOAT' }] }]
  link.send({ type: 'HELLO', deviceIdentifier: device, services, ...more })
  const { flakeAddress } = await link.take('WELCOME')
  return { link, flakeAddress }
}

async function expectListed(path: string, files: readonly string[]): Promise<void> {
  if (process.env.PATHS) console.log(`${path}: ${files.length}\n${files.join('\n')}`)
  expect(listed(path)).toEqual(files)
}

test('a change, from a device to a dashboard', async () => {
  const { link, flakeAddress } = await linkOf('SENSOR')
  const events = await new JsonSocket('/events').open()
  const files = await filesOf(async (round) => {
    const updates = [{ propId: 0x2000, value: round }]
    link.send({ type: 'UPDATE', flakeAddress, seq: round + 1, serviceIdentifier: 'c', updates })
    await link.take('ACK')
    await events.take('OBJECT_UPDATED')
  })
  link.close()
  events.close()
  await expectListed('A change, from a device to a dashboard.', files)
})

test('reading all devices', async () => {
  const { link } = await linkOf('READ')
  const files = await filesOf(() => call('GET', '/devices?depth=2'))
  link.close()
  await expectListed('Reading all devices.', files)
})

test('an update of firmware', async () => {
  const body = new Uint8Array(1_000)
  const headers = { authorization }
  await fetch(`${server.base}/updates/projects/boiler/releases/1.1.0`, { method: 'PUT', headers, body })
  const events = await new JsonSocket('/events').open()
  const more = { project: 'boiler', firmwares: [{ firmware: '1.0.0', index: 0 }], autoUpdate: false }
  const links = await Promise.all(Array.from({ length: roundCount + 1 }, (_, round) => linkOf(`BOILER-${round}`, more)))
  const files = await filesOf(async (round) => {
    const { link, flakeAddress } = links[round] as (typeof links)[number]
    await call('POST', `/updates/BOILER-${round}`)
    const { id } = await link.take('FIRMWARE')
    link.send({ type: 'FIRMWARE_STATUS', flakeAddress, id, status: 'STARTED' })
    await events.take('UPDATE_STATUS')
    await until(
      async () => JSON.stringify(await call('GET', `/updates/BOILER-${round}?depth=2`)).includes('STARTED'),
      'STARTED',
    )
  })
  for (const { link } of links) link.close()
  events.close()
  await expectListed('An update of firmware.', files)
})

test('sign-in with DPoP', async () => {
  const keys = await generateKeyPair('ES256')
  const path = '/auth/login'
  const logIn = async (nonce?: string) => {
    const dpop = await generateProof(keys, server.base + path, 'POST', nonce)
    return server.ask(path, { method: 'POST', headers: { dpop }, body: { email: root.name, password: root.password } })
  }
  const files = await filesOf(async () => {
    const { status, headers } = await logIn()
    expect(status).toBe(400)
    expect((await logIn(headers.get('dpop-nonce') as string)).status).toBe(200)
  })
  await expectListed('Sign-in with DPoP.', files)
})

test('a new alarm', async () => {
  const alarm = {
    severity: 'warning',
    serviceIdentifier: 'c',
    condition: { '>': [{ var: '0x2000' }, 30] },
    devices: ['READ'],
  }
  const files = await filesOf((round) => call('POST', '/alarms', { ...alarm, name: `Too warm ${round}` }))
  await expectListed('A new alarm.', files)
})
