import type { PasswordEngine } from '#access/passwords'
import type { Hub } from '#events/hub'
import type { Entry } from '#model/entry'
import type { Log } from '#runtime/log'
import type { Listing } from '#runtime/storage'
import type { System } from '#runtime/system'
import type { World } from '#runtime/world'

/** All in milliseconds. */
export interface Lifetimes {
  /** Access tokens of the Basic scheme. */
  readonly tokenMs: number
  /** Access tokens of the DPoP scheme. */
  readonly accessMs: number
  readonly refreshMs: number
}

export interface Administrator {
  readonly name: string
  readonly password: string
}

/** Contract 2, First administrator. */
export interface FirstAdministrator {
  /** Absent: an administrator is generated if there is no account. */
  readonly configured?: Administrator
  /** Called if an account with the configured name exists already. That account keeps its password. */
  exists?(name: string): void
  /** Called once a generated administrator is stored. Only a hash of its password is stored, so show it now. */
  generated?(administrator: Administrator): void
}

/** The settings of authentication and access. */
export interface IdentitySettings {
  /**
   * The content of the key file. Called when the store is open. `isNeeded`: the store holds data that depends on an
   * existing key, so no new key may be made.
   */
  readonly fileKey: (isNeeded: boolean) => Promise<Uint8Array>
  readonly engine: PasswordEngine
  readonly lifetimes: Lifetimes
  readonly publicUrls: readonly string[]
  readonly corsOrigins: readonly string[]
  readonly areRateLimitsOn: boolean
  readonly firstAdministrator?: FirstAdministrator
  /**
   * A client that sends this token has all rights while this process runs. A local start of the server creates the
   * token. With it, no administrator is created.
   */
  readonly operatorToken?: string
  /** The port of the server, once it listens. */
  readonly port: () => number
}

/** Device connections that have to be closed when their credentials end. */
export interface CredentialLinks {
  /** Closes all connections that were opened with this provisioning key. */
  keyEnded(tenant: string, key: string): void
  tenantEnded(tenant: string): void
  /** Called after the store was read again: credentials of open connections may no longer exist. */
  recheckCredentials(): void
}

/** Rules that depend on the rights of their authors, whether the authors are signed in or not. */
export interface AuthoredRules {
  /** Called when rights of users in the tenant changed. */
  accessChanged(tenant: string): void
  tenantEnded(tenant: string): void
}

/** Removes the data of a deleted tenant. It may be started again after an interruption. */
interface Sweep {
  run(tenant: string): Promise<void>
  stop(): void
}

export interface IdentityOptions {
  readonly settings: IdentitySettings
  readonly world: World
  readonly system: System<Entry>
  readonly hub: Hub
  readonly links: CredentialLinks
  readonly rules: AuthoredRules
  readonly listing: Listing
  readonly sweep: Sweep
  readonly log: Pick<Log, 'error' | 'warn'>
}
