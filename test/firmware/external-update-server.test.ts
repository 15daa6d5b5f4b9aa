import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http'
import type { AddressInfo, Socket } from 'node:net'
import { inspect } from 'node:util'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { realWorld } from '#app/world'
import { ExternalUpdateServer } from '#firmware/external-update-server'
import { type OfferedFirmware, type UpdateQuery, UpdateServerBusy, UpdateServerFailed } from '#model/update-offer'
import { RecordingServer } from '#test/http/recording-server'

const token = 'a-secret-token'
const sha256 = 'ab'.repeat(32)
const image = { url: 'https://images.example/boiler.bin', sha256, size: 65_536 }
const query: UpdateQuery = {
  tenant: 'default',
  device: 'PUMP-7',
  project: 'boiler',
  firmware: '1.2.0',
  index: 0,
  isAutomatic: true,
}

let server: ReferenceUpdateServer
let client: ExternalUpdateServer

beforeEach(async () => {
  server = await ReferenceUpdateServer.open()
  client = clientOf(server.url)
})

afterEach(async () => {
  client.stop()
  await server.close()
})

function clientOf(url: string, timeoutMs = 30_000): ExternalUpdateServer {
  return new ExternalUpdateServer({ url, token, world: realWorld, timeoutMs })
}

function withoutTimeout(): ExternalUpdateServer {
  return new ExternalUpdateServer({ url: server.url, token, world: { ...realWorld, after: () => () => {} } })
}

function setAnswer(answer: UpdateServerAnswer): void {
  server.answerTo = () => answer
  if (answer !== 'silence') return
  client.stop()
  client = clientOf(server.url, 300)
}

async function refusal(asked: Partial<UpdateQuery> = {}): Promise<unknown> {
  return client.check({ ...query, ...asked }).then(
    () => undefined,
    (error: unknown) => error,
  )
}

describe('a query', () => {
  test('has project, device, firmware and index, with the token', async () => {
    await client.check(query)
    const asked = { project: 'boiler', device: 'PUMP-7', firmware: '1.2.0', hardware: null, index: 0 }
    expect(server.queries).toEqual([{ ...asked, authorization: `Bearer ${token}` }])
  })

  test('has the hardware if it is known, and the build metadata', async () => {
    await client.check({ ...query, hardware: 'rev-b', firmware: '1.2.0+a.1', index: 3 })
    expect(server.queries).toMatchObject([{ hardware: 'rev-b', firmware: '1.2.0+a.1', index: 3 }])
  })

  test('has the tenant with the device, unless it is default', async () => {
    await client.check({ ...query, tenant: 'acme', device: '!~PUMP=7' })
    expect(server.queries).toMatchObject([{ device: 'acme/!~PUMP=7' }])
  })

  test.each(['/api', '/api/', '/api?a=b'])('is below the path of the URL: %s', async (path) => {
    client.stop()
    client = clientOf(`${server.url}${path}`)
    expect(await client.check(query)).toBeUndefined()
    expect(server.queries).toHaveLength(1)
  })

  test('has no Authorization without a token', async () => {
    client.stop()
    client = new ExternalUpdateServer({ url: server.url, world: realWorld })
    await client.check(query)
    expect(server.queries).toMatchObject([{ authorization: undefined }])
  })

  test('reuses connections', async () => {
    for (let times = 0; times < 3; times++) await client.check(query)
    expect(server.connections).toBe(1)
  })
})

const offered = (firmware: string, isPinned = false): OfferedFirmware => ({
  ...image,
  firmware,
  index: 0,
  isPinned,
  rollout: null,
})

