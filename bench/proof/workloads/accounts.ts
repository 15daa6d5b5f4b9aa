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

/** An account with at most one session. Credentials that an unanswered change may have replaced are left out. */
interface Account {
  readonly state: 'invited' | 'active'
  readonly password?: string
  /** Valid once, to set a password. */
  readonly code?: string
  readonly session?: Session
  /** The latest invalid credentials. */
  readonly dead: { readonly session?: Session; readonly code?: string; readonly password?: string }
}

const operations = [
  ...['invite', 'redeem a code', 'make a code', 'use a dead code', 'delete', 'change a password'],
  ...['sign in (Basic)', 'sign in (DPoP)', 'renew', 'replay', 'end a session'],
] as const

/** A possible change of an account. */
interface Step {
  readonly operation: (typeof operations)[number]
  readonly request: () => Request
  /** The account after the change, without data from the answer; undefined: the account is deleted. */
  readonly after: Account | undefined
  /** The account after the change, with data from the answer. */
  readonly learn?: (answer: HttpAnswer) => Account
  readonly isRepeatable?: boolean
  /** The server must answer 401. */
  readonly isRefused?: boolean
}

/**
 * Invitations, passwords, codes and sessions of both schemes. After each kill every valid credential must work, and
 * each credential that was used up, replaced or ended must be refused, also where the last answer was lost.
 */
export function accountsWorkload(count = 8): Workload {
  const people = new Map(slotsOf('account', count).map((slot) => [slot, new Person(slot)]))
  const personOf = (slot: string) => people.get(slot) as Person
  return {
    name: 'accounts',
    slots: [...people.keys()],
    operations: operations.map((operation) => `accounts: ${operation}`),
    // Short, so that each life of the server has some changes.
    pauseMs: 40,
    prepare: async (api) => void (await Promise.all([...people.values()].map((person) => person.begin(api)))),
    nextChange: (slot, before, number, random) => personOf(slot).next(before, number, random),
    observe: (api, entries) => observeEach(entries, (slot, entry) => personOf(slot).observe(api, entry)),
  }
}

class Person {
  readonly #name: string
  readonly #path: string
  readonly #requests: AccountRequests
  /** The account for each content of the slot. */
  readonly #accounts = new Map<string, Account>()
  /** Credentials of the account that was deleted last. */
  #dead: Account['dead'] = {}
  /** A refresh token or a code must be used to show that it is valid. So that is the first change after each check. */
  #isUntested = false
  /** Sessions that the checks began. A copy of the disk may contain one of them. */
  readonly #checkSessions = new Set<string>()

  constructor(name: string) {
    this.#name = name
    this.#path = `/iam/users/${name}`
    this.#requests = new AccountRequests(name)
  }

  begin(api: ProofApi): Promise<void> {
    return this.#requests.begin(api)
  }

  next(before: Observed | undefined, number: number, random: SeededRandom): Change {
    const account = before && this.#accounts.get(before.content)
    const steps = account ? this.#stepsOf(account, number, random) : [this.#invitation(number)]
    const stepOf = (operation: Step['operation']) => steps.find((step) => step.operation === operation)
    const untested = this.#isUntested ? (stepOf('renew') ?? stepOf('redeem a code')) : undefined
    const { operation, request, after, learn, isRepeatable, isRefused } = untested ?? (random.pick(steps) as Step)
    this.#isUntested = false
    if (account && !after) this.#dead = deadOf(account)
    const content = after && `${this.#name} ${number}`
    if (content !== undefined) this.#accounts.set(content, after as Account)
    const onAnswer = (answer: HttpAnswer) => {
      this.#requests.adoptNonce(answer)
      if (content !== undefined && learn) this.#accounts.set(content, learn(answer))
    }
    return {
      ...{ ...request(), operation: `accounts: ${operation}`, content, onAnswer, isSentOnce: !isRepeatable },
      ...(isRefused && { expectedStatus: 401 }),
    }
  }

