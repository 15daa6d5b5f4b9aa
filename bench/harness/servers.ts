import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { type Authorizations, authorizationsAt, identityOn } from '#bench/harness/identity'
import type { MemoryUse, ProbeMessage } from '#bench/harness/memory-probe'
import { Remote } from '#bench/harness/remote'
import { temporaryFolder } from '#bench/harness/temporary-folder'
import { projectRoot } from '#bench/project-root'
import { freePort, type ServerProcess, type ServerSettings, startServer } from '#bench/server-process'

/** The fields of a `RunningServer` that a load receives. Functions are lost in messages between processes. */
export interface ServerTarget {
  readonly port: number
  readonly processId: number
  readonly authorizations?: Authorizations | undefined
}

/** A server in a fresh process, and how to stop it and delete its data. */
export interface RunningServer extends ServerTarget {
  stop(): Promise<void>
}

export type StartServer = () => Promise<RunningServer>

/** One of our programs that listens on a given port, in its own process. `program`: its path below `bench`. */
export function listening(program: string): StartServer {
  return async () => {
    const port = await freePort()
    const remote = new Remote(program)
    try {
      await remote.ask('listen', { port })
    } catch (error) {
      await remote.stop()
      throw error
    }
    return { port, processId: remote.processId, stop: () => remote.stop() }
  }
}

export async function startAuthenticated(settings: ServerSettings): Promise<{
  readonly server: ServerProcess
  readonly authorizations: Authorizations | undefined
}> {
  const server = await startServer(settings)
  if (settings.environment?.IAM !== identityOn.IAM) return { server, authorizations: undefined }
  try {
    return { server, authorizations: await authorizationsAt(settings.port) }
  } catch (error) {
    await server.kill()
    throw error
  }
}

/** Node arguments that load one of our modules before the server's program; `program`: its path below `bench`. */
export function loadedBefore(program: string): readonly string[] {
  return ['--import', pathToFileURL(join(projectRoot, `dist/bench/${program}.js`)).href]
}

/** This server, in which a module of `loadedBefore` answers the messages of `ask`. */
export interface OwnServer extends RunningServer {
  ask: ServerProcess['ask']
}

/** Starts this server on a new data folder, which is deleted with the server. `before`: see `loadedBefore`. `more`: further Node arguments. */
export function ownServer(
  environment: Readonly<Record<string, string>> = {},
  before?: string,
  more: readonly string[] = [],
): () => Promise<OwnServer> {
  return async () => {
    const folder = temporaryFolder('bench-')
    try {
      const port = await freePort()
      const nodeArguments = before === undefined ? more : [...more, ...loadedBefore(before)]
      const settings = { port, dataFolder: folder.path, environment, nodeArguments, isKilledAtExit: true }
      const { server, authorizations } = await startAuthenticated(settings)
      return {
        port,
        processId: server.processId,
        authorizations,
        ask: (question) => server.ask(question),
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

export interface ProbedServer extends RunningServer {
  memory(): Promise<MemoryUse>
  /** Moves only `performance.now()`, so that the next periodic check finds that minutes have passed. */
  pass(ms: number): Promise<void>
}

export async function startProbed(): Promise<ProbedServer> {
  const server = await ownServer({}, 'harness/memory-probe', ['--expose-gc'])()
  const ask = <Answer>(question: ProbeMessage) => server.ask<Answer>(question)
  return { ...server, memory: () => ask({ type: 'memory' }), pass: (ms) => ask({ type: 'pass', ms }) }
}

/**
 * Tokens last for the whole proof, failed logins are not slowed down, mails are not collected in digests, and no disk
 * space is reserved.
 */
export const patientSettings = {
  ...identityOn,
  TOKEN_LIFETIME_S: '86400',
  ACCESS_TOKEN_LIFETIME_S: '86400',
  RATE_LIMITS: 'off',
  MAILS_PER_HOUR_MAX: '100000',
  STORAGE_HEADROOM_MB: '0',
} as const

export interface ServerPlace {
  readonly port: number
  readonly dataFolder: string
}

/** A server for the workloads. `own`: settings of the proof. */
export function proofServer(place: ServerPlace, own: Partial<ServerSettings> = {}): ServerSettings {
  const { environment, nodeArguments = [], ...others } = own
  return {
    ...place,
    environment: { ...patientSettings, ...environment },
    nodeArguments: [...loadedBefore('harness/cheap-passwords'), ...nodeArguments],
    ...others,
  }
}
