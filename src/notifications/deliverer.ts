import { isTenantActive } from '#actors/directory/queries'
import { type OutboxCommand, outboxAddress } from '#actors/outbox/outbox'
import {
  type MailState,
  type SubscriberCommand,
  type SubscriberCommands,
  type SubscriberState,
  subscriberAddress,
} from '#actors/subscriber/state'
import { type SkipReason, skipReasons } from '#model/delivery'
import type { Entry } from '#model/entry'
import { Problem } from '#model/problem'
import { type Composer, moveTo, type NextMail, type Progress } from '#notifications/composer'
import { type Mail, type MailFault, MailRefused } from '#notifications/mail'
import { chooseMail, isHourOver, type PendingSubscription, refusalsAfter, retryAfter } from '#notifications/mail-choice'
import type { TopicPasses } from '#notifications/topic-passes'
import type { ActorAddress } from '#runtime/actor'
import type { Log } from '#runtime/log'
import type { System } from '#runtime/system'
import { BackOff } from '#workers/back-off'
import { LoadLimit } from '#workers/rate-limit'

export interface DelivererParts {
  readonly system: System<Entry>
  readonly mail: Mail
  readonly mailsPerHourMax: number
  readonly composer: Composer
  readonly passes: TopicPasses
  readonly log: Pick<Log, 'error' | 'warn' | 'info'>
}

/** A subscriber, by tenant and id. */
export interface Subscriber {
  readonly tenant: string
  readonly id: string
}

export type After = 'again' | 'nothing' | Wait

interface Wait {
  readonly waitMs: number
  /** The subscriber's position during the pause, if known. */
  readonly mail?: MailState
}

/**
 * 100 mails a second; 10 if the event loop is busy, and 4 if it is full, because each mail costs as much as 300
 * property changes. See `LoadLimits`.
 */
const sentAtMost = { idle: 10, busy: 1, full: 1 }

/**
 * Takes the next step for one subscriber: sends a mail, or passes over requests that the subscriber may not receive,
 * and stores the result. Only one step of a subscriber runs at a time.
 */
export class Deliverer {
  readonly #parts: DelivererParts
  readonly #limit: LoadLimit
  readonly #backOff: BackOff
  /** Attempts to hand over a mail, by result. */
  readonly sent: Record<'ok' | MailFault, number> = { ok: 0, recipient: 0, message: 0, later: 0, transport: 0 }
  readonly passed = Object.fromEntries(skipReasons.map((reason) => [reason, 0])) as Record<SkipReason, number>
  #lastError: string | undefined
  #isStopped = false

  constructor(parts: DelivererParts) {
    this.#parts = parts
    this.#limit = new LoadLimit(parts.system.world, sentAtMost)
    this.#backOff = new BackOff(parts.system.world)
  }

  /** Whether the last attempt failed with `transport`. Mails are then tried one at a time. */
  get isFailing(): boolean {
    return this.#backOff.isFailing
  }

  /** Ms until the next attempt is allowed; 0: now. */
  get restMs(): number {
    return this.#backOff.waitMs()
  }

  get lastError(): string | undefined {
    return this.#lastError
  }

  /** Hands over no more mails. The results of earlier mails are still stored. */
  stop(): void {
    this.#isStopped = true
  }

