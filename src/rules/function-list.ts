import type { TriggerNode } from '#model/graph'
import { getOrInsert } from '#model/map-values'
import type { Shape } from '#model/shape'
import type { FunctionGraph } from '#rules/function-graph'
import type { RequestRate } from '#rules/request-rate'
import { ListOfDevice } from '#rules/rule-list'

/** Limits of the requests of a function. */
export interface FunctionRates {
  readonly rate: Pick<RequestRate, 'mayTake' | 'take'>
  readonly webhookRate: Pick<RequestRate, 'mayTake' | 'take'>
}

export interface FunctionRule extends FunctionRates {
  readonly id: string
  readonly graph: FunctionGraph
  /** Keys of the throttle times of the function. */
  readonly throttles: ReadonlySet<string>
  /** The resource name of the last editor. */
  readonly author: string
}

export interface ShapedTrigger {
  readonly rule: FunctionRule
  /** Index of the trigger among the nodes. */
  readonly trigger: number
}

export interface AuthorTriggers {
  /** The position among the authors of the list. */
  readonly author: number
  readonly triggers: readonly ShapedTrigger[]
}

/** A function with the triggers that its author may read on some devices. */
export interface ListedFunction {
  readonly rule: FunctionRule
  readonly triggers: readonly PlacedTrigger[]
  readonly mayReadMeta: boolean
}

export interface PlacedTrigger {
  /** Index among the nodes. */
  readonly place: number
  readonly node: TriggerNode
}

type ByPlace = readonly (readonly AuthorTriggers[] | undefined)[]

const none: readonly AuthorTriggers[] = Object.freeze([])

/** The functions bound to one device, with their triggers for properties by position in a shape. */
export class FunctionList extends ListOfDevice<FunctionRule, ByPlace> {
  readonly ofStatus: readonly AuthorTriggers[]
  readonly #listed: readonly ListedFunction[]
  readonly #metaReaders: ReadonlySet<FunctionRule>
  readonly #byAlarm: ReadonlyMap<string, readonly AuthorTriggers[]>

  constructor(listed: readonly ListedFunction[]) {
    super(listed.map(({ rule }) => rule))
    this.#listed = listed
    this.#metaReaders = new Set(listed.filter(({ mayReadMeta }) => mayReadMeta).map(({ rule }) => rule))
    const byAlarm = new Map<string, ShapedTrigger[]>()
    const ofStatus: ShapedTrigger[] = []
    for (const { rule, triggers } of listed) {
      for (const { place, node } of triggers) {
        if (node.on === 'status') ofStatus.push({ rule, trigger: place })
        if (node.on === 'alarm') getOrInsert(byAlarm, node.alarmId, () => []).push({ rule, trigger: place })
      }
    }
    this.ofStatus = this.#byAuthor(ofStatus)
    this.#byAlarm = new Map([...byAlarm].map(([alarm, triggers]) => [alarm, this.#byAuthor(triggers)]))
  }

  ofAlarm(alarm: string): readonly AuthorTriggers[] {
    return this.#byAlarm.get(alarm) ?? none
  }

  /** Whether the function's author may read the device's metadata. */
  mayReadMeta(rule: FunctionRule): boolean {
    return this.#metaReaders.has(rule)
  }

  protected findFor(shape: Shape): ByPlace | undefined {
    const byPlace: (ShapedTrigger[] | undefined)[] = shape.properties.map(() => undefined)
    let isConcerned = false
    for (const { rule, triggers } of this.#listed) {
      for (const { place, node } of triggers) {
        if (node.on !== 'property' || node.serviceIdentifier !== shape.serviceIdentifier) continue
        const index = shape.indexOf.get(node.propId)
        if (index === undefined) continue
        const triggersOf = byPlace[index]
        if (triggersOf) triggersOf.push({ rule, trigger: place })
        else byPlace[index] = [{ rule, trigger: place }]
        isConcerned = true
      }
    }
    return isConcerned ? byPlace.map((triggers) => triggers && this.#byAuthor(triggers)) : undefined
  }

  #byAuthor(triggers: readonly ShapedTrigger[]): readonly AuthorTriggers[] {
    const byAuthor = new Map<number, ShapedTrigger[]>()
    for (const shaped of triggers) {
      getOrInsert(byAuthor, this.authors.get(shaped.rule.author) as number, () => []).push(shaped)
    }
    return [...byAuthor].map(([author, triggersOf]) => ({ author, triggers: triggersOf }))
  }
}

export const noFunctions = new FunctionList([])
