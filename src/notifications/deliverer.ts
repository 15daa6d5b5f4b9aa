import { isTenantThere } from '#actors/directory/queries'
import { outboxAddress } from '#actors/outbox/address'
import type { CountMails } from '#actors/outbox/commands'
import { subscriberAddress } from '#actors/subscriber/address'
import type { AdvanceMail, MailFailed, SubscriberCommand } from '#actors/subscriber/commands'
import type { MailState, SubscriberState } from '#actors/subscriber/state'
import { type SkipReason, skipReasons } from '#model/delivery'
import type { Entry } from '#model/entry'
import { Problem } from '#model/problem'
import { choose, isHourOver, type Pending } from '#notifications/choose'
import { type Composer, moveTo, type NextMail, type Progress } from '#notifications/composer'
import { type Mail, type MailFault, MailRefused } from '#notifications/mail'
import { refusalsAfter } from '#notifications/refusals'
import { retryAfter } from '#notifications/retry'
import type { TopicPasses } from '#notifications/topic-passes'
import type { ActorAddress } from '#runtime/actor'
import type { System } from '#runtime/system'
import { BackOff } from '#workers/back-off'
import { isBusy } from '#workers/busy'
import { Rate } from '#workers/rate'

export interface DelivererParts {
  readonly system: System<Entry>
  readonly mail: Mail
  readonly mailsPerHourMax: number
  readonly composer: Composer
  readonly passes: TopicPasses
  readonly log: DelivererLog
}

export interface DelivererLog {
  info(fields: object, message: string): void
  warn(fields: object, message: string): void
  error(fields: object, message: string): void
}

/** Somebody whose next mail is seen to. */
export interface Subscriber {
  readonly tenant: string
  readonly id: string
}

/** What comes after what was done for somebody. */
export type After = 'again' | 'nothing' | Wait

/** Nothing is done for somebody for so long. `mail`: how far he has heard until then, where that is known. */
interface Wait {
  readonly waitMs: number
  readonly mail?: MailState
}

/**
 * A hundred a second; ten beside a busy loop, and four where it has no time left, for each is as much work as three hundred
 * changes.
 */
const sentAtMost = { countMax: 10, withinMs: 100 }
const sentBesideMuch = { countMax: 1, withinMs: 100 }
const sentBesideAll = { countMax: 1, withinMs: 250 }
const fullFrom = 9 / 10
const retryMs = 1_000

/**
 * Does for one subscriber the one thing that comes next: sends him a mail, or passes over what he does not hear, and stores
 * that. Nobody else does anything for him meanwhile.
 */
export class Deliverer {
  readonly #parts: DelivererParts
  readonly #rate: Rate
  readonly #rateBesideMuch: Rate
  readonly #rateBesideAll: Rate
  readonly #backOff: BackOff
  /** Mails that were handed over, by what was said to them. */
  readonly sent: Record<'ok' | MailFault, number> = { ok: 0, recipient: 0, message: 0, later: 0, transport: 0 }
  /** Requests that were told to somebody in no way, by why. */
  readonly passed = Object.fromEntries(skipReasons.map((reason) => [reason, 0])) as Record<SkipReason, number>
  #lastError: string | undefined
  #isStopped = false

  constructor(parts: DelivererParts) {
    this.#parts = parts
    this.#rate = new Rate(parts.system.world, sentAtMost)
    this.#rateBesideMuch = new Rate(parts.system.world, sentBesideMuch)
    this.#rateBesideAll = new Rate(parts.system.world, sentBesideAll)
    this.#backOff = new BackOff(parts.system.world)
  }

  /** The mail server failed last: one is tried at a time. */
  get isFailing(): boolean {
    return this.#backOff.isFailing
  }

  /** How long nothing is tried; 0: it may be. */
  get restMs(): number {
    return this.#backOff.waitMs()
  }

  /** Of the outage that goes on. */
  get lastError(): string | undefined {
    return this.#lastError
  }

  /** Nothing more is handed over; what was is stored. */
  stop(): void {
    this.#isStopped = true
  }

