import { connect } from 'node:net'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { type ProbedServer, startProbed } from '#bench/harness/probed-server'
import { reportOf } from '#bench/proof/workloads/reports'

/** Each a connection of its own, as of a device that wakes up, reports and sleeps again. */
const connections = 5_000
const atOnce = 50
/** One that is not let go of holds 480. What else grows in a process that has just begun is spread over all of them. */
const bytesEachMax = 150
/**
 * What a process holds goes up and down by some MB from one reading to the next, however many connections lie between:
 * only what leaks goes on growing with them. So it may be that a few rounds say too much, but not that all of them do.
 */
const rounds = { least: 4, most: 16 }

const head = 'Host: a\r\nConnection: close\r\n'
const report = JSON.stringify(reportOf('SLEEPER', 1))
const posted = 'POST /api/v1/link HTTP/1.1\r\nHost: a\r\nContent-Type: application/json\r\n'
const requests = {
  'an answer that is there at once': [200, `GET /api/v1/health HTTP/1.1\r\n${head}\r\n`],
  'an answer that comes out of the store, in pieces': [200, `GET /api/v1/devices HTTP/1.1\r\n${head}\r\n`],
  'one that the parser takes for the last': [
    200,
    `GET /api/v1/devices HTTP/1.1\r\nHost: a\r\nConnection: hello\r\n\r\n`,
  ],
  'a head alone': [200, `HEAD /api/v1/devices HTTP/1.1\r\n${head}\r\n`],
  'a report': [204, `${posted}Connection: close\r\nContent-Length: ${report.length}\r\n\r\n${report}`],
  'a report in chunks, behind which we close': [
    204,
    `${posted}Transfer-Encoding: chunked\r\n\r\n${report.length.toString(16)}\r\n${report}\r\n0\r\n\r\n`,
  ],
  'a framing that we refuse': [
    400,
    'GET /health HTTP/1.1\r\nHost: a\r\nContent-Length: 0\r\nContent-Length: 0\r\n\r\n',
  ],
} as const

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

  async function many(status: number, request: string): Promise<void> {
    let left = connections
    await Promise.all(
      Array.from({ length: atOnce }, async () => {
        while (left-- > 0) expect((await once(request)).slice(0, 13)).toBe(`HTTP/1.1 ${status} `)
      }),
    )
  }

  async function heldBytes(): Promise<number> {
    return (await server.memory()).nativeBytes
  }

  test.each(Object.entries(requests))('behind %s', async (_, [status, request]) => {
    await many(status, request)
    const atFirst = await heldBytes()
    const eachAfter: number[] = []
    let each: number
    do {
      await many(status, request)
      const closed = connections * (eachAfter.length + 1)
      each = Math.round(((await heldBytes()) - atFirst) / closed)
      eachAfter.push(each)
    } while (eachAfter.length < rounds.least || (each > bytesEachMax && eachAfter.length < rounds.most))
    expect(each, `bytes a connection, after each round: ${eachAfter}`).toBeLessThanOrEqual(bytesEachMax)
  })
})
