import type { HttpAnswer } from '#bench/http'
import { type Account, emptyAccount, ended, newestOf } from '#bench/proof/workloads/account-check'
import {
  type AccountRequests,
  codeIn,
  lostSession,
  type Request,
  type Session,
  sessionOf,
} from '#bench/proof/workloads/account-requests'
import type { SeededRandom } from '#bench/random'

/** Changes of an account, and the expected account after each. */

export const operations = [
  ...['invite', 'redeem a code', 'make a code', 'use a dead code', 'delete', 'disable', 'enable', 'sign in disabled'],
  ...['sign in (Basic)', 'sign in (DPoP)', 'renew', 'replay', 'end a session', 'end all sessions', 'change a password'],
] as const
export type Operation = (typeof operations)[number]

export interface Author {
  readonly name: string
  /** Of the account, for the administrator. */
  readonly path: string
  readonly number: number
  readonly requests: AccountRequests
}

export interface Plan {
  readonly operation: Operation
  readonly asked: Request
  /** The expected account if the change is done, without data from the answer. */
  readonly after: Account
  /** The same with data from the answer. */
  readonly learn?: (answer: HttpAnswer) => Account
  /** A repeat gives the same answer. */
  readonly isRepeatable?: boolean
  readonly expectedStatus?: number
}

export function invite(by: Author, { dead }: Account): Plan {
  const email = `${by.name}.${by.number}@proof.example`
  const body = { name: by.name, email, roles: ['viewer'] }
  const after: Account = { ...emptyAccount, email, dead }
  const learn = (answer: HttpAnswer) => ({ ...after, code: codeIn(answer) })
  return { operation: 'invite', asked: { method: 'POST', path: '/iam/users', body }, after, learn }
}

export function makeCode(by: Author, account: Account): Plan {
  const dead = { ...account.dead, codes: newestOf(account.code, account.dead.codes) }
  const { code: _, ...after } = account
  const learn = (answer: HttpAnswer) => ({ ...after, dead, code: codeIn(answer) })
  return { operation: 'make a code', asked: { method: 'POST', path: `${by.path}/code` }, after, learn }
}

/** Sets a password with a code, which ends all sessions. */
export function redeem(by: Author, account: Account): Plan {
  const { code = '', password, email, dead } = ended(account)
  const chosen = `password ${by.number}`
  const nowDead = { ...dead, codes: newestOf(code, dead.codes), passwords: newestOf(password, dead.passwords) }
  const after: Account = { ...emptyAccount, state: 'active', email, password: chosen, dead: nowDead }
  return { operation: 'redeem a code', asked: by.requests.redeem(code, chosen), after }
}

/** Disabling revokes all credentials; enabling does not restore them. */
export function edit(by: Author, account: Account, state: 'active' | 'disabled'): Plan {
  const email = `${by.name}.${by.number}@proof.example`
  const { code, dead, ...rest } = state === 'disabled' ? ended(account) : account
  const after: Account = { ...rest, state, email, dead: { ...dead, codes: newestOf(code, dead.codes) } }
  const body = { state, email }
  const operation = state === 'disabled' ? 'disable' : 'enable'
  return { operation, asked: { method: 'PATCH', path: by.path, body }, after, isRepeatable: true }
}

export function signIn(by: Author, account: Account, isBound: boolean): Plan {
  const of = (session: Session) => ({ ...account, sessions: [...account.sessions, session] })
  const asked = by.requests.signIn(String(account.password), isBound)
  const operation = isBound ? 'sign in (DPoP)' : 'sign in (Basic)'
  return { operation, asked, after: of(lostSession), learn: (answer) => of(sessionOf(answer)) }
}

export function renew(by: Author, account: Account, session: Session): Plan {
  const of = (after: Session) => ({
    ...account,
    sessions: account.sessions.map((each) => (each === session ? after : each)),
  })
  const after = of({ ...session, token: '', refreshToken: '', used: [] })
  const learn = (answer: HttpAnswer) => of(sessionOf(answer, session))
  return { operation: 'renew', asked: by.requests.renewal(session.isBound, session.refreshToken), after, learn }
}

/** Using an old refresh token again ends its session. */
export function replay(by: Author, account: Account, session: Session, refreshToken: string): Plan {
  const after = ended(account, (each) => each === session)
  const asked = by.requests.renewal(session.isBound, refreshToken)
  return { operation: 'replay', asked, after, expectedStatus: 401 }
}

export function endSession(by: Author, account: Account, session: Session, random: SeededRandom): Plan {
  const after = ended(account, (each) => each === session)
  const choice = session.token === '' ? 0 : random.below(session.isBound ? 4 : 3)
  const asked = [
    () => ({ method: 'DELETE', path: `${by.path}/sessions/${session.id}` }),
    () => by.requests.as(session, 'DELETE', `/auth/sessions/${session.id}`),
    () => by.requests.as(session, 'POST', '/auth/logout'),
    () => by.requests.proven('POST', '/auth/logout', { refreshToken: session.refreshToken }),
  ][choice] as () => Request
  return { operation: 'end a session', asked: asked(), after, isRepeatable: choice === 0 }
}

export function endAll(by: Author, account: Account, session: Session | undefined, random: SeededRandom): Plan {
  const after = ended(account)
  if (session && random.below(2) === 0)
    return { operation: 'end all sessions', asked: by.requests.as(session, 'POST', '/auth/logout?all=true'), after }
  const asked = { method: 'DELETE', path: `${by.path}/sessions` }
  return { operation: 'end all sessions', asked, after, isRepeatable: true }
}

export function changePassword(by: Author, account: Account, session: Session): Plan {
  const current = account.password
  const password = `password ${by.number}`
  const { dead, ...rest } = ended(account, (each) => each !== session)
  const after = { ...rest, password, dead: { ...dead, passwords: newestOf(current, dead.passwords) } }
  const asked = by.requests.as(session, 'PUT', '/auth/password', { current, password })
  return { operation: 'change a password', asked, after }
}
