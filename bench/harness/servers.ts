import { Remote } from '#bench/harness/remote'
import { temporaryFolder } from '#bench/harness/temporary-folder'
import { freePort, startServer } from '#bench/server-process'

/** A server in a fresh process, and how to be rid of it and of all it left. */
export interface RunningServer {
  readonly port: number
  readonly processId: number
  stop(): Promise<void>
}

export type StartServer = () => Promise<RunningServer>

/** One of the loops in `bench/bare`. */
export function bare(program: string, settings: Readonly<Record<string, unknown>> = {}): StartServer {
  return listening(`bare/${program}`, settings)
}

/** A part of this server without the others, from `bench/alone`. */
export function alone(program: string): StartServer {
  return listening(`alone/${program}`, {})
}

function listening(program: string, settings: Readonly<Record<string, unknown>>): StartServer {
  return async () => {
    const port = await freePort()
    const remote = new Remote(program)
    try {
      await remote.ask('listen', { port, ...settings })
    } catch (error) {
      await remote.stop()
      throw error
    }
    return { port, processId: remote.processId, stop: () => remote.stop() }
  }
}

/** This server, on a data folder of its own. */
export function ours(environment: Readonly<Record<string, string>> = {}): StartServer {
  return async () => {
    const port = await freePort()
    const folder = temporaryFolder('bench-')
    try {
      const server = await startServer({ port, dataFolder: folder.path, environment, isKilledAtExit: true })
      return {
        port,
        processId: server.processId,
        async stop() {
          await server.stop()
          await folder.remove()
        },
      }
    } catch (error) {
      await folder.remove()
      throw error
    }
  }
}