test.each<[name: string, answering: UpdateServerAnswer, found: OfferedFirmware | undefined]>([
  ['nothing', 'none', undefined],
  ['a newer firmware', { offer: { firmware: '1.3.0', pinned: false, ...image } }, offered('1.3.0')],
  ['a newer firmware without a pin field', { offer: { firmware: '1.3.0', ...image } }, offered('1.3.0')],
  ['a newer firmware with an unknown field', { offer: { firmware: '1.3.0', notes: 'x', ...image } }, offered('1.3.0')],
  ['a newer firmware, pinned', { offer: { firmware: '1.3.0', pinned: true, ...image } }, offered('1.3.0', true)],
  ['the same', { offer: { firmware: '1.2.0', ...image } }, undefined],
  ['another build of the same version', { offer: { firmware: '1.2.0+b', ...image } }, undefined],
  ['an older firmware', { offer: { firmware: '1.1.0', ...image } }, undefined],
  ['a prerelease of the same', { offer: { firmware: '1.2.0-rc.1', ...image } }, undefined],
  ['an older firmware, pinned', { offer: { firmware: '1.1.0', pinned: true, ...image } }, offered('1.1.0', true)],
  ['the same, pinned', { offer: { firmware: '1.2.0', pinned: true, ...image } }, undefined],
  ['another build, pinned', { offer: { firmware: '1.2.0+b', pinned: true, ...image } }, offered('1.2.0+b', true)],
  [
    'an image without TLS',
    { offer: { firmware: '1.3.0', ...image, url: 'http://h/i' } },
    { ...offered('1.3.0'), url: 'http://h/i' },
  ],
])('an offer of %s', async (_, answering, found) => {
  setAnswer(answering)
  expect(await client.check(query)).toEqual(found)
})

test('answers are counted and timed', async () => {
  setAnswer({ offer: { firmware: '1.3.0', ...image } })
  await client.check(query)
  setAnswer('none')
  await client.check(query)
  await client.check(query)
  setAnswer({ status: 503 })
  await refusal()
  setAnswer({ status: 500 })
  await refusal()
  setAnswer('reset')
  await refusal()
  expect(client.counts).toEqual({ offered: 1, none: 2, busy: 1, failed: 2 })
  expect(client.seconds.count).toBe(6)
})

test.each([
  [429, undefined, undefined],
  [503, undefined, undefined],
  [429, '7', 7_000],
  [503, '0', 0],
  [503, '86400', 3_600_000],
  [503, 'Fri, 31 Dec 9999 23:59:59 GMT', 3_600_000],
  [503, 'Thu, 01 Jan 1970 00:00:00 GMT', 0],
  [503, 'soon', undefined],
  [503, '-5', undefined],
  [503, '1.5', undefined],
])('a server that answers %i with Retry-After %s is busy', async (status, retryAfter, ms) => {
  setAnswer({ status, headers: retryAfter === undefined ? {} : { 'retry-after': retryAfter }, text: 'later' })
  const error = await refusal()
  expect(error).toBeInstanceOf(UpdateServerBusy)
  expect((error as UpdateServerBusy).retryAfterMs).toBe(ms)
})

const newer = { firmware: '1.3.0', ...image }
/** Addresses, paths and names of errors. */
const internals = /\d+\.\d+\.\d+\.\d+|:\d|localhost|\.invalid|\/|E[A-Z]{5,}|Error/