  #invitation(number: number): Step {
    const after: Account = { state: 'invited', dead: this.#dead }
    const body = { name: this.#name, email: `${this.#name}.${number}@proof.example`, roles: ['viewer'] }
    return {
      ...{ operation: 'invite', request: () => ({ method: 'POST', path: '/iam/users', body }), after },
      learn: (answer) => ({ ...after, code: codeIn(answer) }),
    }
  }

  #stepsOf(account: Account, number: number, random: SeededRandom): readonly Step[] {
    const requests = this.#requests
    const { state, code, session, dead } = account
    const chosen = `password ${number}`
    const password = String(account.password)
    const { code: _, ...uncoded } = account
    const { session: __, ...signedOut } = { ...account, dead: { ...dead, ...(session?.token && { session }) } }
    const isBound = random.below(2) === 0
    const wayToEnd = random.below(2)
    const used = session?.used
    const steps: (Step | '' | false | undefined)[] = [
      {
        operation: 'delete',
        request: () => ({ method: 'DELETE', path: this.#path }),
        after: undefined,
        isRepeatable: true,
      },
      dead.code !== undefined && {
        ...{ operation: 'use a dead code', request: () => requests.redeem(dead.code as string, 'another password') },
        ...{ after: account, isRefused: true },
      },
      {
        ...{
          operation: 'make a code',
          request: () => ({ method: 'POST', path: `${this.#path}/code` }),
          after: uncoded,
        },
        learn: (answer) => ({
          ...uncoded,
          code: codeIn(answer),
          dead: { ...dead, ...(code !== undefined && { code }) },
        }),
      },
      code !== undefined && {
        ...{ operation: 'redeem a code', request: () => requests.redeem(code, chosen) },
        after: { state: 'active', password: chosen, dead: deadOf(account) },
      },
      state === 'active' &&
        !session && {
          operation: isBound ? 'sign in (DPoP)' : 'sign in (Basic)',
          request: () => requests.signIn(password, isBound),
          ...{ after: { ...account, session: lostSession } },
          learn: (answer) => ({ ...account, session: sessionOf(answer) }),
        },
      session && {
        operation: 'end a session',
        request: () =>
          wayToEnd === 0 || session.token === ''
            ? { method: 'DELETE', path: `${this.#path}/sessions/${session.id}` }
            : requests.as(session, 'POST', '/auth/logout'),
        ...{ after: signedOut, isRepeatable: wayToEnd === 0 },
      },
      session?.refreshToken && {
        ...{ operation: 'renew', request: () => requests.renewal(session.isBound, session.refreshToken) },
        after: { ...account, session: { ...session, token: '', refreshToken: '' } },
        learn: (answer) => ({ ...account, session: sessionOf(answer, session) }),
      },
      // The use of an old refresh token ends the session.
      session?.refreshToken &&
        used !== undefined && {
          ...{ operation: 'replay', request: () => requests.renewal(session.isBound, used) },
          ...{ after: signedOut, isRefused: true },
        },
      session?.token &&
        code === undefined && {
          operation: 'change a password',
          request: () => requests.as(session, 'PUT', '/auth/password', { current: password, password: chosen }),
          after: { ...account, password: chosen, dead: { ...dead, password } },
        },
    ]
    // Deleting an account is rarer than all other changes.
    return steps.filter((step) => typeof step === 'object').slice(random.below(3) === 0 ? 0 : 1)
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
    await this.#requests.begin(api)
    const after = pending?.change.content as string | undefined
    const contents = [after, observed?.content].filter((content) => content !== undefined)
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
    const requests = this.#requests
    const must = async (wanted: number, what: string, request: Request) => {
      const answer = await requests.send(request)
      requests.adoptNonce(answer)
      if (answer.status !== wanted)
        throw new Error(`${this.#name}: ${what} was answered ${answer.status} ${answer.text.slice(0, 100)}`)
    }
    if (session && session.token !== '' && session.token === sure.session?.token)
      await must(200, 'the access token of the session', requests.as(session, 'GET', '/iam/me'))
    const { dead } = sure
    if (dead.session) {
      const { isBound, refreshToken } = dead.session
      await must(401, 'an access token of an ended session', requests.as(dead.session, 'GET', '/iam/me'))
      await must(401, 'a refresh token of an ended session', requests.renewal(isBound, refreshToken))
    }
    if (dead.code !== undefined) await must(401, 'a dead code', requests.redeem(dead.code, 'no password'))
    // Uses the credentials only where they are not needed later.
    if (!api.isCopy || sure.code !== code || sure.session !== session) return
    if (session?.refreshToken)
      await must(200, 'the refresh token of the session', requests.renewal(session.isBound, session.refreshToken))
    if (code !== undefined) await must(201, 'a new code', requests.redeem(code, 'another password'))
  }
}

/** The dead credentials of an account after all its credentials have ended. */
function deadOf({ session, code, password, dead }: Account): Account['dead'] {
  return {
    ...dead,
    ...(session?.token && { session }),
    ...(code !== undefined && { code }),
    ...(password !== undefined && { password }),
  }
}

function areSessionsOf({ session }: Account, ids: readonly string[]): boolean {
  if (!session) return ids.length === 0
  return ids.length === 1 && (session.id === '' || session.id === ids[0])
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

interface Request extends RequestOptions {
  readonly method: string
  readonly path: string
}

const lostSession: Session = { id: '', isBound: false, token: '', refreshToken: '' }
const unauthenticated = { authorization: '' }

/** Makes the requests of one account: proofs by its key, with the latest nonce of the server. */
class AccountRequests {
  readonly #name: string
  readonly #key = new DpopKey()
  #api: ProofApi | undefined
  #nonce = ''

  constructor(name: string) {
    this.#name = name
  }

  async begin(api: ProofApi): Promise<void> {
    this.#api = api
    this.adoptNonce(await api.ask('POST', '/auth/login', { headers: unauthenticated, body: {} }))
  }

  /** Answers contain the next nonce. */
  adoptNonce({ headers }: HttpAnswer): void {
    const nonce = headers['dpop-nonce']
    if (typeof nonce === 'string') this.#nonce = nonce
  }

  send({ method, path, ...asking }: Request): Promise<HttpAnswer> {
    return (this.#api as ProofApi).ask(method, path, asking)
  }

  signIn(password: string, isBound: boolean): Request {
    if (isBound) return this.proven('POST', '/auth/login', { email: this.#name, password })
    const headers = { authorization: basic({ name: this.#name, password }) }
    return { method: 'GET', path: '/iam/token?scope=offline', headers }
  }

  renewal(isBound: boolean, refreshToken: string): Request {
    if (isBound) return this.proven('POST', '/auth/token', { refreshToken })
    const path = '/iam/token?grant_type=refresh_token&scope=offline'
    return { method: 'POST', path, headers: unauthenticated, body: { refreshToken } }
  }

  redeem(code: string, password: string): Request {
    return { method: 'POST', path: '/iam/signup', headers: unauthenticated, body: { name: this.#name, code, password } }
  }

  /** A request with the tokens of a session. */
  as({ isBound, token }: Session, method: string, path: string, body?: object): Request {
    if (isBound) return this.proven(method, path, body, token)
    return { method, path, headers: { authorization: `Bearer ${token}` }, ...(body && { body }) }
  }

  proven(method: string, path: string, body?: object, token?: string): Request {
    const url = `${(this.#api as ProofApi).url}/api/v1${path.replace(/\?.*/, '')}`
    const dpop = this.#key.proof({ method, url, nonce: this.#nonce, ...(token !== undefined && { token }) })
    const authorization = token === undefined ? '' : `DPoP ${token}`
    // Node sets the length of a body except with DELETE.
    const length = body && { 'content-length': String(Buffer.byteLength(JSON.stringify(body))) }
    return { method, path, headers: { authorization, dpop, ...length }, ...(body && { body }) }
  }
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

function codeIn({ text }: HttpAnswer): string {
  return (JSON.parse(text) as { code: string }).code
}
