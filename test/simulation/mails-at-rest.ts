import { type DeliveryState, deliveringIndex, deliveryAddress } from '#actors/delivery/state'
import { topicIndex } from '#actors/subscriber/state'
import { endingIndex } from '#actors/tenant/state'
import type { Everybody } from '#test/simulation/everybody'
import type { Life } from '#test/simulation/life'
import { mayRead } from '#test/simulation/reference-filter'
import { needsOfHearing } from '#test/simulation/reference-mails'
import { idIn } from '#test/simulation/simulated-alarms'
import type { KnownFunction } from '#test/simulation/simulated-functions'
import { rootAddress } from '#test/simulation/simulated-people'
import { type SimulatedLimits, tenant } from '#test/simulation/simulated-server'
import type { KnownSubscription } from '#test/simulation/simulated-subscribers'
import type { Witness } from '#test/simulation/witness'

type Parts = Pick<Everybody, 'people' | 'alarms' | 'functions' | 'subscribers' | 'heard' | 'mailServer'>

/** A count that a device reported. */
interface Counted {
  readonly device: string
  readonly count: number
  readonly moment: number
  /** Unix ms. */
  readonly at: number
  /** Its acknowledgement arrived. */
  isStored: boolean
}

/** `GET /notifications/outbox`. */
interface ReadOutbox {
  readonly waiting: { readonly requests: number; readonly subscribers: number }
  readonly sent: number
  readonly digests: number
}

const roundsMax = 60
/** Two passes find all notified subscribers: a suspend may change a device's status, which triggers a function again. */
const everyMs = 2_200

/**
 * Waits for all mails and checks that no notification is missing: computed plainly from counts for which all conditions were
 * unchanged. Also compares the stored indexes with the subscriptions. Contract 5.7.
 */
export class MailsAtRest {
  readonly #witness: Witness
  readonly #life: Life
  readonly #parts: Parts
  /** No function keeps more requests. */
  readonly #requestsKept: number
  readonly #counted: Counted[] = []
  /** Expected notifications by address. */
  #owed: { readonly address: string; readonly fn: KnownFunction; readonly counted: Counted }[] = []

  constructor(
    witness: Witness,
    life: Life,
    parts: Parts,
    { storedRequestsMax }: Pick<SimulatedLimits['mails'], 'storedRequestsMax'>,
  ) {
    this.#requestsKept = storedRequestsMax
    this.#witness = witness
    this.#life = life
    this.#parts = parts
  }

  counted(device: string, count: number): void {
    const at = this.#life.server.now()
    this.#counted.push({ device, count, at, moment: this.#witness.moment, isStored: false })
  }

  acknowledged(device: string, count: number): void {
    const counted = this.#counted.findLast((each) => each.device === device && each.count === count)
    if (counted) counted.isStored = true
  }

  /** For a server without new requests: waits until the queue is empty, for any length of time. */
  async end(): Promise<void> {
    const { mailServer, heard } = this.#parts
    mailServer.isHealthy = true
    this.#owe()
    for (let round = 0, ms = 1_000; !(await this.#isOver()); round++, ms = Math.min(1_800_000, ms * 2)) {
      if (round > roundsMax) throw new Error('the mail queue does not become empty')
      // First the immediate work, then the long timers.
      if (round < 3) await this.#life.advance(ms)
      else await this.#life.leap(ms)
      await this.#life.comeToRest()
      await this.#life.advance(everyMs)
      await this.#life.comeToRest()
    }
    heard.settle()
    this.#checkHeard()
    await this.#checkCounts()
    this.#checkThrottles()
    mailServer.isHealthy = false
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
    if (here !== there) this.#witness.accuse(`topics are ${here}, and subscriptions ${there}`)
    if (rows.length > 2) this.#witness.count('topics compared')
    const ending = await this.#entriesOf(endingIndex)
    if (ending.length > 0) this.#witness.accuse(`${ending.join(', ')} are never completed`)
  }

  /** No requests are stored, and no subscribers are pending. */
  async #isOver(): Promise<boolean> {
    const { waiting } = await this.#outbox()
    if (this.#parts.mailServer.underWay > 0 || waiting.requests > 0 || waiting.subscribers > 0) return false
    return (await this.#entriesOf(deliveringIndex)).length === 0
  }

  /** Every stored count whose conditions are unchanged was notified. */
  #owe(): void {
    const { functions, subscribers, people } = this.#parts
    // Otherwise excess requests appear as a number.
    const isAllKept = this.#counted.length < this.#requestsKept
    for (const counted of this.#counted) {
      for (const fn of counted.isStored ? functions.there : []) {
        if (!this.#tellsSteadily(fn, counted)) continue
        for (const known of subscribers.there) {
          if (known.function !== fn.id || !known.locale.isSteadySince(counted.moment)) continue
          const address = known.account === people.root ? rootAddress : this.#addressOf(known, fn, counted)
          if (address !== undefined && isAllKept) this.#owed.push({ address, fn, counted })
        }
      }
    }
    this.#counted.splice(0)
  }

  /** Whether the function must report this count: the function, its binding and its author are unchanged. */
  #tellsSteadily({ plan, now, author }: KnownFunction, { device, count, moment }: Counted): boolean {
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
    return ['functions', 'service'].every((resource) => mayRead(person.grants, resource, device, serviceOf(resource)))
  }

  /** The address that must be notified; undefined: unknown, or not permitted. */
  #addressOf({ account }: KnownSubscription, { now, plan }: KnownFunction, { device, moment }: Counted) {
    const { people, alarms, heard } = this.#parts
    const person = people.persons.find((each) => each.account === account)
    const address = person?.address.certain
    if (!person?.isActive || !person.isSteadySince(moment) || typeof address !== 'string' || !now.certain)
      return undefined
    if (address.includes('"') || heard.wasRefusedAt(address)) return undefined
    const bound = alarms.surelyBound(now.certain, moment)
    const isMet = needsOfHearing(bound, device, plan.cause).every(([, isMetBy]) => isMetBy(person.grants))
    return isMet ? address : undefined
  }

