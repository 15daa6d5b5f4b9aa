import { accountActor } from '#actors/account/account'
import type { AccessCode, AccountCommand, AccountState, StoredCredential } from '#actors/account/state'
import type { BegunSession } from '#actors/session/state'
import type { Entry } from '#model/entry'
import type { Decision } from '#runtime/actor'
import { ActingActor, now } from '#test/actors/acting-actor'

export const codeLifetimeMs = 7 * 86_400_000

/** A hash for tests: 32 equal bytes. */
export function hash(byte: number): Uint8Array {
  return new Uint8Array(32).fill(byte)
}

export function code(byte: number, more: Partial<AccessCode> = {}): AccessCode {
  return { hash: hash(byte), expiresAt: now + codeLifetimeMs, resetsFactors: false, ...more }
}

export function begunSession(id: string): BegunSession {
  return { id, scheme: 'basic', hasRefresh: false, endsAt: now + 3_600_000, address: '10.0.0.1', agent: 'a' }
}

export function credential(id: string, more: Partial<StoredCredential> = {}): StoredCredential {
  const key = { publicKey: new Uint8Array(77).fill(9), counter: 0, transports: ['usb'] }
  return { id, ...key, name: `key ${id}`, createdAt: now, lastUsedAt: null, ...more }
}

/** The account of user U1 in tenant t. */
export class ActingAccount extends ActingActor<AccountState, AccountCommand> {
  constructor() {
    super(accountActor, { tenant: 't', id: 'U1' })
  }

  /** A user who signed up with the password hash `hash 1`. */
  static signedUp(): ActingAccount {
    const acting = new ActingAccount()
    acting.record({ type: 'invite', code: code(1) })
    acting.record({ type: 'redeem_code', codeHash: hash(1), passwordHash: 'hash 1' })
    return acting
  }

  get version(): number {
    return this.state.credentials?.version ?? -1
  }

  get sessionIds(): string[] {
    return this.state.sessions.map(([id]) => id)
  }

  redeem(byte: number, passwordHash = 'hash new'): Decision<Entry> {
    return this.act({ type: 'redeem_code', codeHash: hash(byte), passwordHash })
  }

  begin(id: string, version = this.version): Decision<Entry> {
    return this.act({ type: 'begin_session', session: begunSession(id), version })
  }

  setTotp(more: { keep?: string; version?: number; step?: number; recovery?: Uint8Array[] } = {}): Decision<Entry> {
    const { keep, version = this.version, step = 100, recovery = [hash(201), hash(202)] } = more
    return this.act({ type: 'set_totp', version, secret: new Uint8Array(60).fill(5), step, recovery, keep })
  }

  addWebauthn(id: string, more: Partial<StoredCredential> = {}, recovery?: readonly Uint8Array[]): Decision<Entry> {
    const { version } = this
    return this.act({ type: 'add_webauthn', version, credential: credential(id, more), recovery, keep: undefined })
  }
}
