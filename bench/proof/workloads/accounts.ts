import { basic } from '#bench/harness/identity'
import type { HttpAnswer } from '#bench/http'
import { DpopKey } from '#bench/load/login-requests'
import {
  type Change,
  madeIdOf,
  type Observed,
  observeEach,
  type SlotEntry,
  slotsOf,
  type Workload,
} from '#bench/proof/workloads/expected-state'
import type { ProofApi, RequestOptions } from '#bench/proof/workloads/proof-api'
import type { SeededRandom } from '#bench/random'

interface Credentials {
  readonly password?: string
  /** Valid once, to set a password. */
  readonly code?: string
  readonly session?: Session
}

/** An account with at most one session. Credentials that an unanswered change may have replaced are left out. */
interface Account extends Credentials {
  readonly state: 'invited' | 'active'
  /** The latest invalid credentials. */
  readonly dead: Credentials
}

/** A session. It has no tokens if the answer with them was lost. */
interface Session {
  /** Empty: not known yet. */
  readonly id: string
  /** Bound to the key of the account (DPoP); false: of the Basic scheme. */
  readonly isBound: boolean
  readonly token: string
  /** Valid once. */
  readonly refreshToken: string
  /**
   * A refresh token that must be refused. With DPoP this is the token used before the last one, because a repeat of the
   * last one gets the same answer for some seconds.
   */
  readonly used?: string
  /** The refresh token before `refreshToken`. */
  readonly previous?: string
}

const lostSession: Session = { id: '', isBound: false, token: '', refreshToken: '' }

const operations = [
  ...['invite', 'redeem a code', 'make a code', 'use a dead code', 'delete', 'change a password'],
  ...['sign in (Basic)', 'sign in (DPoP)', 'renew', 'replay', 'end a session'],
] as const

interface Request extends RequestOptions {
  readonly method: string
  readonly path: string
}

/** A possible change of an account. */
interface Step {
  readonly operation: (typeof operations)[number]
  readonly request: () => Request
  /** The account after the change, without data from the answer; undefined: the account is deleted. */
  readonly after: Omit<Account, 'dead'> | undefined
  /** The fields of the account that the answer contains. */
  readonly learn?: (answer: HttpAnswer) => Partial<Account>
  readonly isRepeatable?: boolean
  /** The server must answer 401. */
  readonly isRefused?: boolean
}

/** The server for which DPoP proofs are made, and its latest nonce. */
interface ProofTarget {
  url: string
  nonce: string
}

/**
 * Invitations, passwords, codes and sessions of both schemes. After each kill every valid credential must work, and
 * each credential that was used up, replaced or ended must be refused, also where the last answer was lost.
 */
export function accountsWorkload(count = 8): Workload {
  const target: ProofTarget = { url: '', nonce: '' }
  const people = new Map(slotsOf('account', count).map((slot) => [slot, new Person(slot, target)]))
  const personOf = (slot: string) => people.get(slot) as Person
  const begin = async (api: ProofApi) => {
    target.url = api.url
    adoptNonce(target, await api.ask('POST', '/auth/login', { headers: unauthenticated, body: {} }))
  }
  return {
    name: 'accounts',
    slots: [...people.keys()],
    operations: operations.map((operation) => `accounts: ${operation}`),
    // Short, so that each life of the server has some changes.
    pauseMs: 40,
    begin,
    nextChange: (slot, before, number, random) => personOf(slot).next(before, number, random),
    async observe(api, entries) {
      await begin(api)
      return observeEach(entries, (slot, entry) => personOf(slot).observe(api, entry))
    },
  }
}

class Person {
  readonly #name: string
  readonly #path: string
  readonly #key = new DpopKey()
  readonly #target: ProofTarget
  /** The account for each content of the slot. */
  readonly #accounts = new Map<string, Account>()
  /** Credentials of the account that was deleted last. */
  #dead: Credentials = {}
  /** A refresh token or a code must be used to show that it is valid. So that is the first change after each check. */
  #isUntested = false
  /** Sessions that the checks began. A copy of the disk may contain one of them. */
  readonly #checkSessions = new Set<string>()

