import { connect } from 'node:net'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { type ProbedServer, startProbed } from '#bench/harness/probed-server'

/** Each a connection of its own, as of a device that wakes up, reports and sleeps again. */
const connections = 5_000
const atOnce = 50
/** One that is not let go of holds 480. What else grows in a process that has just begun is spread over all of them. */
const bytesEachMax = 150
/** What warms up grows once. What leaks grows every time. */
const triesMax = 6

const head = 'Host: a\r\nConnection: close\r\n'
const report = JSON.stringify({ type: 'ping', ref: 1 })
const requests = {
  'an answer that is there at once': `GET /health HTTP/1.1\r\n${head}\r\n`,
  'an answer that comes out of the store, in pieces': `GET /api/v1/devices HTTP/1.1\r\n${head}\r\n`,
  'a head alone': `HEAD /api/v1/devices HTTP/1.1\r\n${head}\r\n`,
  'a body': `POST /api/v1/link HTTP/1.1\r\n${head}Content-Type: application/json\r\nContent-Length: ${report.length}\r\n\r\n${report}`,
  'a body in chunks, behind which we close':
    `POST /api/v1/link HTTP/1.1\r\nHost: a\r\nContent-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\n` +
    `${report.length.toString(16)}\r\n${report}\r\n0\r\n\r\n`,
  'a framing that we refuse': 'GET /health HTTP/1.1\r\nHost: a\r\nContent-Length: 0\r\nContent-Length: 0\r\n\r\n',
}

// Linux says what a process holds for itself.
describe.skipIf(process.platform !== 'linux')('a connection that was closed leaves nothing behind', () => {
  let server: ProbedServer
  beforeAll(async () => {
    server = await startProbed()
  })
  afterAll(async () => {
    await server.stop()
  })

  /** What it heard until it was closed. */
  function once(request: string): Promise<string> {
    return new Promise((resolve, reject) => {
      let heard = ''
      const socket = connect(server.port, '127.0.0.1')
      socket.setEncoding('latin1')
      socket.on('connect', () => socket.write(request))
      socket.on('data', (text) => {
        heard += text
      })
      socket.on('error', reject)
      socket.on('close', () => resolve(heard))
    })
  }

  async function many(request: string): Promise<void> {
    let left = connections
    await Promise.all(
      Array.from({ length: atOnce }, async () => {
        while (left-- > 0) expect(await once(request)).toMatch(/^HTTP\/1\.1 [24]\d\d /)
      }),
    )
  }

  async function heldBytes(): Promise<number> {
    return (await server.memory()).nativeBytes
  }

  test.each(Object.entries(requests))('behind %s', async (_, request) => {
    const grown: number[] = []
    let before = await heldBytes()
    do {
      await many(request)
      const now = await heldBytes()
      grown.push(Math.round((now - before) / connections))
      before = now
    } while (Math.min(...grown) > bytesEachMax && grown.length < triesMax)
    expect(Math.min(...grown), `bytes a connection: ${grown}`).toBeLessThanOrEqual(bytesEachMax)
  })
})
