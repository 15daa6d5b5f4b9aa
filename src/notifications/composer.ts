import { type CursorMove, type MailOutcome, type SubscriberState, subscriberAddress } from '#actors/subscriber/state'
import type { DeliveryRequest, SkipReason } from '#model/delivery'
import type { Entry } from '#model/entry'
import type { StoredFunction } from '#model/function'
import type { JsonObject } from '#model/json-value'
import { isMailable } from '#model/mail-address'
import { type RenderedText, renderMail } from '#model/mail-text'
import { OutputTooLarge } from '#model/mustache'
import type { StoredSubscription } from '#model/subscription'
import { type Mail, type MailMessage, mailOf } from '#notifications/mail'
import {
  gapUpTo,
  isResting,
  type MailChoice,
  type PendingRequest,
  type PendingSubscription,
} from '#notifications/mail-choice'
import { dataOf, runContextOf } from '#notifications/mail-data'
import { mayReceive, mayReceiveAll, type StoredRecipient } from '#notifications/recipient-access'
import type { FunctionViews } from '#rules/function-views'
import type { System } from '#runtime/system'
import type { Pace } from '#workers/pace'

export interface ComposerParts {
  readonly system: System<Entry>
  readonly functions: FunctionViews
  readonly mail: Mail
  /** The stored user. `user`: the resource name. */
  readonly recipientOf: (tenant: string, user: string) => StoredRecipient
  readonly pace: Pace
  /** The pages where the recipients of mails can end their subscriptions. */
  readonly unsubscribeUrls: {
    urlOf(base: string, of: { tenant: string; user: string; subscription: string }): string
  }
  /** Links in mails begin with the first URL; without any, with the origin at which the user subscribed. */
  readonly publicUrls: readonly string[]
}

/** How far the subscriber's cursors move, and what is counted. */
export interface Progress {
  readonly moves: readonly CursorMove[]
  readonly outcome: MailOutcome | null
  /** Requests that a digest leaves out, by reason. */
  readonly skipped: readonly { readonly reason: SkipReason; readonly count: number }[]
}

/** The next mail, or requests that are passed over without a mail. */
export type NextMail =
  | { readonly type: 'pass'; readonly progress: Progress }
  | {
      readonly type: 'mail'
      readonly message: MailMessage
      readonly progress: Progress
      /**
       * Whether the subscriber may still receive the whole mail. Checked immediately before the mail is handed over.
       */
      readonly isStillWanted: () => boolean
    }

type Chosen = Extract<MailChoice, { readonly type: 'send' | 'digest' }>

/** The state of a subscriber when the mail was begun, and everything that decides what the subscriber may receive. */
interface Moment {
  readonly state: SubscriberState
  readonly user: string
  readonly recipient: StoredRecipient
  readonly allInputs: ReadonlyMap<PendingSubscription, Inputs>
}

/** A function, its groups' members, and its templates. None is changed in place, so the same object means no change. */
type Inputs = readonly [fn: StoredFunction | undefined, ...others: unknown[]]

/** The characters of a digest line other than its subject. */
const timeCharacters = 30

/** The limit of requests of one subscription that are passed over together. */
const passedAtOnce = 256

/**
 * Composes the chosen mail from the functions, templates and permissions that are stored now. Each request is checked
 * as if it were a mail of its own, also in a digest. Contract 5.7.
 */
export class Composer {
  readonly #parts: ComposerParts

  constructor(parts: ComposerParts) {
    this.#parts = parts
  }

  /** @throws WorkStopped; Problem `storage` */
  async next(state: SubscriberState, choice: Chosen): Promise<NextMail> {
    if (choice.type === 'digest') return this.#digest(state, choice.pendings)
    return this.#single(state, choice.pending, choice.request)
  }

  #single(state: SubscriberState, pending: PendingSubscription, request: DeliveryRequest): NextMail {
    const moment = this.#momentOf(state, [pending])
    const text = this.#textOf(moment, pending, request)
    if (typeof text === 'string') return { type: 'pass', progress: this.#skip(moment, pending, request, text) }
    const progress = { moves: [moveTo(pending, request.seq)], outcome: { sent: 'mail', of: 1 } as const, skipped: [] }
    return this.#mail(moment, this.#messageOf(moment, pending, request, text), progress)
  }

