import type { PasswordEngine } from '#access/password-hashing'
import type { Hub } from '#events/hub'
import type { Entry } from '#model/entry'
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

/** What is set about identity. */
export interface IdentitySettings {
  /**
   * The key beside the database. Asked for once, when the store is open. `isNeeded`: the store holds what was made with
   * one, and none may be made in its place.
   */
  readonly fileKey: (isNeeded: boolean) => Promise<Uint8Array>
  readonly engine: PasswordEngine
  readonly lifetimes: Lifetimes
  readonly publicUrls: readonly string[]
  readonly corsOrigins: readonly string[]
  readonly areRateLimitsOn: boolean
  /** The first administrator, where one was asked for. Contract 2. */
  readonly administrator?: { readonly name: string; readonly password: string }
  /** Whoever shows it may do everything, for as long as this process lives. Made by whoever starts it for himself alone. */
  readonly operatorToken?: string
  /** Where the server listens, once it does. */
  readonly port: () => number
}

/** Device links, as far as they hang on credentials. */
export interface CredentialLinks {
  /** Closes all that were opened by this provisioning key. */
  keyEnded(tenant: string, key: string): void
  tenantEnded(tenant: string): void
  /** The store was read again: by what links were let in may be no more. */
  reauthenticate(): void
}

/** What is judged by what people may do, whether they are there or not. */
export interface AuthoredRules {
  /** Somebody of the tenant may do more or less than before. */
  accessChanged(tenant: string): void
  tenantEnded(tenant: string): void
}

/** Takes away what a deleted tenant left; begun again when it was broken off. */
export interface Sweep {
  run(tenant: string): Promise<void>
  stop(): void
}

interface IdentityLog {
  error(fields: object, message: string): void
  warn(fields: object, message: string): void
  info(fields: object, message: string): void
}

export interface IdentityOptions extends IdentitySettings {
  readonly world: World
  readonly system: System<Entry>
  readonly hub: Hub
  readonly links: CredentialLinks
  readonly rules: AuthoredRules
  readonly sweep: Sweep
  readonly log: IdentityLog
}
