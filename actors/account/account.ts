import {
  decideBegin,
  decideDisable,
  decideEnable,
  decideEndSessions,
  decideEraseAccount,
  decideInvite,
  decideOpenAccount,
  decideRedeem,
  decideRenewHash,
  decideSessionOver,
  decideSetPassword,
} from '#actors/account/credentials'
import {
  decideAddWebauthn,
  decideFactorFailed,
  decideRemoveTotp,
  decideRemoveWebauthn,
  decideSetTotp,
  decideUseRecovery,
  decideUseTotp,
  decideUseWebauthn,
} from '#actors/account/factors'
import {
  type AccountCommand,
  type AccountSession,
  type AccountState,
  type Credentials,
  credentialsRecord,
  type Factors,
  factorsRecord,
  noFactors,
  noSessions,
  sessionsRecord,
} from '#actors/account/state'
import { recordActor } from '#actors/record-actor'
import type { Entry } from '#model/entry'
import type { ActorDefinition, RecordChange } from '#runtime/actor'

/**
 * The private part of a user: credentials, second factors and the list of sessions. Passwords and codes are stored as
 * hashes, TOTP secrets are sealed. The public part (name, e-mail address, roles) belongs to the directory, which this
 * actor notifies of changes that others can see.
 */
export const accountActor: ActorDefinition<AccountState, AccountCommand, Entry> = recordActor({
  kind: 'account',
  records: {
    [credentialsRecord]: 'credentials of an account',
    [factorsRecord]: 'factors of an account',
    [sessionsRecord]: 'sessions of an account',
  },
  empty: ({ tenant, id }) => ({ tenant, user: id, credentials: undefined, factors: noFactors, sessions: noSessions }),
  put,
  decisions: {
    invite: decideInvite,
    open: decideOpenAccount,
    redeem_code: decideRedeem,
    set_password: decideSetPassword,
    renew_hash: decideRenewHash,
    begin_session: decideBegin,
    end_sessions: decideEndSessions,
    session_over: decideSessionOver,
    set_totp: decideSetTotp,
    remove_totp: decideRemoveTotp,
    use_totp: decideUseTotp,
    use_recovery: decideUseRecovery,
    add_webauthn: decideAddWebauthn,
    remove_webauthn: decideRemoveWebauthn,
    use_webauthn: decideUseWebauthn,
    factor_failed: (state, _, turn) => decideFactorFailed(state, turn),
    disable: decideDisable,
    enable: decideEnable,
    erase: decideEraseAccount,
  },
})

function put(state: AccountState, { name, value }: RecordChange): void {
  if (name === credentialsRecord) state.credentials = (value as Credentials | null) ?? undefined
  else if (name === factorsRecord) state.factors = (value as Factors | null) ?? noFactors
  else state.sessions = (value as readonly AccountSession[] | null) ?? noSessions
}
