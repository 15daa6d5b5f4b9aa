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

export const operations = [
  ...['invite', 'redeem a code', 'make a code', 'use a dead code', 'delete', 'disable', 'enable', 'sign in disabled'],
  ...['sign in (Basic)', 'sign in (DPoP)', 'renew', 'replay', 'end a session', 'end all sessions', 'change a password'],
] as const

/** A change of an account. */
export interface Plan {
  readonly operation: (typeof operations)[number]
  /** How often it is chosen, compared with others. */
  readonly weight: number
  readonly asked: () => Request
  /** The expected account if the change is done, without data from the answer; undefined: it is deleted. */
  readonly after: Account | undefined
  /** The same with data from the answer. */
  readonly learn?: (answer: HttpAnswer) => Account
  /** A repeat gives the same answer. */
  readonly isRepeatable?: boolean
  /** It is answered 401. */
  readonly isRefused?: boolean
  /** The session that it renews. */
  readonly renewed?: Session
}

const sessionsMax = 4

/** A change has this number, which occurs in the data of no other. */
export interface NumberedAccount {
  readonly name: string
  readonly number: number
  readonly requests: AccountRequests
}

export function invitation({ name, number }: NumberedAccount, { dead }: Account): Plan {
  const email = `${name}.${number}@proof.example`
  const after: Account = { ...emptyAccount, email, dead }
  const body = { name, email, roles: ['viewer'] }
  return {
    ...{ operation: 'invite', weight: 1, asked: () => ({ method: 'POST', path: '/iam/users', body }), after },
    learn: (answer) => ({ ...after, code: codeIn(answer) }),
  }
}

/** The changes that are possible in this state. */
export function plansOf(
  { name, number, requests }: NumberedAccount,
  account: Account,
  random: SeededRandom,
): readonly Plan[] {
  const path = `/iam/users/${name}`
  const email = `${name}.${number}@proof.example`
  const chosen = `password ${number}`
  const { state, code, dead, sessions } = account
  const password = String(account.password)
  const over = ended(account)
  const deadCodes = { ...dead, codes: newestOf(code, dead.codes) }
  const any = random.pick(sessions)
  const live = random.pick(sessions.filter(({ refreshToken }) => refreshToken !== ''))
  const replayed = live?.used[live.isBound ? 1 : 0]
  const isBound = random.below(2) === 0
  const { code: _, ...uncoded } = account
  const [deadCode] = dead.codes
  const plans: (Plan | false | undefined)[] = [
    deadCode !== undefined && {
      ...{ operation: 'use a dead code', weight: 1, asked: () => requests.redeem(deadCode, 'another password') },
      ...{ after: account, isRefused: true },
    },
    (state !== 'active' || code === undefined) && {
      ...{ operation: 'delete', weight: 1, asked: () => ({ method: 'DELETE', path }), after: undefined },
      isRepeatable: true,
    },
    (state === 'invited' || (state === 'active' && code === undefined)) && {
      ...{ operation: 'make a code', weight: 1, asked: () => ({ method: 'POST', path: `${path}/code` }) },
      // Without an answer it is unknown which code is valid.
      after: uncoded,
      learn: (answer) => ({ ...uncoded, dead: deadCodes, code: codeIn(answer) }),
    },
    // Sets a password, which ends all sessions.
    state !== 'disabled' &&
      code !== undefined && {
        ...{ operation: 'redeem a code', weight: 4, asked: () => requests.redeem(code, chosen) },
        after: {
          ...{ ...emptyAccount, state: 'active', email: account.email, password: chosen },
          dead: { ...over.dead, codes: deadCodes.codes, passwords: newestOf(account.password, dead.passwords) },
        },
      },
  ]
  // Disabling revokes all credentials; enabling does not restore them.
  const edited = (to: 'active' | 'disabled', before: Account, weight: number): Plan => {
    const { code: _, ...rest } = before
    return {
      ...{ operation: to === 'disabled' ? 'disable' : 'enable', weight, isRepeatable: true },
      asked: () => ({ method: 'PATCH', path, body: { state: to, email } }),
      after: { ...rest, state: to, email, dead: { ...before.dead, codes: deadCodes.codes } },
    }
  }
  if (state === 'disabled')
    plans.push(edited('active', account, 3), {
      ...{ operation: 'sign in disabled', weight: 1, asked: () => requests.signIn(password, false) },
      ...{ after: account, isRefused: true },
    })
  if (state === 'active') plans.push(random.below(2) === 0 && edited('disabled', over, 1), ...ofSessions())
  return plans.filter((plan) => plan !== false && plan !== undefined)

  function ofSessions(): (Plan | false | undefined)[] {
    const withSession = (session: Session) => ({ ...account, sessions: [...sessions, session] })
    const others = live && ended(account, (each) => each !== live)
    const renewal = (after: Session) => ({
      ...account,
      sessions: sessions.map((each) => (each === live ? after : each)),
    })
    const ways: readonly ((session: Session) => Request)[] = [
      ({ id }) => ({ method: 'DELETE', path: `${path}/sessions/${id}` }),
      (session) => requests.as(session, 'DELETE', `/auth/sessions/${session.id}`),
      (session) => requests.as(session, 'POST', '/auth/logout'),
      ({ refreshToken }) => requests.proven('POST', '/auth/logout', { refreshToken }),
    ]
    const way = any?.token === '' ? 0 : random.below(any?.isBound ? 4 : 3)
    const isOwn = live !== undefined && random.below(2) === 0
    return [
      sessions.length < sessionsMax && {
        ...{ operation: isBound ? 'sign in (DPoP)' : 'sign in (Basic)', weight: 6 },
        ...{ asked: () => requests.signIn(password, isBound), after: withSession(lostSession) },
        learn: (answer) => withSession(sessionOf(answer)),
      },
      any && {
        ...{ operation: 'end a session', weight: 2, asked: () => (ways[way] as (typeof ways)[number])(any) },
        ...{ after: ended(account, (each) => each === any), isRepeatable: way === 0 },
      },
      any && {
        ...{ operation: 'end all sessions', weight: 1, after: over, isRepeatable: !isOwn },
        asked: () =>
          isOwn ? requests.as(live, 'POST', '/auth/logout?all=true') : { method: 'DELETE', path: `${path}/sessions` },
      },
      live && {
        ...{ operation: 'renew', weight: 4, asked: () => requests.renewal(live.isBound, live.refreshToken) },
        ...{ after: renewal({ ...live, token: '', refreshToken: '', used: [] }), renewed: live },
        learn: (answer) => renewal(sessionOf(answer, live)),
      },
      // Using an old refresh token again ends its session.
      live &&
        replayed !== undefined && {
          ...{ operation: 'replay', weight: 1, asked: () => requests.renewal(live.isBound, replayed) },
          ...{ after: ended(account, (each) => each === live), isRefused: true },
        },
      others &&
        code === undefined && {
          ...{ operation: 'change a password', weight: 2 },
          asked: () => requests.as(live, 'PUT', '/auth/password', { current: password, password: chosen }),
          after: {
            ...{ ...others, password: chosen },
            dead: { ...others.dead, passwords: newestOf(password, others.dead.passwords) },
          },
        },
    ]
  }
}
