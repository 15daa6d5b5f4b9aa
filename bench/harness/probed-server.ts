import type { MemoryUse, ProbeQuestion } from '#bench/harness/memory-probe'
import { environmentOf, loadedBefore, type RunningServer, startAdmitting } from '#bench/harness/servers'
import { temporaryFolder } from '#bench/harness/temporary-folder'
import { freePort } from '#bench/server-process'

/** This server with a probe in it. */
export interface ProbedServer extends RunningServer {
  memory(): Promise<MemoryUse>
  /** Lets time pass at once, for what the server does after minutes; its timers go on as they are. */
  pass(ms: number): Promise<void>
}

export async function startProbed(): Promise<ProbedServer> {
  const port = await freePort()
  const folder = temporaryFolder('bench-')
  const environment = environmentOf()
  const nodeArguments = ['--expose-gc', ...loadedBefore('harness/memory-probe')]
  const settings = { port, dataFolder: folder.path, environment, nodeArguments, isKilledAtExit: true }
  const { server, authorizations } = await startAdmitting(settings)
  const ask = <Answer>(question: ProbeQuestion) => server.ask<Answer>(question)
  return {
    port,
    processId: server.processId,
    authorizations,
    memory: () => ask({ type: 'memory' }),
    async pass(ms) {
      await ask({ type: 'pass', ms })
    },
    async stop() {
      await server.stop()
      await folder.remove()
    },
  }
}
