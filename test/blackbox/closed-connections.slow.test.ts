import { connect } from 'node:net'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { type ProbedServer, startProbed } from '#bench/harness/servers'
import { reportOf } from '#bench/proof/workloads/reports'

/** Each request has a new connection, as of a device that wakes up, reports and sleeps. */
const connections = 5_000
const atOnce = 50
/** A leaked connection takes 480 bytes. Other growth of a new process is divided by the number of connections. */
const bytesEachMax = 150
/** Memory varies by some MB between measurements, but only a leak grows in every round. One good round is enough. */
const rounds = { least: 4, most: 16 }

const head = 'Host: a\r\nConnection: close\r\n'
const report = JSON.stringify(reportOf('SLEEPER', 1))
const posted = 'POST /api/v1/link HTTP/1.1\r\nHost: a\r\nContent-Type: application/json\r\n'
const requests = {
  'a short answer': [200, `GET /api/v1/health HTTP/1.1\r\n${head}\r\n`],
  'an answer in pieces': [200, `GET /api/v1/devices HTTP/1.1\r\n${head}\r\n`],
  'an unknown Connection header': [200, `GET /api/v1/devices HTTP/1.1\r\nHost: a\r\nConnection: hello\r\n\r\n`],
  HEAD: [200, `HEAD /api/v1/devices HTTP/1.1\r\n${head}\r\n`],
  'a report': [204, `${posted}Connection: close\r\nContent-Length: ${report.length}\r\n\r\n${report}`],
  'a report in chunks, after which the server closes': [
    204,
    `${posted}Transfer-Encoding: chunked\r\n\r\n${report.length.toString(16)}\r\n${report}\r\n0\r\n\r\n`,
  ],
  'a refused framing': [400, 'GET /health HTTP/1.1\r\nHost: a\r\nContent-Length: 0\r\nContent-Length: 0\r\n\r\n'],
} as const

// These tests read the memory of the process from /proc.
describe.skipIf(process.platform !== 'linux')('closed connections leak no memory', () => {
  let server: ProbedServer
  beforeAll(async () => {
    server = await startProbed()
  })
  afterAll(async () => {
    await server.stop()
  })

  /** Sends a request and returns all received text until the close. */
  function exchange(request: string): Promise<string> {
    return new Promise((resolve, reject) => {
      let received = ''
      const socket = connect(server.port, '127.0.0.1')
      socket.setEncoding('latin1')
      socket.on('connect', () => socket.write(request))
      socket.on('data', (text) => {
        received += text
      })
      socket.on('error', reject)
      socket.on('close', () => resolve(received))
    })
  }

  async function many(status: number, request: string): Promise<void> {
    let left = connections
    await Promise.all(
      Array.from({ length: atOnce }, async () => {
        while (left-- > 0) expect((await exchange(request)).slice(0, 13)).toBe(`HTTP/1.1 ${status} `)
      }),
    )
  }

  async function usedBytes(): Promise<number> {
    return (await server.memory()).nativeBytes
  }

  test.each(Object.entries(requests))('after %s', async (_, [status, request]) => {
    await many(status, request)
    const atFirst = await usedBytes()
    const eachAfter: number[] = []
    let each: number
    do {
      await many(status, request)
      const closed = connections * (eachAfter.length + 1)
      each = Math.round(((await usedBytes()) - atFirst) / closed)
      eachAfter.push(each)
    } while (eachAfter.length < rounds.least || (each > bytesEachMax && eachAfter.length < rounds.most))
    expect(each, `bytes a connection, after each round: ${eachAfter}`).toBeLessThanOrEqual(bytesEachMax)
  })
})
