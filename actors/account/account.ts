import { credentialDecisions } from '#actors/account/credentials'
import { factorDecisions } from '#actors/account/factors'
import {
  type AccountCommands,
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
import type { RecordChange } from '#runtime/actor'

/**
 * The private part of a user: credentials, second factors and the list of sessions. Passwords and codes are stored as
 * hashes, TOTP secrets are sealed. The public part (name, e-mail address, roles) belongs to the directory, which this
 * actor notifies of changes that others can see.
 */
export const accountActor = recordActor<AccountState, AccountCommands>({
  kind: 'account',
  records: {
    [credentialsRecord]: 'credentials of an account',
    [factorsRecord]: 'factors of an account',
    [sessionsRecord]: 'sessions of an account',
  },
  empty: ({ tenant, id }) => ({ tenant, user: id, credentials: undefined, factors: noFactors, sessions: noSessions }),
  put,
  decisions: { ...credentialDecisions, ...factorDecisions },
})

function put(state: AccountState, { name, value }: RecordChange): void {
  if (name === credentialsRecord) state.credentials = (value as Credentials | null) ?? undefined
  else if (name === factorsRecord) state.factors = (value as Factors | null) ?? noFactors
  else state.sessions = (value as readonly AccountSession[] | null) ?? noSessions
}
