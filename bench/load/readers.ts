import { Agent, request } from 'node:http'
import { authorizationHeader } from '#bench/harness/identity'
import { serveFunctions } from '#bench/harness/remote'
import type { ServerTarget } from '#bench/harness/servers'
import { type CpuUse, startCpuClock } from '#bench/process-usage'
import { sleep } from '#bench/time'

/** A client that reads the same answer repeatedly, as fast as it can, and counts its bytes. */
interface ReaderSpec extends ServerTarget {
  readonly path: string
}

export interface ReadResult extends CpuUse {
  /** Complete answers. */
  readonly reads: number
  readonly bytes: number
}

let spec: ReaderSpec
let isReading = false
let reads = 0
let bytes = 0
let reading: Promise<unknown> = Promise.resolve()

function read(agent: Agent): Promise<void> {
  const { port, path, authorizations } = spec
  const headers = authorizationHeader(authorizations?.person)
  return new Promise((resolve, reject) => {
    const outgoing = request({ host: '127.0.0.1', port, path, headers, agent }, (incoming) => {
      if (incoming.statusCode !== 200) reject(new Error(`${path} was answered ${incoming.statusCode}`))
      incoming.on('data', (part: Buffer) => {
        bytes += part.length
      })
      incoming.on('close', () => (incoming.complete ? resolve() : reject(new Error('an answer broke off'))))
    })
    outgoing.on('error', reject)
    outgoing.end()
  })
}

async function readOn(): Promise<void> {
  const agent = new Agent({ keepAlive: true, maxSockets: 1 })
  for (; isReading; reads++) await read(agent)
  agent.destroy()
}

serveFunctions({
  begin(asked: ReaderSpec) {
    spec = asked
    isReading = true
    reading = readOn()
    // `measure` reports the failure.
    reading.catch(() => undefined)
  },

  /** Reads for this time, and then until the read in progress is complete. */
  async measure(milliseconds: number): Promise<ReadResult> {
    const readClock = startCpuClock(spec.processId)
    const before = { reads, bytes }
    await sleep(milliseconds)
    isReading = false
    await reading
    return { ...readClock(), reads: reads - before.reads, bytes: bytes - before.bytes }
  },
})
