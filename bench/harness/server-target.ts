import type { Authorizations } from '#bench/harness/identity'
import type { RunningServer } from '#bench/harness/servers'

export interface ServerTarget {
  readonly port: number
  readonly serverProcessId: number
  readonly authorizations?: Authorizations | undefined
}

export function placeOf({ port, processId, authorizations }: RunningServer): ServerTarget {
  return { port, serverProcessId: processId, authorizations }
}
