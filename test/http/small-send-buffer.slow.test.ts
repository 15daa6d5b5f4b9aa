import { type ExecFileOptions, execFile } from 'node:child_process'
import { existsSync, readFileSync, writeFileSync } from 'node:fs'
import { Agent, get, type IncomingMessage } from 'node:http'
import { connect } from 'node:net'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { WebSocket } from 'ws'
import { projectRoot } from '#bench/project-root'
import { SeededRandom } from '#bench/random'
import { type HttpFixture, openHttp, route, until } from '#test/http/http-fixture'
import { openSocketHttp, type SocketEvent, type SocketHttp } from '#test/http/socket-fixture'

/**
 * A socket with a full send buffer accepts no further byte, not even of the framing of the next chunk. To fill the
 * buffer often, these tests run in a network namespace with a small send buffer. The first `describe` makes the
 * namespace and runs this file again there, with `SMALL_SEND_BUFFER=inside`; the second one then has the tests.
 */

const isInside = process.env.SMALL_SEND_BUFFER === 'inside'
const sendBufferBytes = 98_304

describe.skipIf(isInside)('this file', () => {
  test('passes in a network namespace with a small send buffer', { timeout: 240_000 }, async (context) => {
    const itself = import.meta.filename
    const run = promisify(execFile)
    // Some containers mount `/proc/sys` read-only, but allow another mount.
    const setUp =
      'ip link set lo up && { [ -w /proc/sys/net ] || mount -t proc proc /proc; } && ' +
      `echo '4096 16384 ${sendBufferBytes}' > /proc/sys/net/ipv4/tcp_wmem && exec "$@"`
    const runIsolated = (command: readonly string[], options: ExecFileOptions = {}) =>
      run('unshare', ['--net', '--mount', 'sh', '-c', setUp, 'sh', ...command], options)
    try {
      await runIsolated(['true'])
    } catch (error) {
      if (process.env.CI) throw error
      return context.skip('a network namespace could not be created (needs root, unshare and ip)')
    }
    const runner = join(projectRoot, 'node_modules/vitest/vitest.mjs')
    expect(existsSync(runner)).toBe(true)
    const environment = { ...process.env, SMALL_SEND_BUFFER: 'inside' }
    const inner = runIsolated([process.execPath, runner, 'run', itself], { cwd: projectRoot, env: environment })
    const { stdout } = await inner.catch((error: { stdout: string; stderr: string }) => {
      throw new Error(error.stdout + error.stderr)
    })
    expect(stdout).toMatch(/passed/)
  })
})

