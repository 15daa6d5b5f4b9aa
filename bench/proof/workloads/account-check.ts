import type { HttpAnswer } from '#bench/http'
import { type AccountRequests, type Request, type Session, sessionIdIn } from '#bench/proof/workloads/account-requests'
import { madeIdOf } from '#bench/proof/workloads/expected-state'
import type { ProofApi } from '#bench/proof/workloads/proof-api'

/**
 * An account and its credentials while no change is under way. Credentials that may have changed in an unanswered
 * change are left out.
 */
export interface Account {
  readonly state: 'invited' | 'active' | 'disabled'
  /** Changes with each state change. */
  readonly email: string
  readonly password?: string
  /** Valid once, to set a password. */
  readonly code?: string
  readonly sessions: readonly Session[]
  /** The latest invalid credentials. */
  readonly dead: {
    readonly sessions: readonly Session[]
    readonly codes: readonly string[]
    readonly passwords: readonly string[]
  }
}

export const emptyAccount: Account = {
  ...{ state: 'invited', email: '', sessions: [] },
  dead: { sessions: [], codes: [], passwords: [] },
}

/** How many invalid credentials of each kind are tried. */
const deadMax = 3

export function newestOf<Value>(value: Value | undefined, others: readonly Value[]): readonly Value[] {
  return value === undefined ? others : [value, ...others].slice(0, deadMax)
}

/** Ends some sessions or all. */
export function ended(account: Account, isEnded: (session: Session) => boolean = () => true): Account {
  const { sessions, dead } = account
  const over = sessions.filter((each) => isEnded(each) && each.token !== '')
  const all = over.reduce((rest, each) => newestOf(each, rest), dead.sessions)
  return { ...account, sessions: sessions.filter((each) => !isEnded(each)), dead: { ...dead, sessions: all } }
}

interface Row {
  readonly state: Account['state']
  readonly email: string
  readonly resourceIdentifier: string
}

interface Candidates {
  readonly before: Account | undefined
  readonly after: Account | undefined
}

/** Compares the server with the states of an account before and after its last change. */
export class AccountCheck {
  readonly #api: ProofApi
  readonly #name: string
  readonly #requests: AccountRequests
  readonly #candidates: Candidates
  #row: Row = { state: 'invited', email: '', resourceIdentifier: '' }
  #sessions: readonly string[] = []
  #password: string | undefined

  constructor(api: ProofApi, name: string, requests: AccountRequests, candidates: Candidates) {
    this.#api = api
    this.#name = name
    this.#requests = requests
    this.#candidates = candidates
  }

  /** Reads the account; resolves with whether it exists. */
  async read(): Promise<boolean> {
    const path = `/iam/users/${this.#name}`
    const { status, text } = await this.#api.ask('GET', path)
    if (status === 404) return false
    if (status !== 200) throw new Error(`${path} was answered ${status} ${text.slice(0, 200)}`)
    this.#row = JSON.parse(text) as Row
    const rows = await this.#api.rows<{ id: string }>(`${path}/sessions`)
    // The disk may be of a moment at which a check was signed in.
    const isOfCheck = (id: string) => this.#api.isCopy && this.#requests.checkSessions.has(id)
    this.#sessions = rows.map(({ id }) => id).filter((id) => !isOfCheck(id))
    await this.#requests.begin(this.#api)
    await this.#logIn()
    return true
  }

  get isAfter(): boolean {
    return this.#isLike(this.#candidates.after)
  }

  /** Both states are still possible. */
  get isBoth(): boolean {
    return this.isAfter && this.#isLike(this.#candidates.before)
  }

  /** The state that fits. */
  get account(): Account | undefined {
    const { before, after } = this.#candidates
    const account = this.isAfter ? after : this.#isLike(before) ? before : undefined
    const [id] = account ? this.#unknownOf(account) : []
    if (!account || id === undefined) return account
    return { ...account, sessions: account.sessions.map((each) => (each.id === '' ? { ...each, id } : each)) }
  }

