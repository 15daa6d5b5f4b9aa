import { type DeliveryCommand, deliveryAddress } from '#actors/delivery/delivery'
import { absentDevice, type DeviceState, noThrottles } from '#actors/device/state'
import { stampsOf } from '#actors/device/state-changes'
import { type DeliveryCause, storedValue } from '#model/delivery'
import type { AlarmChanged, Declared, PropertyState, Reported, Stamps, StatusChanged } from '#model/entry'
import type { StoredFunction } from '#model/function'
import type { EmailNode, WebhookNode } from '#model/graph'
import type { RunInput, RunSink } from '#rules/function-graph'
import {
  type AuthorTriggers,
  type FunctionList,
  type FunctionRule,
  noFunctions,
  type ShapedTrigger,
} from '#rules/function-list'
import { type FunctionCounts, noFunctionCounts } from '#rules/function-views'
import type { Overflows, RequestedCounts, RequestRate } from '#rules/request-rate'
import { overflowUnits, requestUnits, ruleBudget, triggerUnits, turnUnitsMax } from '#rules/rule-budget'
import type { TenantFunctions } from '#rules/tenant-functions'
import type { Tell, Turn } from '#runtime/actor'

/** Entries that can match a trigger. */
export type TriggeringEntry = Reported | Declared | StatusChanged | AlarmChanged

/** The committed functions of all tenants, as device turns read them. */
export interface DeviceFunctions {
  /** The functions of a tenant. Undefined: it has no enabled ones. */
  of(tenant: string): Pick<TenantFunctions, 'version' | 'listOf'> | undefined
  /** The stored function, enabled or not; undefined if it was deleted. */
  storedOf(tenant: string, id: string): StoredFunction | undefined
  readonly counts: FunctionCounts
  readonly overflows: Pick<Overflows, 'add'>
  /**
   * Some triggers were not run on a device because their authors used up their shares of the turn. `ids` lists some of
   * the functions.
   */
  skipped(tenant: string, device: string, runs: { readonly count: number; readonly ids: readonly string[] }): void
}

/** Used between turns, so that an ended turn is not referenced. */
export const noDeviceFunctions: DeviceFunctions = {
  of: () => undefined,
  storedOf: () => undefined,
  counts: noFunctionCounts(),
  overflows: { add() {} },
  skipped() {},
}

/** The results of all runs of a turn. */
export interface RunsOutcome {
  readonly stamps: Stamps
  readonly requests: readonly Tell[]
  readonly requested: RequestedCounts
  /** Called after the commit. They count requests, including those beyond a rate, and report skipped functions. */
  readonly effects: readonly (() => void)[]
}

/** Used between turns instead of a device. */
const noDevice = absentDevice('')
const nothing: readonly never[] = Object.freeze([])

export const noRequests: RequestedCounts = new Map()

/** The largest count of requests beyond a rate for which the effect is cached. */
const overflowsKept = 64
/** Maximum number of skipped functions that the log names. */
const skippedIdsMax = 10

/**
 * The runs of one turn. Turns are synchronous, so one object serves all turns. Runs without results allocate nothing.
 */
export class TurnRuns implements RunSink {
  #state: DeviceState = noDevice
  #list: FunctionList = noFunctions
  #functions = noDeviceFunctions
  #tenant = ''
  /** The current run: its function and the entry that triggered it. */
  #rule: FunctionRule | undefined
  #entry: TriggeringEntry | undefined
  /** For an entry about properties: the position of the property in its shape. */
  #place = 0
  #stamped: ReadonlyMap<string, number> = noThrottles
  #requests: Tell[] | undefined
  #requested: RequestedCounts = noRequests
  #mailCount = 0
  #skippedCount = 0
  readonly #skippedIds = new Set<string>()
  /** Consecutive requests beyond the rate: their function, their webhook (none for mails) and their number. */
  #overflowing: FunctionRule | undefined
  #overflowingWebhook: WebhookNode | undefined
  #overflown = 0
  #effects: (() => void)[] | undefined
  /** Effects of requests beyond a rate, by count. Many turns in a row have the same count, so each is created once. */
  readonly #overflows = new WeakMap<FunctionRule | WebhookNode, RunsOutcome[]>()
  readonly #input: RunInput = {
    value: null,
    previous: null,
    device: '',
    time: 0,
    meta: () => (this.#rule && this.#list.mayReadMeta(this.#rule) ? this.#state.meta : null),
    passedAt: (key) => this.#stamped.get(key) ?? this.#state.throttles.get(key),
  }