  async #digest(state: SubscriberState, pendings: readonly PendingSubscription[]): Promise<NextMail> {
    const moment = this.#momentOf(state, pendings)
    const { pace } = this.#parts
    const sections: DigestSection[] = []
    const passed = new Map<SkipReason, number>()
    let only: (PendingRequest & { readonly text: RenderedText }) | undefined
    let charactersLeft = digestCharactersMax
    for (const pending of pendings) {
      const lines: DigestLine[] = []
      let more = 0
      // The newest lines are shown, so the newest requests are composed first.
      await pace.each([...pending.requests].reverse(), (request) => {
        const isListed = lines.length < digestLinesMax && charactersLeft > 0
        const text = isListed ? this.#textOf(moment, pending, request) : this.#reasonOf(moment, pending, request)
        if (typeof text === 'string') {
          passed.set(text, (passed.get(text) ?? 0) + 1)
          return
        }
        if (!text) {
          more++
          return
        }
        charactersLeft -= text.subject.length + timeCharacters
        lines.push({ at: request.at, subject: text.subject })
        only = { pending, request, text }
      })
      if (this.#isCountedFor(moment, pending)) more += pending.missed + gapUpTo(pending, pending.head.seq)
      const name = functionOf(moment, pending)?.name ?? ''
      if (lines.length + more > 0) sections.push({ name, lines: lines.reverse(), more })
    }
    const count = sections.reduce((sum, { lines, more }) => sum + lines.length + more, 0)
    const moves = pendings.map((pending) => ({ ...moveTo(pending, pending.head.seq), missed: 0 }))
    const skipped = [...passed].map(([reason, number]) => ({ reason, count: number }))
    if (count === 0) return { type: 'pass', progress: { moves, outcome: null, skipped } }
    if (count === 1 && only) {
      const message = this.#messageOf(moment, only.pending, only.request, only.text)
      return this.#mail(moment, message, { moves, outcome: { sent: 'mail', of: 1 }, skipped })
    }
    const message = this.#digestMessageOf(moment, pendings, sections)
    return this.#mail(moment, message, { moves, outcome: { sent: 'digest', of: count }, skipped })
  }

  /** Passes over the request, and the requests after it that have the same reason. */
  #skip(moment: Moment, pending: PendingSubscription, request: DeliveryRequest, reason: SkipReason): Progress {
    let last = request
    let count = 0
    for (const other of pending.requests.slice(0, passedAtOnce)) {
      if (other !== request && this.#reasonOf(moment, pending, other) !== reason) break
      last = other
      count++
    }
    return { moves: [moveTo(pending, last.seq)], outcome: { passed: reason, count }, skipped: [] }
  }

  #mail(moment: Moment, message: MailMessage, progress: Progress): NextMail {
    return { type: 'mail', message, progress, isStillWanted: () => this.#isStillWanted(moment) }
  }

