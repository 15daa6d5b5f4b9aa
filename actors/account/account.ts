import type { AccountCommand } from '#actors/account/commands'
import {
  decideDisable,
  decideEnable,
  decideErase,
  decideInvite,
  decideOpen,
  decideRedeem,
  decideRenewHash,
  decideSetPassword,
} from '#actors/account/credentials'
import {
  decideFailed,
  decideRemoveTotp,
  decideSetTotp,
  decideUseRecovery,
  decideUseTotp,
} from '#actors/account/factors'
import { decideBegin, decideEnd, decideOver } from '#actors/account/sessions'
import {
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
import { decideAddWebauthn, decideRemoveWebauthn, decideUseWebauthn } from '#actors/account/webauthn'
import { rejectEntry, restoreState } from '#actors/record-only'
import type { Entry } from '#model/entry'
import type { ActorDefinition, RecordChange, RecordFormat } from '#runtime/actor'

const format = (name: string): RecordFormat => ({ name: `${name} of an account`, version: 1, upgrades: {} })

/**
 * The private part of a user: credentials, second factors and the list of sessions. Holds only hashes and sealed bytes.
 * The public part (name, e-mail address, roles) belongs to the directory, which this actor notifies of changes that
 * others can see.
 */
export const accountActor: ActorDefinition<AccountState, AccountCommand, Entry> = {
  kind: 'account',
  persistence: 'write_through',
  formats: {
    [credentialsRecord]: format('credentials'),
    [factorsRecord]: format('factors'),
    [sessionsRecord]: format('sessions'),
  },
  fixedRecords: [credentialsRecord, factorsRecord, sessionsRecord],
  wake({ tenant, id }, records) {
    const absent: AccountState = {
      tenant,
      user: id,
      credentials: undefined,
      factors: noFactors,
      sessions: noSessions,
    }
    return restoreState(absent, records, put)
  },
  change: (state, change) => put(state, change as RecordChange),
  apply: rejectEntry,
  decide(state, command, turn) {
    switch (command.type) {
      case 'invite':
        return decideInvite(state, command)
      case 'open':
        return decideOpen(state, command)
      case 'redeem_code':
        return decideRedeem(state, command, turn)
      case 'set_password':
        return decideSetPassword(state, command)
      case 'renew_hash':
        return decideRenewHash(state, command)
      case 'begin_session':
        return decideBegin(state, command, turn)
      case 'end_sessions':
        return decideEnd(state, command)
      case 'session_over':
        return decideOver(state, command)
      case 'set_totp':
        return decideSetTotp(state, command)
      case 'remove_totp':
        return decideRemoveTotp(state, command)
      case 'use_totp':
        return decideUseTotp(state, command, turn)
      case 'use_recovery':
        return decideUseRecovery(state, command, turn)
      case 'add_webauthn':
        return decideAddWebauthn(state, command)
      case 'remove_webauthn':
        return decideRemoveWebauthn(state, command)
      case 'use_webauthn':
        return decideUseWebauthn(state, command, turn)
      case 'factor_failed':
        return decideFailed(state, turn)
      case 'disable':
        return decideDisable(state)
      case 'enable':
        return decideEnable(state)
      case 'erase':
        return decideErase(state)
    }
  },
}

function put(state: AccountState, { name, value }: RecordChange): void {
  if (name === credentialsRecord) state.credentials = (value as Credentials | null) ?? undefined
  else if (name === factorsRecord) state.factors = (value as Factors | null) ?? noFactors
  else state.sessions = (value as readonly AccountSession[] | null) ?? noSessions
}