  begin(state: DeviceState, list: FunctionList, turn: Turn, functions: DeviceFunctions): void {
    this.#state = state
    this.#list = list
    this.#functions = functions
    this.#tenant = turn.tenant
    this.#input.device = state.device
    this.#input.time = turn.now
    ruleBudget.begin(turnUnitsMax, list.authorCount)
  }

  /** Runs each trigger that matches this value. `place`: for an entry about properties, the position in its shape. */
  run(
    byAuthor: readonly AuthorTriggers[],
    value: PropertyState | boolean,
    previous: PropertyState | boolean,
    entry: TriggeringEntry,
    place = 0,
  ): void {
    const input = this.#input
    input.value = value
    input.previous = previous
    this.#entry = entry
    this.#place = place
    for (let index = 0; index < byAuthor.length; index++) {
      const { author, triggers } = byAuthor[index] as AuthorTriggers
      ruleBudget.turnTo(author)
      this.#runEach(triggers, input)
    }
  }

  /** Runs the triggers of one author until the author's share is used up. */
  #runEach(triggers: readonly ShapedTrigger[], input: RunInput): void {
    const { counts } = this.#functions
    let index = 0
    for (; index < triggers.length && !ruleBudget.isOver; index++) {
      const { rule, trigger } = triggers[index] as ShapedTrigger
      ruleBudget.charge(triggerUnits)
      if (!rule.graph.fits(trigger, input.value)) continue
      this.#rule = rule
      counts.runs++
      rule.graph.run(trigger, input, this)
    }
    const skipped = triggers.length - index
    if (skipped === 0) return
    counts.errors += skipped
    this.#skippedCount += skipped
    for (; index < triggers.length && this.#skippedIds.size < skippedIdsMax; index++) {
      this.#skippedIds.add((triggers[index] as ShapedTrigger).rule.id)
    }
  }

  stamped(key: string): void {
    if (this.#stamped === noThrottles) this.#stamped = new Map()
    const stamped = this.#stamped as Map<string, number>
    stamped.set(key, this.#input.time)
  }

  reached(node: EmailNode | WebhookNode): void {
    const { value, previous, device, time } = this.#input
    const rule = this.#rule as FunctionRule
    const isMail = node.type === 'email'
    if (!isMail && node.enabled === false) return
    const rate = isMail ? rule.rate : rule.webhookRate
    const requestCount = this.#requested.get(rate) ?? 0
    const ofAll = isMail ? this.#mailCount : (this.#requests?.length ?? 0) - this.#mailCount
    // Beyond the author's share of the turn, a request is treated as beyond the rate: a mail is only counted for the
    // digest, a webhook is dropped.
    if (ruleBudget.isOver || !rate.mayTake(time, requestCount, ofAll)) {
      ruleBudget.charge(overflowUnits)
      this.#overflow(rule, isMail ? undefined : node)
      return
    }
    ruleBudget.charge(requestUnits)
    if (this.#requested === noRequests) this.#requested = new Map()
    const requested = this.#requested as Map<Pick<RequestRate, 'take'>, number>
    requested.set(rate, requestCount + 1)
    if (isMail) this.#mailCount++
    const values = { value: storedValue(value), previous: storedValue(previous) }
    const cause = causeOf(this.#entry as TriggeringEntry, this.#place)
    const request = { at: time, device, node: node.id, ...values, cause }
    const command: DeliveryCommand = isMail
      ? { type: 'request', request: { ...request, template: node.template } }
      : { type: 'webhook', request }
    this.#requests ??= []
    this.#requests.push({ to: deliveryAddress(this.#tenant, rule.id), command })
  }

  failed(): void {
    this.#functions.counts.errors++
  }

  /** Undefined if no run had a result. */
  outcome(): RunsOutcome | undefined {
    const stamped = this.#stamped
    const requests = this.#requests
    const overflow = this.#overflowing && this.#overflowOf(this.#overflowing)
    if (this.#skippedCount > 0) {
      this.#effects ??= []
      this.#effects.push(this.#skippedOf(this.#skippedCount, [...this.#skippedIds]))
    }
    if (stamped === noThrottles && requests === undefined && this.#effects === undefined) return overflow
    const effects = [...(this.#effects ?? nothing), ...(overflow?.effects ?? nothing)]
    if (requests !== undefined) effects.push(this.#countOf(this.#mailCount))
    return {
      stamps: stamped === noThrottles ? nothing : stampsOf(stamped),
      requests: requests ?? nothing,
      requested: this.#requested,
      effects,
    }
  }

  #skippedOf(count: number, ids: readonly string[]): () => void {
    const functions = this.#functions
    const tenant = this.#tenant
    const { device } = this.#state
    return () => functions.skipped(tenant, device, { count, ids })
  }

  #countOf(mails: number): () => void {
    const { counts } = this.#functions
    return () => {
      counts.requests += mails
    }
  }

  #overflow(rule: FunctionRule, webhook: WebhookNode | undefined): void {
    if (this.#overflowing === rule && this.#overflowingWebhook === webhook) {
      this.#overflown++
      return
    }
    if (this.#overflowing) {
      this.#effects ??= []
      this.#effects.push(...this.#overflowOf(this.#overflowing).effects)
    }
    this.#overflowing = rule
    this.#overflowingWebhook = webhook
    this.#overflown = 1
  }

  #overflowOf(rule: FunctionRule): RunsOutcome {
    const webhook = this.#overflowingWebhook
    const count = this.#overflown
    const known = this.#overflows.get(webhook ?? rule) ?? []
    const found = known[count]
    if (found) return found
    const { counts, overflows } = this.#functions
    const tenant = this.#tenant
    const outcome = outcomeOf([
      () => {
        if (webhook) counts.webhooksDropped += count
        else counts.overflown += count
        overflows.add(tenant, rule.id, count, webhook?.id)
      },
    ])
    if (count <= overflowsKept) {
      known[count] = outcome
      this.#overflows.set(webhook ?? rule, known)
    }
    return outcome
  }

  /** Releases all references to the turn. */
  end(): void {
    this.#state = noDevice
    this.#list = noFunctions
    this.#functions = noDeviceFunctions
    this.#rule = undefined
    this.#entry = undefined
    this.#stamped = noThrottles
    this.#requests = undefined
    this.#requested = noRequests
    this.#mailCount = 0
    if (this.#skippedCount > 0) {
      this.#skippedCount = 0
      this.#skippedIds.clear()
    }
    this.#overflowing = undefined
    this.#overflowingWebhook = undefined
    this.#overflown = 0
    this.#effects = undefined
    this.#input.value = null
    this.#input.previous = null
    ruleBudget.end()
  }
}

function outcomeOf(effects: RunsOutcome['effects']): RunsOutcome {
  return { stamps: nothing, requests: nothing, requested: noRequests, effects }
}

function causeOf(entry: TriggeringEntry, place: number): DeliveryCause {
  switch (entry.kind) {
    case 'alarm_changed':
      return { on: 'alarm', alarm: entry.alarm }
    case 'status_changed':
      return { on: 'status' }
    default: {
      const { serviceIdentifier, properties } = entry.shape
      return { on: 'property', service: serviceIdentifier, propId: properties[place]?.propId ?? 0 }
    }
  }
}
