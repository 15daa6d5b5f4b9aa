import type { WebhookAnswer } from '#model/webhook'
import type { WebhookPost } from '#notifications/webhook-sender'
import type { Participants } from '#test/simulation/participants'
import { mayRead } from '#test/simulation/reference-filter'
import { needsOfSending } from '#test/simulation/reference-mails'
import type { WebhookWatcher } from '#test/simulation/simulated-receivers'
import type { Witness } from '#test/simulation/witness'

type Parts = Pick<Participants, 'people' | 'functions'>

interface Message {
  readonly data: Readonly<{ function: string; device: string; value: unknown; meta: object }>
}

/**
 * Checks all webhooks when they are handed over and when they arrive. The author must be permitted at the time of
 * hand-over, and each webhook arrives once, except after a crash or a failed attempt. Contract 12.
 */
export class WebhookChecker implements WebhookWatcher {
  readonly #witness: Witness
  readonly #parts: Parts
  /** The number of arrivals, by id. */
  readonly #arrivals = new Map<string, number>()
  /** The number of permitted arrivals, by id. */
  readonly #permitted = new Map<string, number>()
  /** Ids whose result may not be stored yet. */
  readonly #open = new Set<string>()
  readonly #called = new Set<string>()

  constructor(witness: Witness, parts: Parts) {
    this.#witness = witness
    this.#parts = parts
  }

  wasCalled(name: string, device: string, value: unknown): boolean {
    return this.#called.has(`${name} ${device} ${value}`)
  }

  handed(post: WebhookPost): void {
    const id = idOf(post)
    this.#witness.count('webhook')
    this.#open.add(id)
    if (!this.#permitted.has(id)) this.#permitted.set(id, 1)
    this.#check(JSON.parse(post.body))
  }

  arrived(post: WebhookPost): void {
    const id = idOf(post)
    this.#arrivals.set(id, (this.#arrivals.get(id) ?? 0) + 1)
    const { data } = JSON.parse(post.body) as Message
    this.#called.add(`${data.function} ${data.device} ${data.value}`)
  }

  answered(post: WebhookPost, answer: WebhookAnswer): void {
    if (answer === 204) return
    this.#witness.count(`webhook failed: ${answer}`)
    this.#mayComeAgain(idOf(post))
  }

  senderDied(): void {
    for (const id of this.#open) this.#mayComeAgain(id)
    this.#open.clear()
  }

  /** Call when all results are stored: checks how often each webhook arrived. */
  settle(): void {
    this.#open.clear()
    for (const [id, count] of this.#arrivals) {
      const countMax = this.#permitted.get(id) ?? 0
      if (count > countMax) this.#witness.report(`webhook ${id} arrived ${count} times, and not ${countMax}`)
    }
  }

  #mayComeAgain(id: string): void {
    this.#permitted.set(id, (this.#permitted.get(id) ?? 1) + 1)
  }

  #check({ data: { function: name, device, value, meta } }: Message): void {
    const { people, functions } = this.#parts
    const { moment } = this.#witness
    const what = () => `a webhook reports that ${device} has ${value}, by ${name}`
    const fn = functions.named(name)
    // The creation of the function was never answered.
    if (!fn) return
    const notifying = functions.notifyingVersions(fn, device, moment)
    this.#witness.check(what, notifying.map(alone))
    const author = people.persons.find(({ account }) => account === fn.author)
    if (!author) return
    this.#witness.count('webhook of a known author')
    const active = author.state.since(moment).filter((version) => version.value === 'active')
    this.#witness.check(() => `${what()}, of a disabled author`, active.map(alone))
    for (const [need, isMet] of needsOfSending(device, fn.plan.cause)) {
      this.#witness.check(() => `${what()}, whose author lacks ${need}`, author.grounds(moment, isMet))
    }
    if (Object.keys(meta).length === 0) return
    const grounds = author.grounds(moment, (grants) => mayRead(grants, 'meta', device))
    this.#witness.check(() => `${what()}, with metadata`, grounds)
  }
}

/** A version as the only ground. */
function alone<T>(version: T): readonly [T] {
  return [version]
}

function idOf({ headers }: WebhookPost): string {
  return headers['webhook-id'] ?? ''
}
