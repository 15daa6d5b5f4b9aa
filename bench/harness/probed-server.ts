import type { MemoryUse, ProbeMessage } from '#bench/harness/memory-probe'
import { ownServer, type RunningServer } from '#bench/harness/servers'

export interface ProbedServer extends RunningServer {
  memory(): Promise<MemoryUse>
  /** Moves only `performance.now()`, so that the next periodic check finds that minutes have passed. */
  pass(ms: number): Promise<void>
}

const start = ownServer({}, 'harness/memory-probe', ['--expose-gc'])

export async function startProbed(): Promise<ProbedServer> {
  const server = await start()
  const ask = <Answer>(question: ProbeMessage) => server.ask<Answer>(question)
  return { ...server, memory: () => ask({ type: 'memory' }), pass: (ms) => ask({ type: 'pass', ms }) }
}
