import type { Authorizations } from '#bench/harness/identity'
import type { RunningServer } from '#bench/harness/servers'

/** The server for a load. */
export interface LoadedServer {
  readonly port: number
  readonly serverProcessId: number
  /** Absent where IAM is off. */
  readonly authorizations?: Authorizations | undefined
}

export function placeOf({ port, processId, authorizations }: RunningServer): LoadedServer {
  return { port, serverProcessId: processId, authorizations }
}
