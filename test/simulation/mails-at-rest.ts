import { type DeliveryState, deliveringIndex, deliveryAddress } from '#actors/delivery/delivery'
import { topicIndex } from '#actors/subscriber/state'
import { endingIndex } from '#actors/tenant/state'
import type { Participants } from '#test/simulation/participants'
import { mayRead } from '#test/simulation/reference-filter'
import { needsOfNotification } from '#test/simulation/reference-mails'
import { idIn } from '#test/simulation/simulated-alarms'
import type { KnownFunction } from '#test/simulation/simulated-functions'
import { rootAddress } from '#test/simulation/simulated-people'
import { tenant } from '#test/simulation/simulated-server'
import type { KnownSubscription } from '#test/simulation/simulated-subscribers'
import type { Simulation } from '#test/simulation/simulation'
import type { Witness } from '#test/simulation/witness'

type MailParts = 'mails' | 'mailServer' | 'webhooks' | 'receivers'
type Parts = Pick<Participants, 'people' | 'alarms' | 'functions' | 'subscribers' | MailParts>

interface Counted {
  readonly device: string
  readonly count: number
  readonly moment: number
  /** Unix ms. */
  readonly at: number
  /** The acknowledgement of the count has arrived. */
  isStored: boolean
}

/** `GET /notifications/outbox`. */
interface ReadOutbox {
  readonly waiting: { readonly requests: number; readonly subscribers: number }
  readonly sent: number
  readonly digests: number
}

const roundsMax = 60
/**
 * Long enough for two passes, which find all notified subscribers: a leap of time may change a device's status, which
 * triggers a function again.
 */
const everyMs = 2_200

/**
 * Waits for all mails and webhooks, and checks that none is missing that had to be sent: by each stored count, if the
 * conditions for it are unchanged. Also compares the stored indexes with the subscriptions. Contract 5.7.
 */
export class MailsAtRest {
  readonly #witness: Witness
  readonly #run: Simulation
  readonly #parts: Parts
  /** The greatest number of requests that a function keeps. */
  readonly #requestsKept: number
  readonly #counted: Counted[] = []
  #expected: { readonly address: string; readonly fn: KnownFunction; readonly counted: Counted }[] = []
  #expectedWebhooks: { readonly fn: KnownFunction; readonly counted: Counted }[] = []

  constructor(witness: Witness, run: Simulation, parts: Parts, requestsKept: number) {
    this.#requestsKept = requestsKept
    this.#witness = witness
    this.#run = run
    this.#parts = parts
  }

  counted(device: string, count: number): void {
    const at = this.#run.server.now()
    this.#counted.push({ device, count, at, moment: this.#witness.moment, isStored: false })
  }

  acknowledged(device: string, count: number): void {
    const counted = this.#counted.findLast((each) => each.device === device && each.count === count)
    if (counted) counted.isStored = true
  }

  /** Waits until the queue is empty, and checks what arrived. For a server without new requests. */
  async end(): Promise<void> {
    const { mailServer, mails, receivers, webhooks } = this.#parts
    mailServer.isHealthy = true
    receivers.isHealthy = true
    this.#expectMails()
    for (let round = 0, ms = 1_000; !(await this.#isOver()); round++, ms = Math.min(1_800_000, ms * 2)) {
      if (round > roundsMax) throw new Error('the mail queue does not become empty')
      // First the immediate work, then the long timers.
      if (round < 3) await this.#run.advance(ms)
      else await this.#run.leap(ms)
      await this.#run.comeToRest()
      await this.#run.advance(everyMs)
      await this.#run.comeToRest()
    }
    mails.settle()
    webhooks.settle()
    this.#checkReceived()
    await this.#checkCounts()
    this.#checkThrottles()
    mailServer.isHealthy = false
    receivers.isHealthy = false
  }

  /** Call after functions and subscriptions were read. */
  async checkStored(
    listed: readonly { readonly resourceIdentifier: string; readonly topic: string; readonly createdBy: string }[],
  ) {
    const rows = await this.#entriesOf(topicIndex)
    const meant = listed.map(
      ({ resourceIdentifier, topic, createdBy }) => `${idIn(topic)}/${idIn(createdBy)}/${idIn(resourceIdentifier)}`,
    )
    const [here, there] = [rows.toSorted().join(' '), meant.toSorted().join(' ')]
    if (here !== there) this.#witness.report(`topics are ${here}, and subscriptions ${there}`)
    if (rows.length > 2) this.#witness.count('topics compared')
    const ending = await this.#entriesOf(endingIndex)
    if (ending.length > 0) this.#witness.report(`${ending.join(', ')} are never completed`)
  }

  /** No mail or webhook is under way, no requests are stored, and no subscribers are pending. */
  async #isOver(): Promise<boolean> {
    const { waiting } = await this.#outbox()
    const { mailServer, receivers } = this.#parts
    if (mailServer.underWay + receivers.underWay > 0 || waiting.requests > 0 || waiting.subscribers > 0) return false
    return (await this.#entriesOf(deliveringIndex)).length === 0
  }

  /** Notes the mails and webhooks that stored counts must have caused, if the conditions for them are unchanged. */
  #expectMails(): void {
    const { functions, subscribers, people } = this.#parts
    // If there are more requests than a function keeps, some are mailed only as a number.
    const isAllKept = this.#counted.length < this.#requestsKept
    for (const counted of this.#counted) {
      for (const fn of counted.isStored ? functions.there : []) {
        if (!this.#mustNotify(fn, counted)) continue
        this.#expectedWebhooks.push({ fn, counted })
        for (const known of subscribers.there) {
          if (known.function !== fn.id || !known.locale.isSteadySince(counted.moment)) continue
          const address = known.account === people.root ? rootAddress : this.#addressOf(known, fn, counted)
          if (address !== undefined && isAllKept) this.#expected.push({ address, fn, counted })
        }
      }
    }
    this.#counted.splice(0)
  }

  /** Whether the function must report this count: the function, its binding and its author are unchanged. */
  #mustNotify({ plan, now, author }: KnownFunction, { device, count, moment }: Counted): boolean {
    const { alarms, people } = this.#parts
    const { cause, every, throttleMs } = plan
    const bound = now.certain
    if (cause !== 'counter' || throttleMs > 0 || count % every !== 0) return false
    if (!bound?.enabled || !now.isSteadySince(moment) || !alarms.isSteadySince(bound, moment)) return false
    const meant = alarms.surelyBound(bound, moment)
    if (!meant.includes('*') && !meant.includes(device)) return false
    if (author === people.root) return true
    const person = people.persons.find(({ account }) => account === author)
    if (!person?.isActive || !person.isSteadySince(moment)) return false
    return mayRead(person.grants, 'functions', device) && mayRead(person.grants, 'service', device, 'counter')
  }