describe('a query fails for', () => {
  test.each<[name: string, answering: UpdateServerAnswer, words?: string]>([
    ...[201, 206, 304, 400, 401, 403, 404, 500, 502, 504].map((status): [string, UpdateServerAnswer, string] => [
      `status ${status}`,
      { status, ...(status !== 304 && { text: JSON.stringify(newer) }) },
      `the update server answered ${status}`,
    ]),
    ...[301, 302, 307, 308].map((status): [string, UpdateServerAnswer] => [
      `redirect ${status}`,
      { status, headers: { location: '/projects/boiler/devices/OTHER/update?firmware=1.2.0&index=0' } },
    ]),
    ['a text that is not JSON', { text: '<html>' }, 'the update server sent invalid JSON'],
    ['an empty answer', { text: '' }],
    ['null', { text: 'null' }],
    ['a list', { text: '[]' }],
    ...Object.keys(newer).map((field): [string, UpdateServerAnswer] => [
      `no ${field}`,
      { offer: { ...newer, [field]: undefined } },
    ]),
    ['an invalid version', { offer: { ...newer, firmware: '1.3' } }],
    ['an invalid hash', { offer: { ...newer, sha256: 'ab' } }],
    ['an empty image', { offer: { ...newer, size: 0 } }],
    ['a size with a fraction', { offer: { ...newer, size: 1.5 } }],
    ['a size as text', { offer: { ...newer, size: '65536' } }],
    ['a pin as text', { offer: { ...newer, pinned: 'yes' } }],
    ['a URL of another kind', { offer: { ...newer, url: 'ftp://images.example/x' } }],
    ['a file', { offer: { ...newer, url: 'file:///etc/passwd' } }],
    ['a script', { offer: { ...newer, url: 'javascript:alert(1)' } }],
    ['a path', { offer: { ...newer, url: '/images/x' } }],
    ['a URL of 2 049 characters', { offer: { ...newer, url: `https://h/${'x'.repeat(2_039)}` } }],
    ['more than 64 KiB', { text: JSON.stringify(newer) + ' '.repeat(65_536) }],
    ['an endless answer', 'endless', 'the update server sent an answer that is too long'],
    ['a reset', 'reset', 'the update server could not be reached'],
    ['half an answer', 'half an answer', 'the update server could not be reached'],
    ['silence', 'silence', 'the update server did not answer in time'],
  ])('%s', async (_, answering, words) => {
    setAnswer(answering)
    const error = await refusal()
    expect(error).toBeInstanceOf(UpdateServerFailed)
    expect(server.queries).toHaveLength(1)
    expect(inspect(error, { depth: 10, showHidden: true })).not.toContain(token)
    expect((error as Error).message).not.toMatch(internals)
    expect(error).toMatchObject(words === undefined ? {} : { message: words })
  })

  test('a closed port', async () => {
    const { port } = new URL(server.url)
    await server.close()
    const error = (await refusal()) as UpdateServerFailed
    expect(error).toMatchObject({ name: 'UpdateServerFailed', message: 'the update server could not be reached' })
    // The cause is for the log.
    expect(inspect(error.cause)).toContain(`127.0.0.1:${port}`)
    server = await ReferenceUpdateServer.open()
  })

  test('an unknown host', async () => {
    client.stop()
    client = clientOf('http://no-such-host.invalid')
    expect(await refusal()).toMatchObject({ message: 'the update server could not be reached' })
  })

  test('an aborted query, also one that waits for a connection', async () => {
    server.answerTo = () => 'silence'
    client = withoutTimeout()
    const controller = new AbortController()
    const aborted = [client.check(query, controller.signal)]
    // More than the client has connections. They stay busy until the client stops.
    const others = Array.from({ length: 100 }, () => refusal())
    aborted.push(client.check(query, controller.signal), client.check(query, AbortSignal.abort()))
    controller.abort()
    await Promise.all(aborted.map((each) => expect(each).rejects.toBeInstanceOf(UpdateServerFailed)))
    client.stop()
    expect(new Set(await Promise.all(others))).not.toContain(undefined)
  })

  test('a query in flight when the client stops', async () => {
    // Only the stop can end it.
    client = withoutTimeout()
    server.answerTo = () => {
      client.stop()
      return 'silence'
    }
    expect(await refusal()).toBeInstanceOf(UpdateServerFailed)
  })
})

test('an answer of 64 KiB and a URL of 2 048 characters are read', async () => {
  const url = `https://h/${'x'.repeat(2_038)}`
  const text = JSON.stringify({ ...newer, url })
  setAnswer({ text: text + ' '.repeat(65_536 - text.length) })
  expect(await client.check(query)).toEqual({ ...offered('1.3.0'), url })
})

test.each<[name: string, answerings: readonly UpdateServerAnswer[], attempts: number, isAnswered: boolean]>([
  ['a reused connection closes', ['none', 'reset', { offer: newer }], 3, true],
  ['the new connection closes too', ['none', 'reset', 'reset', { offer: newer }], 3, false],
  ['not if the closed connection was new', ['reset', { offer: newer }], 1, false],
])('a query whose reused connection closes is sent again, once: %s', async (_, answerings, attempts, isAnswered) => {
  server.answerTo = () => answerings[server.queries.length - 1] ?? 'none'
  if (answerings[0] === 'none') await client.check(query)
  const error = await refusal()
  expect(error === undefined).toBe(isAnswered)
  expect(server.queries).toHaveLength(attempts)
})