  /**
   * `hasPlace`: it waited for its place among those that are sent.
   * @throws Stopped; Problem `storage`
   */
  async next(who: Subscriber, hasPlace = false): Promise<After> {
    const { system, mailsPerHourMax } = this.#parts
    if (!isTenantThere(system, who.tenant)) return 'nothing'
    const state = system.peek(subscriberAddress(who.tenant, who.id))
    const { world } = system
    const choice = choose(state.mail, this.#pendingsOf(state), world.now(), mailsPerHourMax)
    switch (choice.type) {
      case 'idle':
        this.#cameTo(state)
        return 'nothing'
      case 'wait':
        this.#cameTo(state)
        // The timer goes by another clock, and may fire a fraction early: never for less than a millisecond.
        return { waitMs: Math.max(choice.until - world.now(), 1), mail: state.mail }
      case 'expire': {
        const { pending, requests } = choice
        const moves = [moveTo(pending, requests.at(-1)?.seq ?? pending.cursor)]
        const outcome = { passed: 'expired', count: requests.length } as const
        return this.#advance(who, state, { moves, outcome, beside: [] })
      }
      case 'send':
      case 'digest': {
        const waitMs = hasPlace ? 0 : this.#placeInMs()
        if (waitMs > 0) {
          await this.#later(waitMs)
          return this.next(who, true)
        }
        return this.#handOver(who, state, await this.#parts.composer.next(state, choice))
      }
    }
  }

  /** How long to wait for it. */
  #placeInMs(): number {
    const { world } = this.#parts.system
    if (world.loopShare() >= fullFrom) return this.#rateBesideAll.take()
    return (isBusy(world) ? this.#rateBesideMuch : this.#rate).take()
  }

  /** For now: of what he heard, perhaps nobody needs anything any more. */
  #cameTo({ tenant, subscriptions }: SubscriberState): void {
    this.#parts.passes.movedOn(
      tenant,
      subscriptions.map((each) => each.function),
    )
  }

  #pendingsOf({ tenant, subscriptions, mail }: SubscriberState): readonly Pending[] {
    return subscriptions.flatMap((subscription) => {
      const { id, function: fn } = subscription
      const cursor = mail.cursors[id] ?? 0
      const missed = mail.missed[fn] ?? 0
      const head = this.#parts.passes.headOf(tenant, fn)
      if (!head || (head.seq <= cursor && missed === 0)) return []
      return [{ subscription, cursor, head, requests: this.#parts.passes.requestsOf(tenant, fn, cursor), missed }]
    })
  }

  async #handOver(who: Subscriber, state: SubscriberState, next: NextMail): Promise<After> {
    const { system, mail } = this.#parts
    if (next.type === 'pass') return this.#advance(who, state, next.progress)
    await system.gate.settled()
    // The store may take no writes, and then nobody could say what became of it.
    if (!system.gate.isOpen) throw new Problem('storage')
    if (this.#isStopped || !isTenantThere(system, who.tenant)) return 'nothing'
    if (!next.isStillMeant()) return 'again'
    try {
      await mail.send(next.message)
    } catch (error) {
      return this.#refused(who, state, next, error)
    }
    this.#left()
    this.sent.ok++
    const { hour } = state.mail
    const now = system.world.now()
    const hourNow = isHourOver(hour, now) ? { from: now, count: 1 } : { ...hour, count: hour.count + 1 }
    return this.#advance(who, state, next.progress, { hour: hourNow, refusals: null })
  }

  #refused(
    who: Subscriber,
    state: SubscriberState,
    { message, progress }: Extract<NextMail, { readonly type: 'mail' }>,
    error: unknown,
  ): Promise<After> | After {
    const { world } = this.#parts.system
    if (!(error instanceof MailRefused)) this.#parts.log.error({ err: error }, 'a bug: a mail was not sent')
    const kind = error instanceof MailRefused ? error.kind : 'later'
    this.sent[kind]++
    if (kind === 'transport') {
      this.#rests(error)
      return 'again'
    }
    this.#left()
    if (kind === 'later') {
      const failed: MailFailed = { type: 'failed', retry: retryAfter(state.mail.retry, world) }
      return this.#store(who, [[subscriberAddress(who.tenant, who.id), failed]])
    }
    const count = progress.outcome && 'sent' in progress.outcome ? progress.outcome.of : 0
    const refusals = refusalsAfter(state.mail.refusals, message.to, world.now())
    return this.#advance(who, state, { ...progress, outcome: { passed: 'rejected', count } }, { refusals })
  }

  /** The server answered, whatever it said. */
  #left(): void {
    if (this.#backOff.isFailing) this.#parts.log.info({}, 'mails leave again')
    this.#backOff.succeeded()
    this.#lastError = undefined
  }

  #rests(error: unknown): void {
    const code = error instanceof MailRefused ? error.code : 'UNKNOWN'
    if (!this.#backOff.isFailing) this.#parts.log.warn({ lastError: code }, 'mails do not leave; tried less often')
    this.#lastError = code
    this.#backOff.failed(undefined)
  }

  #advance(
    who: Subscriber,
    { mail }: SubscriberState,
    { moves, outcome, beside }: Progress,
    changed: Partial<Pick<AdvanceMail, 'hour' | 'refusals'>> = {},
  ): Promise<After> {
    const { hour, refusals } = mail
    for (const { reason, count } of [...passedOf(outcome), ...beside]) this.passed[reason] += count
    const advance: AdvanceMail = { type: 'advance', moves, outcome, hour, refusals, ...changed }
    return this.#store(who, [
      [subscriberAddress(who.tenant, who.id), advance],
      ...beside.map((passed) => [outboxAddress(who.tenant), { type: 'count', passed } satisfies CountMails] as const),
    ])
  }

  /** All in one commit, for all are asked in one go. It waits for a store that takes no writes, and is not done twice. */
  async #store(
    who: Subscriber,
    asked: readonly (readonly [ActorAddress, SubscriberCommand | CountMails])[],
  ): Promise<After> {
    const { system } = this.#parts
    for (;;) {
      try {
        if (!isTenantThere(system, who.tenant)) return 'nothing'
        await Promise.all(asked.map(([address, command]) => system.ask(address, command, 0)))
        return 'again'
      } catch (error) {
        if (!(error instanceof Problem) || error.code !== 'storage') throw error
        await this.#later(retryMs)
      }
    }
  }

  #later(ms: number): Promise<void> {
    return new Promise((resolve) => this.#parts.system.world.after(ms, resolve))
  }
}

function passedOf(outcome: AdvanceMail['outcome']): NonNullable<CountMails['passed']>[] {
  return outcome && 'passed' in outcome ? [{ reason: outcome.passed, count: outcome.count }] : []
}
