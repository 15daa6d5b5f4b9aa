import { accountAddress } from '#actors/account/address'
import type { AccountCommand } from '#actors/account/commands'
import type { AccountState } from '#actors/account/state'
import { directoryAddress } from '#actors/directory/address'
import type { DirectoryCommand } from '#actors/directory/commands'
import type { DirectoryState } from '#actors/directory/state'
import { sessionAddress } from '#actors/session/address'
import type { SessionCommand } from '#actors/session/commands'
import type { SessionState, StoredSession } from '#actors/session/state'
import { signingKeysAddress } from '#actors/signing-keys/address'
import type { SigningKeysCommand } from '#actors/signing-keys/commands'
import type { SigningKeysState } from '#actors/signing-keys/state'
import { tenantAddress } from '#actors/tenant/address'
import type { TenantCommand } from '#actors/tenant/commands'
import type { TenantState } from '#actors/tenant/state'
import type { Entry } from '#model/entry'
import { Problem } from '#model/problem'
import type { Activation } from '#runtime/activation'
import type { ActorAddress, Question } from '#runtime/actor'
import type { System } from '#runtime/system'

/**
 * The actors of identity, by their own types. A state is read as it is in memory, perhaps not stored yet: decide by it
 * within `askAtOnce`, whose answer waits until it is stored. A tenant's actor, once woken, stays: callers must know that
 * the tenant exists.
 *
 * @throws Problem `storage` wherever the store is being read.
 */
export class ActorStates {
  readonly #system: System<Entry>

  constructor(system: System<Entry>) {
    this.#system = system
  }

  get directory(): DirectoryState {
    return this.#wake(directoryAddress).state as DirectoryState
  }

  get signingKeys(): SigningKeysState {
    return this.#wake(signingKeysAddress).state as SigningKeysState
  }

  tenant(tenant: string): TenantState {
    return this.#wake(tenantAddress(tenant)).state as TenantState
  }

  account(tenant: string, user: string): AccountState {
    return this.#system.look(accountAddress(tenant, user)) as AccountState
  }

  session(tenant: string, session: string): StoredSession | undefined {
    return (this.#system.look(sessionAddress(tenant, session)) as SessionState).session
  }

  /** Kept awake for as long as it is used. */
  sessionActivation(tenant: string, session: string): Activation<Entry> {
    const activation = this.#wake(sessionAddress(tenant, session))
    activation.touchedAtMs = this.#system.world.monotonic()
    return activation
  }

  /** `bytes` 0: what may not be refused because too much waits, for it follows from what was accepted. */
  askDirectory(command: DirectoryCommand, bytes?: number): Promise<unknown> {
    return this.#system.ask(directoryAddress, command, bytes)
  }

  askTenant(tenant: string, command: TenantCommand, bytes?: number): Promise<unknown> {
    return this.#system.ask(tenantAddress(tenant), command, bytes)
  }

  askAccount(tenant: string, user: string, command: AccountCommand): Promise<unknown> {
    return this.#system.ask(accountAddress(tenant, user), command)
  }

  askSession(tenant: string, session: string, command: SessionCommand): Promise<unknown> {
    return this.#system.ask(sessionAddress(tenant, session), command)
  }

  askAtOnce(prepare: () => Question): Promise<unknown> {
    return this.#system.askAtOnce(prepare)
  }

  askSigningKeys(command: SigningKeysCommand): Promise<unknown> {
    return this.#system.ask(signingKeysAddress, command)
  }

  #wake(address: ActorAddress): Activation<Entry> {
    if (!this.#system.isServing) throw new Problem('storage')
    return this.#system.registry.wake(address)
  }
}