test('the token is not sent to other servers', async () => {
  const other = await RecordingServer.open((response) => response.end(JSON.stringify(newer)))
  setAnswer({ status: 302, headers: { location: other.url } })
  expect(await refusal()).toBeInstanceOf(UpdateServerFailed)
  await other.close()
  expect(other.received).toEqual([])
})

/** A received query. */
interface ReceivedQuery {
  readonly project: string
  /** Decoded from the path: `<tenant>/<device>` for another tenant. */
  readonly device: string
  readonly firmware: string
  readonly hardware: string | null
  readonly index: number
  readonly authorization: string | undefined
}

/**
 * An answer: the JSON of an offer, `none` for no update, a status with headers, a text as JSON, or a way not to answer.
 */
type UpdateServerAnswer =
  | { readonly offer: object }
  | 'none'
  | { readonly status: number; readonly headers?: Readonly<Record<string, string>>; readonly text?: string }
  | { readonly text: string }
  | 'silence'
  | 'half an answer'
  | 'endless'
  | 'reset'

/** An update server with scripted answers. Contract 6, External. */
class ReferenceUpdateServer {
  readonly queries: ReceivedQuery[] = []
  /** The answer to each query. */
  answerTo: (query: ReceivedQuery) => UpdateServerAnswer = () => 'none'
  readonly #server: Server
  readonly #sockets = new Set<Socket>()

  private constructor() {
    this.#server = createServer((request, response) => this.#answer(request, response))
    this.#server.on('connection', (socket) => {
      this.#sockets.add(socket)
      socket.on('close', () => this.#sockets.delete(socket))
    })
  }

  static async open(): Promise<ReferenceUpdateServer> {
    const server = new ReferenceUpdateServer()
    await new Promise<void>((resolve) => server.#server.listen(0, '127.0.0.1', resolve))
    return server
  }

  get url(): string {
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}`
  }

  get connections(): number {
    return this.#sockets.size
  }

  async close(): Promise<void> {
    const closed = new Promise<void>((resolve) => this.#server.close(() => resolve()))
    for (const socket of this.#sockets) socket.destroy()
    await closed
  }

  #answer(request: IncomingMessage, response: ServerResponse): void {
    const query = queryOf(request)
    if (!query) {
      response.writeHead(404).end()
      return
    }
    this.queries.push(query)
    const answer = this.answerTo(query)
    if (typeof answer !== 'string') this.#send(answer, response)
    else this.#misbehave(answer, request.socket, response)
  }

  #send(answer: Exclude<UpdateServerAnswer, string>, response: ServerResponse): void {
    const json = { 'content-type': 'application/json' }
    if ('offer' in answer) response.writeHead(200, json).end(JSON.stringify(answer.offer))
    else if ('status' in answer) response.writeHead(answer.status, answer.headers).end(answer.text)
    else response.writeHead(200, json).end(answer.text)
  }

  #misbehave(answer: Extract<UpdateServerAnswer, string>, socket: Socket, response: ServerResponse): void {
    switch (answer) {
      case 'none':
        response.writeHead(204).end()
        return
      case 'silence':
        return
      case 'half an answer':
        response.writeHead(200, { 'content-length': '1000' })
        response.write('{"firmware":', () => socket.destroy())
        return
      case 'endless':
        response.writeHead(200)
        this.#writeMore(response)
        return
      case 'reset':
        socket.resetAndDestroy()
    }
  }

  #writeMore(response: ServerResponse): void {
    if (response.destroyed) return
    response.write(' '.repeat(16_384), () => this.#writeMore(response))
  }
}

function queryOf({ method, url, headers }: IncomingMessage): ReceivedQuery | undefined {
  const { pathname, searchParams } = new URL(url ?? '', 'http://host')
  const [, project, device] = /^\/(?:api\/)?projects\/([^/]+)\/devices\/([^/]+)\/update$/.exec(pathname) ?? []
  const [firmware, index] = [searchParams.get('firmware'), searchParams.get('index')]
  if (method !== 'GET' || !project || !device || firmware === null || index === null) return undefined
  return {
    project: decodeURIComponent(project),
    device: decodeURIComponent(device),
    firmware,
    hardware: searchParams.get('hardware'),
    index: Number(index),
    authorization: headers.authorization,
  }
}
