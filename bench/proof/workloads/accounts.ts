import type { HttpAnswer } from '#bench/http'
import {
  type Author,
  activate,
  changePassword,
  edit,
  endAll,
  endSession,
  invite,
  makeCode,
  type Operation,
  operations,
  type Plan,
  recoveryCodesMin,
  redeem,
  removeTotp,
  renew,
  replay,
  signIn,
  use,
} from '#bench/proof/workloads/account-changes'
import { type Account, AccountCheck, emptyAccount, ended, newestOf } from '#bench/proof/workloads/account-check'
import {
  AccountRequests,
  oneTimeCode,
  type Request,
  type Session,
  sessionOf,
  signedIn,
  stepNow,
} from '#bench/proof/workloads/account-requests'
import {
  type Change,
  type Observed,
  observeEach,
  type SlotEntry,
  slotsOf,
  type Workload,
} from '#bench/proof/workloads/expected-state'
import type { ProofApi } from '#bench/proof/workloads/proof-api'
import type { SeededRandom } from '#bench/random'

/** Accounts: invitations, passwords, sessions of both schemes, second factors, codes, and all that ends them. */

const sessionsMax = 4
/** The third wrong factor has to wait. Contract 2, Second factor. */
const wrongFactorsMax = 2
/** A login waits 300 s for its second factor. */
const halfwayMs = 240_000
/** Less than the 10 s in which a used refresh token gives its successor again. Contract 2, Refresh. */
const repeatMs = 7_000

/**
 * After each kill every credential that is to be good is good, and each that was used up, replaced or ended is refused, also
 * where the answer to the last change was lost.
 */
export function accountsWorkload(count = 8): Workload {
  const people = new Map(slotsOf('account', count).map((slot) => [slot, new Person(slot)]))
  const personOf = (slot: string) => people.get(slot) as Person
  return {
    name: 'accounts',
    slots: [...people.keys()],
    operations: operations.map((operation) => `accounts: ${operation}`),
    // Some changes fit into each life.
    pauseMs: 40,
    prepare: async (api) => void (await Promise.all([...people.values()].map((person) => person.begin(api)))),
    nextChange: (slot, before, number, random) => personOf(slot).next(before, number, random),
    observe: (api, entries) => observeEach(entries, (slot, entry) => personOf(slot).observe(api, entry)),
  }
}

type Choice = readonly [weight: number, make: () => Change]

class Person {
  readonly #name: string
  readonly #path: string
  readonly #requests: AccountRequests
  /** By content of the slot. */
  readonly #accounts = new Map<string, Account>()
  readonly #otherwise = new Map<string, Account>()
  /** The account that was deleted last, with its credentials. */
  #deleted = emptyAccount
  /** Only the server's memory has it. */
  #enrolled: { readonly secret: string; readonly session: string } | undefined
  #halfway: ReturnType<typeof waiting>
  #wrongFactors = 0
  /** Only use shows that a refresh token or a code is good: after each check it comes first. */
  #isUntested = false
  #sentAt = 0
  /** A renewal by a key that is not answered. */
  #renewed: Session | undefined
  #number = 0

  constructor(name: string) {
    this.#name = name
    this.#path = `/iam/users/${name}`
    this.#requests = new AccountRequests(name)
  }

  async begin(api: ProofApi): Promise<void> {
    this.#enrolled = undefined
    await this.#requests.begin(api)
  }

