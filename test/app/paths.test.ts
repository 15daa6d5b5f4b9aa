import { readFileSync, writeFileSync } from 'node:fs'
import { Session } from 'node:inspector/promises'
import { fileURLToPath } from 'node:url'
import { generateKeyPair, generateProof } from 'dpop'
import { afterAll, beforeAll, expect, test } from 'vitest'
import WebSocket from 'ws'
import { identityOn, root } from '#test/blackbox/signed-in-user'
import { StartedServer } from '#test/blackbox/started-server'
import { until } from '#test/blackbox/until'

/**
 * ARCHITECTURE.md lists the files of five paths. A file is on a path when one of its functions runs in each of five
 * rounds. The clients here import nothing of the product, so that only the server is counted.
 */

const roundCount = 5
/** A timer runs this file on every path. */
const timerFile = 'src/app/metrics/process-metrics'
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

/** Waits for commits and slices of work that follow an answer. */
function settle(): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, 200))
}

interface PathFiles {
  readonly inEachRound: readonly string[]
  readonly inSomeRound: ReadonlySet<string>
}

async function filesOf(run: (round: number) => Promise<unknown>): Promise<PathFiles> {
  // The first round is not counted, because it loads modules and fills caches.
  await run(0)
  const rounds: Set<string>[] = []
  for (let round = 1; round <= roundCount; round++) {
    await settle()
    await filesRun()
    await run(round)
    await settle()
    rounds.push(await filesRun())
  }
  const inSomeRound = new Set(rounds.flatMap((files) => [...files]))
  const inEachRound = [...inSomeRound].filter((file) => file !== timerFile && rounds.every((files) => files.has(file)))
  return { inEachRound: inEachRound.sort(), inSomeRound }
}

/** The folders of the list, in the order in which most requests reach them. */
const folders = [
  ...['src/http', 'src/api', 'src/access', 'src/routes', 'src/link', 'src/firmware', 'src/workers', 'src/rules'],
  ...['actors', 'src/model', 'src/runtime', 'src/store', 'src/events', 'src/app'],
]

/** Each folder is one line, as `src/link/{codec,links}`. Folders with one or two files share the last line. */
function listOf(files: readonly string[]): string {
  const lines: string[] = []
  const rest: string[] = []
  for (const folder of folders) {
    const inside = files.filter((file) => file.startsWith(`${folder}/`))
    if (inside.length < 3) rest.push(...inside)
    else lines.push(`${folder}/{${inside.map((file) => file.slice(folder.length + 1)).join(',')}}`)
  }
  return [...lines, rest.join(' ')].join('\n').trim()
}

function filesIn(list: string): readonly string[] {
  return list.split(/\s+/).flatMap((entry) => {
    const [, folder, names] = /^(.*)\{(.*)\}$/.exec(entry) ?? []
    return names === undefined ? [entry] : names.split(',').map((name) => `${folder}${name}`)
  })
}

/** `UPDATE_PATHS=1` writes the list. A file that only runs in some rounds may be listed or not. */
function expectListed(path: string, { inEachRound, inSomeRound }: PathFiles): void {
  const document = fileURLToPath(new URL('../../ARCHITECTURE.md', import.meta.url))
  const text = readFileSync(document, 'utf8')
  const begin = text.indexOf('```\n', text.indexOf(`**${path}**`)) + '```\n'.length
  const end = text.indexOf('\n```', begin)
  if (process.env.UPDATE_PATHS) writeFileSync(document, text.slice(0, begin) + listOf(inEachRound) + text.slice(end))
  const listed = filesIn(process.env.UPDATE_PATHS ? listOf(inEachRound) : text.slice(begin, end))
  expect(inEachRound.filter((file) => !listed.includes(file))).toEqual([])
  expect(listed.filter((file) => !inSomeRound.has(file))).toEqual([])
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
  expectListed('A change, from a device to a dashboard.', files)
})

test('reading all devices', async () => {
  const { link } = await linkOf('READ')
  const files = await filesOf(() => call('GET', '/devices?depth=2'))
  link.close()
  expectListed('Reading all devices.', files)
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
    // Answered when the device has started.
    const answered = call('POST', `/updates/BOILER-${round}`)
    const { id } = await link.take('FIRMWARE')
    link.send({ type: 'FIRMWARE_STATUS', flakeAddress, id, status: 'STARTED' })
    while ((await events.take('UPDATE_STATUS')).status !== 'STARTED');
    await answered
  })
  for (const { link } of links) link.close()
  events.close()
  expectListed('An update of firmware.', files)
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
  expectListed('Sign-in with DPoP.', files)
})

test('a new alarm', async () => {
  const alarm = {
    severity: 'warning',
    serviceIdentifier: 'c',
    condition: { '>': [{ var: '0x2000' }, 30] },
    devices: ['READ'],
  }
  const files = await filesOf((round) => call('POST', '/alarms', { ...alarm, name: `Too warm ${round}` }))
  expectListed('A new alarm.', files)
})
