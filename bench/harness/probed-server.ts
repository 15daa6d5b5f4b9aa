import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import type { MemoryUse, ProbeQuestion } from '#bench/harness/memory-probe'
import type { RunningServer } from '#bench/harness/servers'
import { temporaryFolder } from '#bench/harness/temporary-folder'
import { projectRoot } from '#bench/project-root'
import { freePort, startServer } from '#bench/server-process'

/** This server with a probe in it. */
export interface ProbedServer extends RunningServer {
  memory(): Promise<MemoryUse>
  /** Lets time pass at once, for what the server does after minutes; its timers go on as they are. */
  pass(ms: number): Promise<void>
}

const probe = pathToFileURL(join(projectRoot, 'dist/bench/harness/memory-probe.js')).href

export async function startProbed(): Promise<ProbedServer> {
  const port = await freePort()
  const folder = temporaryFolder('bench-')
  const nodeArguments = ['--expose-gc', '--import', probe]
  const server = await startServer({ port, dataFolder: folder.path, nodeArguments, isKilledAtExit: true })
  const ask = <Answer>(question: ProbeQuestion) => server.ask<Answer>(question)
  return {
    port,
    processId: server.processId,
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