  get shown(): string {
    const { state, email } = this.#row
    return `${state} ${email} with "${this.#password}" and the sessions ${this.#sessions}`
  }

  get id(): { readonly id?: string } {
    const id = madeIdOf(this.#row.resourceIdentifier)
    return id === undefined ? {} : { id }
  }

  /** @throws when a credential is valid that must not be, or the other way round */
  async mustBeRight(isPending: boolean): Promise<void> {
    const { before } = this.#candidates
    const account = this.account as Account
    // While both are possible, checks only what they have in common.
    const sure = (isPending && before) || account
    for (const session of account.sessions) {
      if (session.token === '' || (isPending && !sure.sessions.some(({ token }) => token === session.token))) continue
      await this.#must(200, `the access token of session ${session.id}`, this.#requests.as(session, 'GET', '/iam/me'))
    }
    for (const session of sure.dead.sessions) {
      const { id, isBound, refreshToken } = session
      await this.#must(401, `an access token of ended session ${id}`, this.#requests.as(session, 'GET', '/iam/me'))
      await this.#must(401, `a refresh token of ended session ${id}`, this.#requests.renewal(isBound, refreshToken))
    }
    for (const code of sure.dead.codes) await this.#must(401, 'a dead code', this.#requests.redeem(code, 'no password'))
    if (this.#api.isCopy && !isPending) await this.#mustBeGood(account)
  }

  /** On a copy: uses up nothing that is needed later. */
  async #mustBeGood({ sessions, code }: Account): Promise<void> {
    for (const { id, isBound, refreshToken } of sessions)
      if (refreshToken !== '')
        await this.#must(200, `the refresh token of session ${id}`, this.#requests.renewal(isBound, refreshToken))
    if (code !== undefined) await this.#must(201, 'a new code', this.#requests.redeem(code, 'another password'))
  }

  /** Finds out which password is valid. @throws when it is not exactly one */
  async #logIn(): Promise<void> {
    const { before, after } = this.#candidates
    const all = [before, after].flatMap((each) => (each ? [each.password, ...each.dead.passwords] : []))
    const good: string[] = []
    for (const password of new Set(all.filter((each) => each !== undefined))) {
      const answer = await this.#requests.send(this.#requests.signIn(password, true))
      this.#requests.adoptNonce(answer)
      if (answer.status === 401) continue
      good.push(password)
      await this.#loggedIn(answer)
    }
    const wanted = this.#row.state === 'active' ? 1 : 0
    if (good.length !== wanted)
      throw new Error(`${good.length} passwords of ${this.#name} are good, which is ${this.#row.state}`)
    this.#password = good[0]
  }

  /** Ends the session of the login. */
  async #loggedIn({ status, text }: HttpAnswer): Promise<void> {
    if (status !== 200) throw new Error(`a login of ${this.#name} was answered ${status} ${text.slice(0, 100)}`)
    const { accessToken } = JSON.parse(text) as { accessToken: string }
    if (this.#api.isCopy) return
    this.#requests.checkSessions.add(sessionIdIn(accessToken))
    await this.#must(204, 'a logout', this.#requests.proven('POST', '/auth/logout', undefined, accessToken))
  }

  #unknownOf({ sessions }: Account): readonly string[] {
    return this.#sessions.filter((id) => !sessions.some((session) => session.id === id))
  }

  #isLike(account: Account | undefined): boolean {
    if (!account) return false
    const { state, email } = this.#row
    const known = account.sessions.filter(({ id }) => id !== '')
    return (
      account.state === state &&
      account.email === email &&
      (state !== 'active' || account.password === this.#password) &&
      known.every(({ id }) => this.#sessions.includes(id)) &&
      this.#unknownOf(account).length === account.sessions.length - known.length
    )
  }

  async #must(wanted: number, what: string, request: Request): Promise<HttpAnswer> {
    const answer = await this.#requests.send(request)
    this.#requests.adoptNonce(answer)
    if (answer.status === wanted) return answer
    throw new Error(`${this.#name}: ${what} was answered ${answer.status} ${answer.text.slice(0, 100)}`)
  }
}