describe.runIf(isInside)('with a small send buffer', () => {
  const answerBytes = 4_000_000
  let http: HttpFixture
  let socketHttp: SocketHttp

  /** The byte at this offset of each answer. */
  const byteAt = (offset: number) => 97 + (Math.imul(offset, 0x9e3779b1) >>> 28)
  const whole = Buffer.from(Uint8Array.from({ length: answerBytes }, (_, at) => byteAt(at)))
  const page = whole.toString('latin1', 0, 50_000)

  async function* chunksOf(sizes: readonly number[], bytes = answerBytes) {
    for (let at = 0, index = 0; at < bytes; index++) {
      const size = sizes[index % sizes.length] as number
      yield whole.subarray(at, Math.min(bytes, at + size))
      at += size
    }
  }

  /** Lets `/slow` send the rest of its answer. */
  let goOn = () => {}
  async function* slowly() {
    const going = new Promise<void>((resolve) => {
      goOn = resolve
    })
    yield whole.subarray(0, 1_000_000)
    await going
    yield whole.subarray(1_000_000)
  }

  let askedBytes = 0
  async function* asked() {
    for await (const chunk of chunksOf([30_000])) {
      askedBytes += chunk.byteLength
      yield chunk
    }
  }

  beforeAll(async () => {
    const length = { 'Content-Length': String(answerBytes) }
    http = await openHttp({
      bindings: [
        route('GET', '/small', () => ({ status: 200, chunks: chunksOf([1_000]) })),
        route('GET', '/pieces', () => ({ status: 200, chunks: chunksOf([30_000]) })),
        route('GET', '/mixed', () => ({ status: 200, chunks: chunksOf([65_544, 8, 16_001, 700_000]) })),
        route('GET', '/counted', () => ({ status: 200, headers: length, chunks: chunksOf([30_000, 100_000]) })),
        route('GET', '/asked', () => ({ status: 200, chunks: asked() })),
        route('GET', '/slow', () => ({ status: 200, chunks: slowly() })),
        route('GET', '/headed', () => ({
          status: 200,
          headers: { 'X-Long': 'h'.repeat(600) },
          chunks: chunksOf([16_008], answerBytes / 100),
        })),
        route('GET', '/page', () => ({ status: 200, text: page })),
        route('GET', '/text/:bytes', ({ parameters }) => ({
          status: 200,
          text: whole.toString('latin1', 0, Number((parameters as { bytes: string }).bytes)),
        })),
        route('GET', '/text', () => ({ status: 200, text: whole.toString('latin1') })),
      ],
    })
    socketHttp = await openSocketHttp({ maxBackpressureBytes: 100_000_000 })
  })
  afterAll(async () => {
    await http.server.close()
    await socketHttp.server.close()
  })

  function begun(path: string, agent?: Agent): Promise<IncomingMessage> {
    return new Promise((resolve, reject) => {
      get(`${http.base}${path}`, { agent }, resolve).on('error', reject)
    })
  }

  /** Decodes chunked transfer encoding. */
  function unchunked(body: string): string {
    let [text, at] = ['', 0]
    for (;;) {
      const end = body.indexOf('\r\n', at)
      const length = Number.parseInt(body.slice(at, end), 16)
      if (end < 0 || !(length > 0)) return text
      text += body.slice(end + 2, end + 2 + length)
      at = end + 2 + length + 2
    }
  }

  /** Reads with random pauses. */
  async function read(path: string, random: SeededRandom, agent?: Agent): Promise<Buffer> {
    const chunks: Buffer[] = []
    const response = await begun(path, agent)
    for await (const chunk of response) {
      chunks.push(chunk)
      if (random.below(10) < 3) await new Promise((resolve) => setTimeout(resolve, random.below(3)))
    }
    return Buffer.concat(chunks)
  }

  test.each(['/small', '/pieces', '/mixed', '/counted', '/text'])('%s arrives unchanged', async (path) => {
    for (let seed = 1; seed <= 5; seed++) {
      expect(Buffer.compare(await read(path, new SeededRandom(seed)), whole), `seed ${seed}`).toBe(0)
    }
  })

  test('the first part of an answer arrives while the route still waits for the rest', async () => {
    for (let seed = 1; seed <= 5; seed++) {
      const random = new SeededRandom(seed)
      const response = await begun('/slow')
      let bytes = 0
      for await (const chunk of response) {
        bytes += chunk.length
        if (bytes === 1_000_000) goOn()
        else if (bytes < 1_000_000 && random.below(10) < 3) await new Promise((resolve) => setTimeout(resolve, 3))
      }
      expect(bytes).toBe(answerBytes)
    }
  })

  test('the server buffers only a few chunks for a client that reads slowly', async () => {
    // With these buffers the kernel accepts part of a chunk.
    const settings = {
      '/proc/sys/net/ipv4/tcp_wmem': '4096 16384 16384',
      '/proc/sys/net/ipv4/tcp_rmem': '4096 8192 8192',
    }
    const before = Object.keys(settings).map((setting) => [setting, readFileSync(setting, 'utf8')] as const)
    const put = (each: Iterable<readonly [string, string]>) => {
      for (const [setting, value] of each) writeFileSync(setting, value)
    }
    const link = (mtu: number) => promisify(execFile)('ip', ['link', 'set', 'lo', 'mtu', `${mtu}`])
    await link(1_500)
    put(Object.entries(settings))
    askedBytes = 0
    let [bytes, keptMax] = [0, 0]
    const buffer = Buffer.alloc(2_048)
    const callback = (count: number) => {
      bytes += count
      keptMax = Math.max(keptMax, askedBytes - bytes)
      setTimeout(() => client.resume(), 0)
      return false
    }
    const client = connect({ port: http.port, host: '127.0.0.1', onread: { buffer, callback } })
    try {
      client.write('GET /api/v1/asked HTTP/1.1\r\nHost: a\r\n\r\n')
      await until(() => bytes > answerBytes)
      expect(keptMax).toBeLessThan(250_000)
    } finally {
      client.destroy()
      put(before)
      await link(65_536)
    }
  })

  test('a chunked answer arrives unchanged after answers that the client had not read yet', async () => {
    let answered = 0
    for (let seed = 1; seed <= 60; seed++) {
      const random = new SeededRandom(seed)
      const client = connect(http.port, '127.0.0.1').pause()
      const ask = (path: string) => `GET /api/v1${path} HTTP/1.1\r\nHost: a\r\n\r\n`
      client.write(ask(`/text/${13_000 + random.below(1_500)}`).repeat(8 + random.below(20)))
      await new Promise((resolve) => setTimeout(resolve, random.below(4)))
      client.write(ask('/headed'))
      await new Promise((resolve) => setTimeout(resolve, 10))
      let text = ''
      for await (const chunk of client) {
        text += chunk.toString('latin1')
        if (text.endsWith('\r\n0\r\n\r\n')) break
      }
      const [head = '', body = ''] = text.slice(text.lastIndexOf('HTTP/1.1 200')).split('\r\n\r\n', 2)
      // The server closes a connection on which a request arrives before the previous one is answered.
      if (!head.includes('X-Long')) continue
      answered++
      expect(unchunked(body), `seed ${seed}`).toBe(whole.toString('latin1', 0, answerBytes / 100))
    }
    expect(answered).toBeGreaterThan(0)
  })

  test('a hundred pages arrive unchanged over one connection', async () => {
    const agent = new Agent({ keepAlive: true, maxSockets: 1 })
    const random = new SeededRandom(1)
    for (let count = 0; count < 100; count++) expect(String(await read('/page', random, agent)) === page).toBe(true)
    agent.destroy()
  })

  test.each(['sent', 'published'])('messages that are %s arrive unchanged and in order', async (how) => {
    const client = new WebSocket(`${socketHttp.ws}/events/t`)
    const received: string[] = []
    client.on('message', (message) => received.push(String(message)))
    await new Promise((resolve) => client.once('open', resolve))
    const { socket } = socketHttp.recorder.events.findLast(({ type }) => type === 'opened') as SocketEvent
    socket.subscribe('topic')
    const random = new SeededRandom(1)
    const sent: string[] = []
    while (sent.length < 2_000) {
      for (let count = random.below(8); count >= 0; count--) {
        const from = random.below(1_000)
        const message = whole.toString('latin1', from, from + random.below(random.below(2) ? 40_000 : 300))
        sent.push(message)
        if (how === 'sent') socket.send(message)
        else socketHttp.server.publisher.publish('topic', message)
      }
      if (random.below(10) < 3) client.pause()
      await new Promise((resolve) => setTimeout(resolve, random.below(3)))
      client.resume()
    }
    await until(() => received.length === sent.length)
    expect(received.every((message, index) => message === sent[index])).toBe(true)
    client.terminate()
  })
})