  constructor(name: string, target: ProofTarget) {
    this.#name = name
    this.#target = target
    this.#path = `/iam/users/${name}`
  }

  next(before: Observed | undefined, number: number, random: SeededRandom): Change {
    const account = before && this.#accounts.get(before.content)
    const steps = account ? this.#stepsOf(account, number, random) : [this.#invitation(number)]
    const stepOf = (operation: Step['operation']) => steps.find((step) => step.operation === operation)
    const untested = this.#isUntested ? (stepOf('renew') ?? stepOf('redeem a code')) : undefined
    const { operation, request, after, learn, isRepeatable, isRefused } = untested ?? (random.pick(steps) as Step)
    this.#isUntested = false
    const dead = account ? { ...account.dead, ...endedBy(account, after) } : this.#dead
    if (!after) this.#dead = dead
    const content = after && `${this.#name} ${number}`
    if (content !== undefined) this.#accounts.set(content, { ...(after as Account), dead })
    const onAnswer = (answer: HttpAnswer) => {
      adoptNonce(this.#target, answer)
      if (content !== undefined && learn) this.#accounts.set(content, { ...(after as Account), dead, ...learn(answer) })
      return content
    }
    return {
      ...{ ...request(), operation: `accounts: ${operation}`, content, onAnswer, isSentOnce: !isRepeatable },
      ...(isRefused && { expectedStatus: 401 }),
    }
  }

  #invitation(number: number): Step {
    const body = { name: this.#name, email: `${this.#name}.${number}@proof.example`, roles: ['viewer'] }
    const request = () => ({ method: 'POST', path: '/iam/users', body })
    return { operation: 'invite', request, after: { state: 'invited' }, learn: codeIn }
  }

  #stepsOf(account: Account, number: number, random: SeededRandom): readonly Step[] {
    const { state, code, session, dead } = account
    const chosen = `password ${number}`
    const password = String(account.password)
    const { code: _, ...uncoded } = account
    const { session: __, ...signedOut } = account
    const isBound = random.below(2) === 0
    const isEndedByAdministrator = random.below(2) === 0 || session?.token === ''
    const steps: Step[] = []
    const may = (
      operation: Step['operation'],
      request: Step['request'],
      after: Step['after'],
      more: Partial<Step> = {},
    ) => steps.push({ operation, request, after, ...more })
    // Deleting an account is rarer than all other changes.
    if (random.below(3) === 0)
      may('delete', () => ({ method: 'DELETE', path: this.#path }), undefined, { isRepeatable: true })
    if (dead.code !== undefined)
      may('use a dead code', () => this.#redeem(dead.code as string, 'another password'), account, { isRefused: true })
    // Without an answer, it cannot be seen whether the old code is dead.
    const replaced = { ...dead, ...(code !== undefined && { code }) }
    may('make a code', () => ({ method: 'POST', path: `${this.#path}/code` }), uncoded, {
      learn: (answer) => ({ ...codeIn(answer), dead: replaced }),
    })
    if (code !== undefined)
      may('redeem a code', () => this.#redeem(code, chosen), { state: 'active', password: chosen })
    if (state === 'active' && !session) {
      const signIn = () => this.#signIn(password, isBound)
      const more = { learn: (answer: HttpAnswer) => ({ session: sessionOf(answer) }) }
      may(isBound ? 'sign in (DPoP)' : 'sign in (Basic)', signIn, { ...account, session: lostSession }, more)
    }
    if (!session) return steps
    const end = () =>
      isEndedByAdministrator
        ? { method: 'DELETE', path: `${this.#path}/sessions/${session.id}` }
        : this.#as(session, 'POST', '/auth/logout')
    may('end a session', end, signedOut, { isRepeatable: isEndedByAdministrator })
    const { refreshToken, used } = session
    if (refreshToken) {
      const after = { ...account, session: { ...session, token: '', refreshToken: '' } }
      const more = { learn: (answer: HttpAnswer) => ({ session: sessionOf(answer, session) }) }
      may('renew', () => this.#renew(session, refreshToken), after, more)
      // The use of an old refresh token ends the session.
      if (used !== undefined) may('replay', () => this.#renew(session, used), signedOut, { isRefused: true })
    }
    if (session.token && code === undefined) {
      const change = () => this.#as(session, 'PUT', '/auth/password', { current: password, password: chosen })
      may('change a password', change, { ...account, password: chosen })
    }
    return steps
  }

  /** @throws when a credential is valid but should not be, or is not valid but should be */
  async observe(api: ProofApi, { observed, pending }: SlotEntry): Promise<Observed | undefined> {
    if (!observed && !pending) return undefined
    const { status, text } = await api.ask('GET', this.#path)
    if (status === 404) return undefined
    if (status !== 200) throw new Error(`${this.#path} was answered ${status} ${text.slice(0, 200)}`)
    const row = JSON.parse(text) as { readonly state: string; readonly resourceIdentifier: string }
    const id = madeIdOf(row.resourceIdentifier)
    const named = (content: string) => ({ content, ...(id !== undefined && { id }) })
    const rows = await api.must<readonly { id: string }[]>('GET', `${this.#path}/sessions`)
    const sessions = rows.map((each) => each.id).filter((each) => !this.#checkSessions.has(each))
    const contents = [pending?.change.content, observed?.content].filter((content) => content !== undefined)
    const candidates = contents.map((content) => this.#accounts.get(content) as Account)
    const password = await this.#validPassword(api, candidates, row.state)
    const isLike = (account: Account) =>
      account.state === row.state && account.password === password && areSessionsOf(account, sessions)
    const place = candidates.findIndex(isLike)
    const account = candidates[place]
    if (!account) return named(`${row.state} with "${password}" and the sessions ${sessions}`)
    const content = contents[place] as string
    // While a change is pending, only the common part of both states is certain.
    await this.#mustBeRight(api, pending ? (candidates.at(-1) as Account) : account, account)
    if (!api.isCopy) {
      this.#isUntested = true
      const session = account.session?.id === '' ? { ...account.session, id: sessions[0] as string } : account.session
      this.#accounts.set(content, session ? { ...account, session } : account)
    }
    return named(content)
  }

  /**
   * Signs in with each password that may be valid, and ends these sessions again, except in a copy. @throws when an
   * active account does not have exactly one valid password, or an invited one has any
   */
  async #validPassword(api: ProofApi, candidates: readonly Account[], state: string): Promise<string | undefined> {
    const valid: string[] = []
    const all = candidates.flatMap(({ password, dead }) => [password, dead.password])
    for (const password of new Set(all.filter((each) => each !== undefined))) {
      const headers = { authorization: basic({ name: this.#name, password }) }
      const { status, text } = await api.ask('GET', '/iam/token', { headers })
      if (status === 401) continue
      if (status !== 200) throw new Error(`a login of ${this.#name} was answered ${status} ${text.slice(0, 100)}`)
      valid.push(password)
      const session = sessionIdIn((JSON.parse(text) as { token: string }).token)
      this.#checkSessions.add(session)
      if (!api.isCopy) await api.must('DELETE', `${this.#path}/sessions/${session}`)
    }
    if (valid.length !== (state === 'active' ? 1 : 0))
      throw new Error(`${valid.length} passwords of ${this.#name} are valid, which is ${state}`)
    return valid[0]
  }

  /** `sure`: the account whose dead credentials are certainly dead. */
  async #mustBeRight(api: ProofApi, sure: Account, { session, code }: Account): Promise<void> {
    const must = async (wanted: number, what: string, { method, path, ...asking }: Request) => {
      const answer = await api.ask(method, path, asking)
      adoptNonce(this.#target, answer)
      if (answer.status !== wanted)
        throw new Error(`${this.#name}: ${what} was answered ${answer.status} ${answer.text.slice(0, 100)}`)
    }
    if (session && session.token !== '' && session.token === sure.session?.token)
      await must(200, 'the access token of the session', this.#as(session, 'GET', '/iam/me'))
    const { dead } = sure
    if (dead.session) {
      await must(401, 'an access token of an ended session', this.#as(dead.session, 'GET', '/iam/me'))
      const renewal = this.#renew(dead.session, dead.session.refreshToken)
      await must(401, 'a refresh token of an ended session', renewal)
    }
    if (dead.code !== undefined) await must(401, 'a dead code', this.#redeem(dead.code, 'no password'))
    // Uses the credentials only where they are not needed later.
    if (!api.isCopy || sure.code !== code || sure.session !== session) return
    if (session?.refreshToken)
      await must(200, 'the refresh token of the session', this.#renew(session, session.refreshToken))
    if (code !== undefined) await must(201, 'a new code', this.#redeem(code, 'another password'))
  }

  #signIn(password: string, isBound: boolean): Request {
    if (isBound) return this.#proven('POST', '/auth/login', { email: this.#name, password })
    const headers = { authorization: basic({ name: this.#name, password }) }
    return { method: 'GET', path: '/iam/token?scope=offline', headers }
  }

  #renew({ isBound }: Session, refreshToken: string): Request {
    if (isBound) return this.#proven('POST', '/auth/token', { refreshToken })
    const path = '/iam/token?grant_type=refresh_token&scope=offline'
    return { method: 'POST', path, headers: unauthenticated, body: { refreshToken } }
  }

  #redeem(code: string, password: string): Request {
    return { method: 'POST', path: '/iam/signup', headers: unauthenticated, body: { name: this.#name, code, password } }
  }

  /** A request with the tokens of a session. */
  #as({ isBound, token }: Session, method: string, path: string, body?: object): Request {
    if (isBound) return this.#proven(method, path, body, token)
    return { method, path, headers: { authorization: `Bearer ${token}` }, ...(body && { body }) }
  }

  /** A request with a proof by the key of the account. */
  #proven(method: string, path: string, body?: object, token?: string): Request {
    const { url, nonce } = this.#target
    const dpop = this.#key.proof({ method, url: `${url}/api/v1${path}`, nonce, ...(token && { token }) })
    const authorization = token === undefined ? '' : `DPoP ${token}`
    return { method, path, headers: { authorization, dpop }, ...(body && { body }) }
  }
}

const unauthenticated = { authorization: '' }

/** Answers contain the next nonce. */
function adoptNonce(target: ProofTarget, { headers }: HttpAnswer): void {
  const nonce = headers['dpop-nonce']
  if (typeof nonce === 'string') target.nonce = nonce
}

/** The credentials that this change certainly makes invalid, if it is done. */
function endedBy({ session, code, password }: Account, after: Step['after']): Credentials {
  const isReset = !after || after.password !== password
  return {
    ...(session?.token && session.id !== after?.session?.id && { session }),
    ...(isReset && code !== undefined && { code }),
    ...(isReset && password !== undefined && { password }),
  }
}

function areSessionsOf({ session }: Account, ids: readonly string[]): boolean {
  if (!session) return ids.length === 0
  return ids.length === 1 && (session.id === '' || session.id === ids[0])
}

/** The new session of an answer, or the renewed `before`. */
function sessionOf({ text }: HttpAnswer, before?: Session): Session {
  /** `token`: of the Basic scheme; `accessToken`: bound to a key. */
  const { token, accessToken, refreshToken = '' } = JSON.parse(text) as Readonly<Record<string, string | undefined>>
  const current = accessToken ?? token ?? ''
  const isBound = accessToken !== undefined
  const used = before && (isBound ? before.previous : before.refreshToken)
  return {
    ...{ id: sessionIdIn(current), isBound, token: current, refreshToken },
    ...(before && { previous: before.refreshToken }),
    ...(used !== undefined && { used }),
  }
}

/** Access tokens are JWTs that name their session. Contract 2, Tokens. */
function sessionIdIn(accessToken: string): string {
  const [, payload = ''] = accessToken.split('.')
  return (JSON.parse(Buffer.from(payload, 'base64url').toString()) as { sid: string }).sid
}

function codeIn({ text }: HttpAnswer): Credentials {
  const { code } = JSON.parse(text) as { code: string }
  return { code }
}