  /**
   * `hasPlace`: the mail has waited for its place under the rate limit.
   * @throws WorkStopped; Problem `storage`
   */
  async next(subscriber: Subscriber, hasPlace = false): Promise<After> {
    const { system, mailsPerHourMax } = this.#parts
    if (!isTenantActive(system, subscriber.tenant)) return 'nothing'
    const state = system.peek(subscriberAddress(subscriber.tenant, subscriber.id))
    const { world } = system
    const choice = chooseMail(state.mail, this.#pendingsOf(state), world.now(), mailsPerHourMax)
    switch (choice.type) {
      case 'idle':
        this.#cameTo(state)
        return 'nothing'
      case 'wait':
        this.#cameTo(state)
        // The timer uses another clock and may fire a fraction early, so wait for at least a millisecond.
        return { waitMs: Math.max(choice.until - world.now(), 1), mail: state.mail }
      case 'expire': {
        const { pending, requests } = choice
        const moves = [moveTo(pending, requests.at(-1)?.seq ?? pending.cursor)]
        const outcome = { passed: 'expired', count: requests.length } as const
        return this.#advance(subscriber, state, { moves, outcome, skipped: [] })
      }
      case 'send':
      case 'digest': {
        const waitMs = hasPlace ? 0 : this.#limit.take()
        if (waitMs > 0) {
          await new Promise<void>((resolve) => world.after(waitMs, resolve))
          return this.next(subscriber, true)
        }
        return this.#handOver(subscriber, state, await this.#parts.composer.next(state, choice))
      }
    }
  }

  /** Requests up to these cursors may no longer be needed by any subscriber. */
  #cameTo({ tenant, subscriptions }: SubscriberState): void {
    this.#parts.passes.movedOn(
      tenant,
      subscriptions.map((each) => each.function),
    )
  }

  #pendingsOf({ tenant, subscriptions, mail }: SubscriberState): readonly PendingSubscription[] {
    return subscriptions.flatMap((subscription) => {
      const { id, function: fn } = subscription
      const cursor = mail.cursors[id] ?? 0
      const missed = mail.missed[fn] ?? 0
      const head = this.#parts.passes.headOf(tenant, fn)
      if (!head || (head.seq <= cursor && missed === 0)) return []
      return [{ subscription, cursor, head, requests: this.#parts.passes.requestsOf(tenant, fn, cursor), missed }]
    })
  }

  async #handOver(subscriber: Subscriber, state: SubscriberState, next: NextMail): Promise<After> {
    const { system, mail } = this.#parts
    if (next.type === 'pass') return this.#advance(subscriber, state, next.progress)
    await system.gate.whenStored()
    // If the store takes no writes, the result of the mail could not be stored.
    if (!system.gate.isOpen) throw new Problem('storage')
    if (this.#isStopped || !isTenantActive(system, subscriber.tenant)) return 'nothing'
    if (!next.isStillWanted()) return 'again'
    try {
      await mail.send(next.message)
    } catch (error) {
      return this.#refused(subscriber, state, next, error)
    }
    this.#serverAnswered()
    this.sent.ok++
    const { hour } = state.mail
    const now = system.world.now()
    const hourNow = isHourOver(hour, now) ? { from: now, count: 1 } : { ...hour, count: hour.count + 1 }
    return this.#advance(subscriber, state, next.progress, { hour: hourNow, refusals: null })
  }

  #refused(
    subscriber: Subscriber,
    state: SubscriberState,
    { message, progress }: Extract<NextMail, { readonly type: 'mail' }>,
    error: unknown,
  ): Promise<After> | After {
    const { world } = this.#parts.system
    if (!(error instanceof MailRefused)) this.#parts.log.error({ err: error }, 'a bug: sending a mail failed')
    const kind = error instanceof MailRefused ? error.kind : 'later'
    this.sent[kind]++
    if (kind === 'transport') {
      this.#pauseAfter(error)
      return 'again'
    }
    this.#serverAnswered()
    if (kind === 'later') {
      const failed: SubscriberCommand = { type: 'failed', retry: retryAfter(state.mail.retry, world) }
      return this.#store(subscriber, [[subscriberAddress(subscriber.tenant, subscriber.id), failed]])
    }
    const count = progress.outcome && 'sent' in progress.outcome ? progress.outcome.of : 0
    const refusals = refusalsAfter(state.mail.refusals, message.to, world.now())
    return this.#advance(subscriber, state, { ...progress, outcome: { passed: 'rejected', count } }, { refusals })
  }

  #serverAnswered(): void {
    if (this.#backOff.isFailing) this.#parts.log.info({}, 'mail delivery works again')
    this.#backOff.succeeded()
    this.#lastError = undefined
  }

  #pauseAfter(error: unknown): void {
    const code = error instanceof MailRefused ? error.code : 'UNKNOWN'
    if (!this.#backOff.isFailing) this.#parts.log.warn({ lastError: code }, 'mail delivery fails; retrying less often')
    this.#lastError = code
    this.#backOff.failed(undefined)
  }

  #advance(
    subscriber: Subscriber,
    { mail }: SubscriberState,
    { moves, outcome, skipped }: Progress,
    changed: Partial<Pick<SubscriberCommands['advance'], 'hour' | 'refusals'>> = {},
  ): Promise<After> {
    const { hour, refusals } = mail
    for (const { reason, count } of [...passedOf(outcome), ...skipped]) this.passed[reason] += count
    const advance: SubscriberCommand = { type: 'advance', moves, outcome, hour, refusals, ...changed }
    return this.#store(subscriber, [
      [subscriberAddress(subscriber.tenant, subscriber.id), advance],
      ...skipped.map((passed) => [outboxAddress(subscriber.tenant), { type: 'count', passed }] as const),
    ])
  }

  async #store(
    { tenant }: Subscriber,
    asked: readonly (readonly [ActorAddress, SubscriberCommand | OutboxCommand])[],
  ): Promise<After> {
    return (await storeResults(this.#parts.system, tenant, asked)) ? 'again' : 'nothing'
  }
}

const retryMs = 1_000

/**
 * Sends all commands without a wait between them, so that they share one commit. Retries while the store takes no
 * writes. False: the tenant was deleted.
 */
export async function storeResults(
  system: System<Entry>,
  tenant: string,
  asked: readonly (readonly [ActorAddress, command: unknown])[],
): Promise<boolean> {
  for (;;) {
    try {
      if (!isTenantActive(system, tenant)) return false
      await Promise.all(asked.map(([address, command]) => system.ask(address, command, 0)))
      return true
    } catch (error) {
      if (!(error instanceof Problem) || error.code !== 'storage') throw error
      await new Promise<void>((resolve) => system.world.after(retryMs, resolve))
    }
  }
}

function passedOf(outcome: SubscriberCommands['advance']['outcome']): NonNullable<OutboxCommand['passed']>[] {
  return outcome && 'passed' in outcome ? [{ reason: outcome.passed, count: outcome.count }] : []
}
