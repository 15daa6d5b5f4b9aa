import type { Authorizations } from '#bench/harness/identity'
import { Remote } from '#bench/harness/remote'
import type { RunningServer, StartServer } from '#bench/harness/servers'

/** What a load needs to know of the server it is put on. */
export interface LoadedServer {
  readonly port: number
  readonly serverProcessId: number
  /** What to say who one is by; with identity off nothing. */
  readonly authorizations?: Authorizations | undefined
}

/** What a load is asked: each of its phases is run, and answered with what was measured. */
export type RunPhase = <Result>(phase: object) => Promise<Result>

/** Starts a server and a load on it, each in a process of its own; when `measure` is done, neither is left. */
export async function underLoad<Measured>(
  start: StartServer,
  program: string,
  spec: object,
  measure: (run: RunPhase, load: Remote, place: LoadedServer) => Promise<Measured>,
): Promise<Measured> {
  const server = await start()
  const load = new Remote(program)
  try {
    const place = placeOf(server)
    await load.ask('open', { ...spec, ...place })
    return await measure((phase) => load.ask('run', phase), load, place)
  } finally {
    await load.stop()
    await server.stop()
  }
}

export function placeOf({ port, processId, authorizations }: RunningServer): LoadedServer {
  return { port, serverProcessId: processId, authorizations }
}