  #checkHeard(): void {
    const { heard } = this.#parts
    for (const { address, fn, counted } of this.#owed) {
      const { device, count } = counted
      const isHeard = heard.wasTold(address, { name: fn.plan.name, device, value: String(count) })
      this.#witness.count(address === rootAddress ? 'root notified' : 'notified as required')
      if (!isHeard && !heard.wasRefusedAt(address))
        this.#witness.accuse(`${address} gets no mail that ${device} has ${count}, by ${fn.plan.name}`)
    }
    this.#owed = []
  }

  /** All events of a permanent function reach a permanent subscriber: as text, or as a number. */
  async #checkCounts(): Promise<void> {
    const { functions, heard } = this.#parts
    const { system } = this.#life.server.assembly.context
    for (const { id, plan } of functions.lasting) {
      const { head } = system.peek(deliveryAddress(tenant, id)) as DeliveryState
      const told = heard.toldTo(rootAddress).filter(({ name }) => name === plan.name).length
      const counted = heard.countedTo(rootAddress, plan.name)
      if (counted > 0) this.#witness.count('notified as a number')
      if (told + counted < head.seq)
        this.#witness.accuse(`of ${head.seq} requests of ${plan.name}, ${told} were mailed and ${counted} counted`)
    }
    const { sent, digests } = await this.#outbox()
    const { takenCount, forgottenCount } = heard
    if (sent + digests > takenCount || sent + digests < takenCount - forgottenCount)
      this.#witness.accuse(`${sent + digests} mails are counted, of ${takenCount} that were accepted`)
  }

  /** At most one per device and interval, unless the device was removed: then it is a new one. */
  #checkThrottles(): void {
    const { functions, heard } = this.#parts
    const last = new Map<string, number>()
    for (const { name, device, time } of [...heard.told].sort((one, next) => one.time - next.time)) {
      const throttleMs = functions.named(name)?.plan.throttleMs ?? 0
      const before = last.get(`${name} ${device}`)
      last.set(`${name} ${device}`, time)
      if (before === undefined || time === before || time - before >= throttleMs) continue
      const isNew = this.#witness.removals.some((each) => each.device === device && isWithin(each.at, before, time))
      if (!isNew) this.#witness.accuse(`${name} reports ${device} at ${before} and ${time}, not every ${throttleMs} ms`)
    }
  }

  async #outbox(): Promise<ReadOutbox> {
    const life = this.#life
    return JSON.parse((await life.pumped(life.server.call('readOutbox'))).body)
  }

  async #entriesOf(index: string): Promise<readonly string[]> {
    const pages = this.#life.server.assembly.context.listing.entries(index, tenant)
    const all: string[] = []
    try {
      for (
        let page = await this.#life.pumped(pages.next(100));
        page.length > 0;
        page = await this.#life.pumped(pages.next(100))
      )
        all.push(...page)
    } finally {
      await this.#life.pumped(pages.close())
    }
    return all
  }
}

/** Until a request takes effect. */
function isWithin(asked: number, before: number, after: number): boolean {
  return asked > before - everyMs && asked <= after
}

/** For functions, the count does not depend on the service. */
function serviceOf(resource: string): string | undefined {
  return resource === 'service' ? 'counter' : undefined
}
