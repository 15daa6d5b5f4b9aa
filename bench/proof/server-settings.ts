import { identityOn } from '#bench/harness/identity'
import { loadedBefore } from '#bench/harness/servers'
import type { ServerSettings } from '#bench/server-process'

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