  /** Whether everything that the decision was based on is unchanged. */
  #isStillWanted({ state: before, user, recipient, allInputs }: Moment): boolean {
    const { system, recipientOf } = this.#parts
    const { tenant, id } = before
    const { subscriptions } = system.peek(subscriberAddress(tenant, id))
    const now = recipientOf(tenant, user)
    if (now.address !== recipient.address || now.isActive !== recipient.isActive) return false
    // The scope also decides which names appear in the text.
    if (now.scope !== recipient.scope && now.scope.fingerprint !== recipient.scope.fingerprint) return false
    return [...allInputs].every(([pending, inputs]) => {
      const { id: subscription, locale } = pending.subscription
      if (!subscriptions.some((each) => each.id === subscription && each.locale === locale)) return false
      const inputsNow = this.#inputsOf(tenant, pending)
      return inputsNow.length === inputs.length && inputsNow.every((each, place) => each === inputs[place])
    })
  }

  /** The text of the mail, or the reason why there is none. */
  #textOf(moment: Moment, pending: PendingSubscription, request: DeliveryRequest): RenderedText | SkipReason {
    const reason = this.#reasonOf(moment, pending, request)
    if (reason) return reason
    const { tenant } = moment.state
    const template = this.#parts.functions.templateOf(tenant, request.template)
    if (!template) return 'no_template'
    try {
      return renderMail(template, pending.subscription.locale, this.#dataOf(moment, pending, request))
    } catch (error) {
      if (error instanceof OutputTooLarge) return 'too_large'
      throw error
    }
  }

  #reasonOf(moment: Moment, pending: PendingSubscription, request: DeliveryRequest): SkipReason | undefined {
    const { recipient, state } = moment
    const fn = functionOf(moment, pending)
    const reason = mayReceive({ recipient, function: fn, request, membersOf: this.#membersIn(state.tenant) })
    if (reason || recipient.address === null) return reason
    return isResting(state.mail.refusals, recipient.address, this.#now) ? 'resting' : undefined
  }

  /** Whether the subscriber may learn the count of requests that were not stored. */
  #isCountedFor(moment: Moment, pending: PendingSubscription): boolean {
    const { recipient, state } = moment
    const fn = functionOf(moment, pending)
    if (!fn?.enabled || !recipient.isActive || recipient.address === null || !isMailable(recipient.address))
      return false
    if (isResting(state.mail.refusals, recipient.address, this.#now)) return false
    return mayReceiveAll(recipient.scope, fn, this.#membersIn(state.tenant))
  }

  /** Uses names where the subscriber may read them, ids otherwise. */
  #dataOf(moment: Moment, pending: PendingSubscription, request: DeliveryRequest): JsonObject {
    const { tenant } = moment.state
    const reader = { tenant, scope: moment.recipient.scope, membersOf: this.#membersIn(tenant) }
    const name = functionOf(moment, pending)?.name ?? ''
    return dataOf(request, runContextOf(this.#parts.system, reader, name, request))
  }

  #messageOf(
    { state, recipient }: Moment,
    pending: PendingSubscription,
    request: DeliveryRequest,
    text: RenderedText,
  ): MailMessage {
    const { mail, unsubscribeUrls } = this.#parts
    const { tenant, id } = state
    const { subscription } = pending
    const base = this.#originOf(subscription)
    const of = { tenant, user: id, subscription: subscription.id }
    return mailOf({
      mail,
      to: recipient.address ?? '',
      seed: ['request', tenant, subscription.function, request.seq, id].join('\n'),
      date: request.at,
      text,
      listId: `${subscription.function}.${mail.host}`,
      ...(base !== '' && { unsubscribeUrl: unsubscribeUrls.urlOf(base, of) }),
    })
  }

  /**
   * There is one digest an hour, so the hour identifies the digest. A digest covers many functions, so it has no
   * unsubscribe link.
   */
  #digestMessageOf(
    { state, recipient }: Moment,
    pendings: readonly PendingSubscription[],
    sections: readonly DigestSection[],
  ): MailMessage {
    const { mail } = this.#parts
    const { tenant, id } = state
    const [first] = pendings
    return mailOf({
      mail,
      to: recipient.address ?? '',
      seed: ['digest', tenant, id, state.mail.hour.from].join('\n'),
      date: Math.max(...pendings.map(({ head }) => head.at)),
      text: digestOf(sections, first ? this.#originOf(first.subscription) : ''),
    })
  }

  #momentOf(state: SubscriberState, pendings: readonly PendingSubscription[]): Moment {
    const { tenant } = state
    const user = pendings[0]?.subscription.createdBy
    if (user === undefined) throw new Error('a mail has no subscription')
    const allInputs = new Map(pendings.map((pending) => [pending, this.#inputsOf(tenant, pending)]))
    return { state, user, recipient: this.#parts.recipientOf(tenant, user), allInputs }
  }

  #inputsOf(tenant: string, { subscription, requests }: PendingSubscription): Inputs {
    const { functions } = this.#parts
    const fn = functions.storedOf(tenant, subscription.function)
    const templates = new Set(requests.map(({ template }) => template))
    return [
      fn,
      ...(fn?.groups ?? []).map(this.#membersIn(tenant)),
      ...[...templates].map((name) => functions.templateOf(tenant, name)),
    ]
  }

  #membersIn(tenant: string) {
    return (group: string) => this.#parts.functions.membersOf(tenant, group)
  }

  #originOf({ origin }: StoredSubscription): string {
    return this.#parts.publicUrls[0] ?? origin
  }

  get #now(): number {
    return this.#parts.system.world.now()
  }
}

function functionOf({ allInputs }: Moment, pending: PendingSubscription): StoredFunction | undefined {
  return allInputs.get(pending)?.[0]
}

/** Moves the cursor to `to`. Requests up to `to` that were never stored are counted for the next digest. */
export function moveTo(pending: PendingSubscription, to: number): CursorMove {
  const gap = gapUpTo(pending, to)
  const move = { subscription: pending.subscription.id, to }
  return gap === 0 ? move : { ...move, missed: pending.missed + gap }
}

/** One mail about many events. Contract 5.7. */

/** The limit of lines of one function. The newest lines are shown. */
const digestLinesMax = 100

/** The limit of all lines together, in UTF-16 units. With headings the mail stays under 256 KiB, in any script. */
const digestCharactersMax = 64_000

interface DigestLine {
  /** Unix ms. */
  readonly at: number
  /** The subject of a mail about this event alone. */
  readonly subject: string
}

export interface DigestSection {
  readonly name: string
  /** In order of time. */
  readonly lines: readonly DigestLine[]
  /** The number of further events without a line. */
  readonly more: number
}

/** `origin`: where subscriptions can be ended, `https://host`, or '' if unknown. Sections are ordered by name. */
function digestOf(
  sections: readonly DigestSection[],
  origin: string,
): { readonly subject: string; readonly text: string } {
  const count = sections.reduce((sum, { lines, more }) => sum + lines.length + more, 0)
  const ended =
    origin === '' ? [] : [`You get this mail because you subscribed at ${origin}, where you can unsubscribe.\n`]
  const texts = [...sections].sort((a, b) => (a.name < b.name ? -1 : 1)).map(textOf)
  return { subject: count === 1 ? '1 notification' : `${count} notifications`, text: [...texts, ...ended].join('\n') }
}

function textOf({ name, lines, more }: DigestSection): string {
  const listed = lines.map(({ at, subject }) => `  ${new Date(at).toISOString()} ${subject}`)
  const others = more === 0 ? [] : [lines.length === 0 ? `  ${more}, not listed` : `  and ${more} more`]
  return [name, ...listed, ...others, ''].join('\n')
}
