import { once } from 'node:events'
import { Agent, get, type IncomingMessage } from 'node:http'
import { authorizationHeader } from '#bench/harness/identity'
import type { ServerTarget } from '#bench/harness/servers'
import { type CpuUse, startCpuClock } from '#bench/process-usage'

export interface ReadResult extends CpuUse {
  /** Complete answers. */
  readonly reads: number
  readonly bytes: number
}

/** Reads the same answer again and again, as fast as it can, for this time and until the last answer is complete. */
export async function readRepeatedly(
  { port, processId, authorizations }: ServerTarget,
  path: string,
  milliseconds: number,
): Promise<ReadResult> {
  const headers = authorizationHeader(authorizations?.person)
  const agent = new Agent({ keepAlive: true, maxSockets: 1 })
  const readClock = startCpuClock(processId)
  let [reads, bytes] = [0, 0]
  try {
    for (const end = performance.now() + milliseconds; performance.now() < end; reads++) {
      const answered = once(get({ host: '127.0.0.1', port, path, headers, agent }), 'response')
      const [answer] = (await answered) as [IncomingMessage]
      if (answer.statusCode !== 200) throw new Error(`${path} was answered ${answer.statusCode}`)
      answer.on('data', (part: Buffer) => {
        bytes += part.length
      })
      await once(answer, 'close')
      if (!answer.complete) throw new Error('an answer broke off')
    }
  } finally {
    agent.destroy()
  }
  return { ...readClock(), reads, bytes }
}