  /** The address that must be notified; undefined: unknown, or not permitted. */
  #addressOf({ account }: KnownSubscription, { now, plan }: KnownFunction, { device, moment }: Counted) {
    const { people, alarms, mails } = this.#parts
    const person = people.persons.find((each) => each.account === account)
    const address = person?.address.certain
    if (!person?.isActive || !person.isSteadySince(moment) || typeof address !== 'string' || !now.certain)
      return undefined
    if (address.includes('"') || mails.wasRefusedAt(address)) return undefined
    const bound = alarms.surelyBound(now.certain, moment)
    const isMet = needsOfNotification(bound, device, plan.cause).every(([, isMetBy]) => isMetBy(person.grants))
    return isMet ? address : undefined
  }

  #checkReceived(): void {
    const { mails } = this.#parts
    for (const { address, fn, counted } of this.#expected) {
      const { device, count } = counted
      const isNotified = mails.wasNotified(address, { name: fn.plan.name, device, value: String(count) })
      this.#witness.count(address === rootAddress ? 'root notified' : 'notified as required')
      if (!isNotified && !mails.wasRefusedAt(address))
        this.#witness.report(`${address} gets no mail that ${device} has ${count}, by ${fn.plan.name}`)
    }
    this.#expected = []
    for (const { fn, counted } of this.#expectedWebhooks) {
      const { device, count } = counted
      this.#witness.count('webhook as required')
      if (!this.#parts.webhooks.wasCalled(fn.plan.name, device, count))
        this.#witness.report(`no webhook reports that ${device} has ${count}, by ${fn.plan.name}`)
    }
    this.#expectedWebhooks = []
  }

  /** All events of a permanent function reach a permanent subscriber: as text, or as a number. */
  async #checkCounts(): Promise<void> {
    const { functions, mails } = this.#parts
    const { system } = this.#run.server.assembly.context
    for (const { id, plan } of functions.lasting) {
      const { head } = system.peek(deliveryAddress(tenant, id)) as DeliveryState
      const mailed = mails.notificationsTo(rootAddress).filter(({ name }) => name === plan.name).length
      const counted = mails.countedTo(rootAddress, plan.name)
      if (counted > 0) this.#witness.count('notified as a number')
      if (mailed + counted < head.seq)
        this.#witness.report(`of ${head.seq} requests of ${plan.name}, ${mailed} were mailed and ${counted} counted`)
    }
    const { sent, digests } = await this.#outbox()
    const { takenCount, forgottenCount } = mails
    if (sent + digests > takenCount || sent + digests < takenCount - forgottenCount)
      this.#witness.report(`${sent + digests} mails are counted, of ${takenCount} that were accepted`)
  }

  /** At most one notification per device and interval, unless the device was removed, which makes it a new device. */
  #checkThrottles(): void {
    const { functions, mails } = this.#parts
    const last = new Map<string, number>()
    for (const { name, device, time } of [...mails.notifications].sort((one, next) => one.time - next.time)) {
      const throttleMs = functions.named(name)?.plan.throttleMs ?? 0
      const before = last.get(`${name} ${device}`)
      last.set(`${name} ${device}`, time)
      if (before === undefined || time === before || time - before >= throttleMs) continue
      const isNew = this.#witness.removals.some((each) => each.device === device && isWithin(each.at, before, time))
      if (!isNew) this.#witness.report(`${name} reports ${device} at ${before} and ${time}, not every ${throttleMs} ms`)
    }
  }

  async #outbox(): Promise<ReadOutbox> {
    const run = this.#run
    return JSON.parse((await run.pumped(run.server.call('readOutbox'))).body)
  }

  async #entriesOf(index: string): Promise<readonly string[]> {
    const pages = this.#run.server.assembly.context.listing.entries(index, tenant)
    const all: string[] = []
    try {
      const next = () => this.#run.pumped(pages.next(100))
      for (let page = await next(); page.length > 0; page = await next()) all.push(...page)
    } finally {
      await this.#run.pumped(pages.close())
    }
    return all
  }
}

/** Whether a removal requested at that time may have taken effect between the two others. */
function isWithin(requested: number, before: number, after: number): boolean {
  return requested > before - everyMs && requested <= after
}
