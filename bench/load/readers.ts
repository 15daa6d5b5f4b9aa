import { Agent, request } from 'node:http'
import { authorizationHeader } from '#bench/harness/identity'
import { serveFunctions } from '#bench/harness/remote-functions'
import type { ServerTarget } from '#bench/harness/server-target'
import { CpuClock, type CpuUse } from '#bench/process-usage'
import { pass } from '#bench/time'

/** Clients that read the full state repeatedly, and count its bytes. */
export interface ReadersSpec extends ServerTarget {
  readonly path: string
  readonly readers: number
  /** Read rate of each client; absent: as fast as it can. */
  readonly bytesPerSecond?: number
  /** How many of them stop reading after the first bytes. */
  readonly stalling?: number
}

export interface ReadResult extends CpuUse {
  /** Complete answers. */
  readonly reads: number
  readonly bytes: number
}

const takeEveryMs = 50

let spec: ReadersSpec
let isReading = false
let reads = 0
let bytes = 0
let failure: Error | undefined

/**
 * Reads one answer; resolves with whether it was complete. A slow reader's may not be: the server may close the
 * connection.
 */
function read(agent: Agent, bytesPerSecond: number | undefined): Promise<boolean> {
  const { port, path, authorizations } = spec
  const headers = authorizationHeader(authorizations?.person)
  return new Promise((resolve, reject) => {
    const outgoing = request({ host: '127.0.0.1', port, path, headers, agent }, (incoming) => {
      if (incoming.statusCode !== 200) reject(new Error(`${path} was answered ${incoming.statusCode}`))
      let taken = 0
      const startedAt = performance.now()
      const timer = bytesPerSecond === undefined ? undefined : setInterval(takeMore, takeEveryMs)
      function mayTake(): boolean {
        return taken <= ((performance.now() - startedAt) / 1000) * (bytesPerSecond ?? 0)
      }
      function takeMore(): void {
        if (!isReading) outgoing.destroy()
        else if (mayTake()) incoming.resume()
      }
      incoming.on('data', (part: Buffer) => {
        bytes += part.length
        taken += part.length
        if (timer && !mayTake()) incoming.pause()
      })
      incoming.on('close', () => {
        clearInterval(timer)
        if (!incoming.complete && bytesPerSecond === undefined) reject(new Error('an answer broke off'))
        else resolve(incoming.complete)
      })
    })
    outgoing.on('error', (error) => (bytesPerSecond === undefined ? reject(error) : resolve(false)))
    outgoing.end()
  })
}

async function readOn(place: number): Promise<void> {
  const bytesPerSecond = place < (spec.stalling ?? 0) ? 0 : spec.bytesPerSecond
  const agent = new Agent({ keepAlive: true, maxSockets: 1 })
  while (isReading) if (await read(agent, bytesPerSecond)) reads++
  agent.destroy()
}

let reading: Promise<unknown> = Promise.resolve()

serveFunctions({
  begin(asked: ReadersSpec) {
    spec = asked
    isReading = true
    reading = Promise.all(Array.from({ length: spec.readers }, (_, place) => readOn(place))).catch((error: Error) => {
      failure = error
    })
  },

  /** Reads for at least this time, and with fast readers until a read that began meanwhile is complete. */
  async measure(milliseconds: number): Promise<ReadResult> {
    const clock = new CpuClock(spec.serverProcessId)
    const before = { reads, bytes }
    await pass(milliseconds)
    isReading = false
    await reading
    if (failure) throw failure
    return { ...clock.read(), reads: reads - before.reads, bytes: bytes - before.bytes }
  },
})