  next(before: Observed | undefined, number: number, random: SeededRandom): Change {
    this.#number = number
    this.#sentAt = performance.now()
    this.#renewed = undefined
    const by: Author = { name: this.#name, path: this.#path, number, requests: this.#requests }
    if (!before) return this.#planned(invite(by, this.#deleted))
    const account = this.#accountOf(before.content)
    const { state, code, dead } = account
    const wasUntested = this.#isUntested
    this.#isUntested = false
    const redeeming = () => this.#planned(redeem(by, account))
    const remove: Choice = [1, () => this.#remove(account)]
    const making: Choice = [1, () => this.#planned(makeCode(by, account, random.below(2) === 0))]
    const choices: Choice[] = []
    const [deadCode] = dead.codes
    if (deadCode !== undefined) {
      const asked = this.#requests.redeem(deadCode, 'another password')
      choices.push([1, () => this.#refused('use a dead code', asked, before)])
    }
    if (state === 'disabled') {
      const asked = this.#requests.signIn(String(account.password), false)
      choices.push([1, () => this.#refused('sign in disabled', asked, before)])
      choices.push([3, () => this.#planned(edit(by, account, 'active'))], remove)
      return pick(choices, random)
    }
    if (state === 'invited') {
      if (code !== undefined) choices.push([4, redeeming])
      return pick([...choices, making, remove], random)
    }
    const renewable = account.sessions.filter(({ refreshToken }) => refreshToken !== '')
    const [renewed] = renewable.slice(random.below(renewable.length))
    if (wasUntested && renewed) return this.#renew(by, account, renewed)
    if (wasUntested && code !== undefined) return redeeming()
    if (this.#wrongFactors >= wrongFactorsMax && account.totp)
      return code !== undefined && account.isReset ? redeeming() : this.#planned(makeCode(by, account, true))
    choices.push(...this.#sessionChoices(by, account, renewed, random))
    choices.push(...this.#factorChoices(by, account, before, random))
    if (code === undefined) choices.push(remove, making)
    else choices.push([3, redeeming])
    if (random.below(2) === 0) choices.push([1, () => this.#planned(edit(by, account, 'disabled'))])
    return pick(choices, random)
  }

  #sessionChoices(by: Author, account: Account, renewed: Session | undefined, random: SeededRandom): Choice[] {
    const { sessions, totp, code } = account
    const [any] = sessions.slice(random.below(sessions.length))
    const replayed = renewed?.used[renewed.isBound ? 1 : 0]
    const choices: Choice[] = []
    if (sessions.length < sessionsMax && !totp)
      choices.push([6, () => this.#planned(signIn(by, account, random.below(2) === 0))])
    if (any) choices.push([2, () => this.#planned(endSession(by, account, any, random))])
    if (any) choices.push([1, () => this.#planned(endAll(by, account, renewed, random))])
    if (renewed) choices.push([4, () => this.#renew(by, account, renewed)])
    if (renewed && replayed !== undefined)
      choices.push([1, () => this.#planned(replay(by, account, renewed, replayed))])
    if (renewed && code === undefined) choices.push([2, () => this.#planned(changePassword(by, account, renewed))])
    return choices
  }

  #factorChoices(by: Author, account: Account, before: Observed, random: SeededRandom): Choice[] {
    const { sessions, totp, password = '', recovery } = account
    const [session] = sessions.filter(({ isBound, token }) => isBound && token !== '')
    if (!totp) return session ? [this.#settingUp(by, account, session, before)] : []
    const choices: Choice[] = []
    if (session) choices.push([2, () => this.#planned(removeTotp(by, account, session, random))])
    const halfway = this.#halfway
    if (!halfway || performance.now() > halfway.until) {
      const learn = (answer: HttpAnswer) => {
        this.#halfway = waiting(signedIn(answer).token)
      }
      const asked = this.#requests.signIn(password, true)
      return [...choices, [10, () => this.#unchanged('sign in (DPoP)', asked, before, learn)]]
    }
    if (sessions.length >= sessionsMax) return choices
    const { secret } = totp
    const step = Math.max(totp.step + 1, stepNow())
    if (totp.step <= stepNow()) {
      const spent = { which: 'totp', code: oneTimeCode(secret, step), step } as const
      const left = { ...account, totp: { secret, step } }
      choices.push([6, () => this.#planned(use(by, 'use TOTP', left, spent, halfway.token))])
    }
    const [code] = recovery.slice(recoveryCodesMin)
    if (code !== undefined) {
      const left = { ...account, recovery: recovery.filter((each) => each !== code) }
      const spent = { which: 'recovery', code } as const
      choices.push([6, () => this.#planned(use(by, 'use a recovery code', left, spent, halfway.token))])
    }
    return choices
  }

  #settingUp(by: Author, account: Account, session: Session, before: Observed): Choice {
    const enrolled = this.#enrolled
    if (enrolled?.session === session.id)
      return [12, () => this.#planned(activate(by, account, session, enrolled.secret))]
    const { password } = account
    const learn = ({ text }: HttpAnswer) => {
      this.#enrolled = { secret: (JSON.parse(text) as { secret: string }).secret, session: session.id }
    }
    const asked = this.#requests.as(session, 'POST', '/auth/2fa/totp/enroll', { password })
    return [6, () => this.#unchanged('enroll TOTP', asked, before, learn)]
  }

  #renew(by: Author, account: Account, session: Session): Change {
    this.#renewed = session.isBound ? session : undefined
    return this.#planned(renew(by, account, session))
  }

  #remove(account: Account): Change {
    const { dead, code, password } = ended(account)
    const codes = newestOf(code, dead.codes)
    this.#deleted = { ...emptyAccount, dead: { ...dead, codes, passwords: newestOf(password, dead.passwords) } }
    const onAnswer = () => this.#endLogins()
    return { method: 'DELETE', path: this.#path, content: undefined, operation: 'accounts: delete', onAnswer }
  }

  #planned(plan: Plan): Change {
    const { operation, asked, after, learn, otherwise, isRepeatable, expectedStatus } = plan
    const content = `${this.#name} ${this.#number}`
    this.#accounts.set(content, after)
    if (otherwise) this.#otherwise.set(content, otherwise)
    const onAnswer = (answer: HttpAnswer) => {
      this.#requests.adoptNonce(answer)
      this.#accounts.set(content, learn?.(answer) ?? after)
      if (plan.endsLogins) this.#endLogins()
      if (plan.resetsFactors) this.#wrongFactors = 0
    }
    const change = { ...asked, operation: `accounts: ${operation}`, content, onAnswer, isSentOnce: !isRepeatable }
    return { ...change, ...(expectedStatus !== undefined && { expectedStatus }) }
  }

  #unchanged(operation: Operation, asked: Request, { content }: Observed, learn: (answer: HttpAnswer) => void): Change {
    const onAnswer = (answer: HttpAnswer) => {
      this.#requests.adoptNonce(answer)
      learn(answer)
    }
    return { ...asked, operation: `accounts: ${operation}`, content, onAnswer, isSentOnce: true }
  }

  #refused(operation: Operation, asked: Request, before: Observed): Change {
    return { ...this.#unchanged(operation, asked, before, () => {}), expectedStatus: 401 }
  }

  #accountOf(content: string): Account {
    return this.#accounts.get(content) ?? emptyAccount
  }

  #endLogins(): void {
    this.#halfway = undefined
    this.#enrolled = undefined
  }

  /** @throws when a credential is good that must not be, or the other way round */
  async observe(api: ProofApi, { observed, pending }: SlotEntry): Promise<Observed | undefined> {
    if (!observed && !pending) return undefined
    const content = pending?.change.content as string | undefined
    const before = observed && this.#accountOf(observed.content)
    const after = content === undefined || content === observed?.content ? undefined : this.#accountOf(content)
    const check = await AccountCheck.begin(api, this.#name, this.#requests, { before, after })
    if (!check) return undefined
    const { account, isAfter, isBoth } = check
    if (!account) return { content: check.shown, ...check.id }
    await check.mustBeRight(this.#wrongFactors < wrongFactorsMax, pending !== undefined)
    const words = isAfter ? content : observed?.content
    if (words === undefined) return { content: check.shown }
    if (api.isCopy) return { content: words, ...check.id }
    this.#wrongFactors += check.wrongFactors
    this.#isUntested = true
    // Not of a change that was answered, whose content a request that changes nothing has too.
    const otherwise = after && !isAfter ? this.#otherwise.get(content as string) : undefined
    this.#accounts.set(words, otherwise ?? (await this.#renewedAgain(account, isBoth)))
    this.#halfway = waiting(check.halfway)
    if (isAfter) this.#enrolled = undefined
    return { content: words, ...check.id }
  }

  /** For some seconds a renewal whose answer was lost gives the same answer again. */
  async #renewedAgain(account: Account, isPending: boolean): Promise<Account> {
    const session = this.#renewed
    this.#renewed = undefined
    if (!session || !isPending || performance.now() - this.#sentAt > repeatMs) return account
    const answer = await this.#requests.send(this.#requests.renewal(true, session.refreshToken))
    if (answer.status !== 200)
      throw new Error(`${this.#name}: a renewal without an answer was answered ${answer.status} when it was repeated`)
    return {
      ...account,
      sessions: account.sessions.map((each) => (each.id === session.id ? sessionOf(answer, session) : each)),
    }
  }
}

/** A login that waits for its second factor. */
function waiting(token: string | undefined) {
  return token === undefined ? undefined : { token, until: performance.now() + halfwayMs }
}

function pick(choices: readonly Choice[], random: SeededRandom): Change {
  const all = choices.flatMap(([weight, make]) => Array.from({ length: weight }, () => make))
  return (all[random.below(all.length)] as () => Change)()
}
