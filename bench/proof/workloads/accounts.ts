import type { HttpAnswer } from '#bench/http'
import {
  type Author,
  changePassword,
  edit,
  endAll,
  endSession,
  invite,
  makeCode,
  type Operation,
  operations,
  type Plan,
  redeem,
  renew,
  replay,
  signIn,
} from '#bench/proof/workloads/account-changes'
import { type Account, AccountCheck, emptyAccount, ended, newestOf } from '#bench/proof/workloads/account-check'
import { AccountRequests, type Request, type Session, sessionOf } from '#bench/proof/workloads/account-requests'
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

/** Accounts: invitations, passwords, sessions of both schemes, codes, and everything that ends them. */

const sessionsMax = 4
/** Less than the 10 s in which a used refresh token gives its successor again. Contract 2, Refresh. */
const repeatMs = 7_000

/**
 * After each kill every valid credential must work, and each credential that was used up, replaced or ended must be
 * refused, also where the answer to the last change was lost.
 */
export function accountsWorkload(count = 8): Workload {
  const people = new Map(slotsOf('account', count).map((slot) => [slot, new Person(slot)]))
  const personOf = (slot: string) => people.get(slot) as Person
  return {
    name: 'accounts',
    slots: [...people.keys()],
    operations: operations.map((operation) => `accounts: ${operation}`),
    // Some changes fit into each life of the server.
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
  readonly #accounts = new Map<string, Account>()
  /** The account that was deleted last, with its credentials. */
  #deleted = emptyAccount
  /** Only use shows that a refresh token or a code is valid: using it is the first change after each check. */
  #isUntested = false
  #sentAt = 0
  /** A renewal with a key that is not answered. */
  #renewed: Session | undefined
  #number = 0

  constructor(name: string) {
    this.#name = name
    this.#path = `/iam/users/${name}`
    this.#requests = new AccountRequests(name)
  }

  async begin(api: ProofApi): Promise<void> {
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
    const making: Choice = [1, () => this.#planned(makeCode(by, account))]
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
    choices.push(...this.#sessionChoices(by, account, renewed, random))
    if (code === undefined) choices.push(remove, making)
    else choices.push([3, redeeming])
    if (random.below(2) === 0) choices.push([1, () => this.#planned(edit(by, account, 'disabled'))])
    return pick(choices, random)
  }

  #sessionChoices(by: Author, account: Account, renewed: Session | undefined, random: SeededRandom): Choice[] {
    const { sessions, code } = account
    const [any] = sessions.slice(random.below(sessions.length))
    const replayed = renewed?.used[renewed.isBound ? 1 : 0]
    const choices: Choice[] = []
    if (sessions.length < sessionsMax)
      choices.push([6, () => this.#planned(signIn(by, account, random.below(2) === 0))])
    if (any) choices.push([2, () => this.#planned(endSession(by, account, any, random))])
    if (any) choices.push([1, () => this.#planned(endAll(by, account, renewed, random))])
    if (renewed) choices.push([4, () => this.#renew(by, account, renewed)])
    if (renewed && replayed !== undefined)
      choices.push([1, () => this.#planned(replay(by, account, renewed, replayed))])
    if (renewed && code === undefined) choices.push([2, () => this.#planned(changePassword(by, account, renewed))])
    return choices
  }

  #renew(by: Author, account: Account, session: Session): Change {
    this.#renewed = session.isBound ? session : undefined
    return this.#planned(renew(by, account, session))
  }

  #remove(account: Account): Change {
    const { dead, code, password } = ended(account)
    const codes = newestOf(code, dead.codes)
    this.#deleted = { ...emptyAccount, dead: { ...dead, codes, passwords: newestOf(password, dead.passwords) } }
    return { method: 'DELETE', path: this.#path, content: undefined, operation: 'accounts: delete' }
  }

  #planned(plan: Plan): Change {
    const { operation, asked, after, learn, isRepeatable, expectedStatus } = plan
    const content = `${this.#name} ${this.#number}`
    this.#accounts.set(content, after)
    const onAnswer = (answer: HttpAnswer) => {
      this.#requests.adoptNonce(answer)
      this.#accounts.set(content, learn?.(answer) ?? after)
    }
    const change = { ...asked, operation: `accounts: ${operation}`, content, onAnswer, isSentOnce: !isRepeatable }
    return { ...change, ...(expectedStatus !== undefined && { expectedStatus }) }
  }

  #refused(operation: Operation, asked: Request, { content }: Observed): Change {
    const onAnswer = (answer: HttpAnswer) => this.#requests.adoptNonce(answer)
    return { ...asked, operation: `accounts: ${operation}`, content, onAnswer, isSentOnce: true, expectedStatus: 401 }
  }

  #accountOf(content: string): Account {
    return this.#accounts.get(content) ?? emptyAccount
  }

  /** @throws when a credential is valid that must not be, or the other way round */
  async observe(api: ProofApi, { observed, pending }: SlotEntry): Promise<Observed | undefined> {
    if (!observed && !pending) return undefined
    const content = pending?.change.content as string | undefined
    const before = observed && this.#accountOf(observed.content)
    const after = content === undefined || content === observed?.content ? undefined : this.#accountOf(content)
    const check = await AccountCheck.begin(api, this.#name, this.#requests, { before, after })
    if (!check) return undefined
    const { account, isAfter, isBoth } = check
    if (!account) return { content: check.shown, ...check.id }
    await check.mustBeRight(pending !== undefined)
    const words = isAfter ? content : observed?.content
    if (words === undefined) return { content: check.shown }
    if (api.isCopy) return { content: words, ...check.id }
    this.#isUntested = true
    this.#accounts.set(words, await this.#renewedAgain(account, isBoth))
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

function pick(choices: readonly Choice[], random: SeededRandom): Change {
  const all = choices.flatMap(([weight, make]) => Array.from({ length: weight }, () => make))
  return (all[random.below(all.length)] as () => Change)()
}
