import type { HttpAnswer } from '#bench/http'
import { type Account, AccountCheck, emptyAccount, ended, newestOf } from '#bench/proof/workloads/account-check'
import { invitation, operations, type Plan, plansOf } from '#bench/proof/workloads/account-plans'
import { AccountRequests, type Session, sessionOf } from '#bench/proof/workloads/account-requests'
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

class Person {
  readonly #name: string
  readonly #requests: AccountRequests
  /** By content of the slot. */
  readonly #accounts = new Map<string, Account>()
  /** The account that was deleted last, with its credentials. */
  #deleted = emptyAccount
  /** Only use shows that a refresh token or a code is valid: using it is the first change after each check. */
  #isUntested = false
  #sentAt = 0
  /** A renewal with a key that is not answered. */
  #renewed: Session | undefined

  constructor(name: string) {
    this.#name = name
    this.#requests = new AccountRequests(name)
  }

  async begin(api: ProofApi): Promise<void> {
    await this.#requests.begin(api)
  }

  next(before: Observed | undefined, number: number, random: SeededRandom): Change {
    const numbered = { name: this.#name, number, requests: this.#requests }
    const account = before && this.#accountOf(before.content)
    const plans = account ? plansOf(numbered, account, random) : [invitation(numbered, this.#deleted)]
    const isFirst = this.#isUntested && account?.state === 'active'
    const planOf = (operation: Plan['operation']) => plans.find((plan) => plan.operation === operation)
    const plan = (isFirst && (planOf('renew') ?? planOf('redeem a code'))) || pick(plans, random)
    this.#isUntested = false
    this.#sentAt = performance.now()
    this.#renewed = plan.renewed?.isBound ? plan.renewed : undefined
    if (account && !plan.after) this.#deleted = withoutCredentials(account)
    return this.#changeOf(plan, number)
  }

  #changeOf({ operation, asked, after, learn, isRepeatable, isRefused }: Plan, number: number): Change {
    const content = after && `${this.#name} ${number}`
    const keep = (account = after) => account && content !== undefined && this.#accounts.set(content, account)
    keep()
    const onAnswer = (answer: HttpAnswer) => {
      this.#requests.adoptNonce(answer)
      keep(learn?.(answer))
    }
    return {
      ...{ ...asked(), operation: `accounts: ${operation}`, content, onAnswer, isSentOnce: !isRepeatable },
      ...(isRefused && { expectedStatus: 401 }),
    }
  }

  #accountOf(content: string): Account {
    return this.#accounts.get(content) ?? emptyAccount
  }

  /** @throws when a credential is valid that must not be, or the other way round */
  async observe(api: ProofApi, { observed, pending }: SlotEntry): Promise<Observed | undefined> {
    if (!observed && !pending) return undefined
    const content = pending?.change.content as string | undefined
    const before = observed && this.#accountOf(observed.content)
    const after = content === undefined ? undefined : this.#accountOf(content)
    const check = new AccountCheck(api, this.#name, this.#requests, { before, after })
    if (!(await check.read())) return undefined
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

function withoutCredentials(account: Account): Account {
  const { dead, code, password } = ended(account)
  const codes = newestOf(code, dead.codes)
  return { ...emptyAccount, dead: { ...dead, codes, passwords: newestOf(password, dead.passwords) } }
}

function pick(plans: readonly Plan[], random: SeededRandom): Plan {
  const all = plans.flatMap((plan) => Array.from({ length: plan.weight }, () => plan))
  return random.pick(all) as Plan
}
