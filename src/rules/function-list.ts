import type { TriggerNode } from '#model/graph'
import type { Shape } from '#model/shape'
import type { FunctionGraph } from '#rules/function-graph'
import type { RequestRate } from '#rules/request-rate'

export interface FunctionRule {
  /** Of the function. */
  readonly id: string
  readonly graph: FunctionGraph
  /** How many requests may be kept of it. */
  readonly rate: Pick<RequestRate, 'mayTake' | 'take'>
  /** Keys of its stamps. */
  readonly throttles: ReadonlySet<string>
  /** The resource name of whoever edited it last. */
  readonly author: string
}

export interface ShapedTrigger {
  readonly rule: FunctionRule
  /** Its place among the nodes. */
  readonly trigger: number
}

/** Triggers of functions by one author. `author`: their place among those of the list. */
export interface AuthorTriggers {
  readonly author: number
  readonly triggers: readonly ShapedTrigger[]
}

/** A function as it counts on some devices: by the triggers whose happenings its author may read there. */
export interface ListedFunction {
  readonly rule: FunctionRule
  readonly triggers: readonly PlacedTrigger[]
  readonly mayReadMeta: boolean
}

export interface PlacedTrigger {
  /** Among the nodes. */
  readonly place: number
  readonly node: TriggerNode
}

type ByPlace = readonly (readonly AuthorTriggers[] | undefined)[]

const none: readonly AuthorTriggers[] = Object.freeze([])

/** The functions bound to one device. Never changed, and shared by all that are bound to the same ones. */
export class FunctionList {
  readonly rules: readonly FunctionRule[]
  readonly ofStatus: readonly AuthorTriggers[]
  readonly #listed: readonly ListedFunction[]
  readonly #metaReaders: ReadonlySet<FunctionRule>
  /** The place of each. */
  readonly #authors: ReadonlyMap<string, number>
  readonly #byAlarm: ReadonlyMap<string, readonly AuthorTriggers[]>
  /** Null: nothing concerns it. */
  readonly #byShape = new WeakMap<Shape, ByPlace | null>()
  /** What was asked for last: the devices of a list are mostly alike. */
  #lastShape: Shape | undefined
  #last: ByPlace | undefined

  constructor(listed: readonly ListedFunction[]) {
    this.rules = listed.map(({ rule }) => rule)
    this.#listed = listed
    this.#metaReaders = new Set(listed.filter(({ mayReadMeta }) => mayReadMeta).map(({ rule }) => rule))
    const names = [...new Set(this.rules.map(({ author }) => author))]
    this.#authors = new Map(names.map((author, place) => [author, place]))
    const byAlarm = new Map<string, ShapedTrigger[]>()
    const ofStatus: ShapedTrigger[] = []
    for (const { rule, triggers } of listed) {
      for (const { place, node } of triggers) {
        if (node.on === 'status') ofStatus.push({ rule, trigger: place })
        if (node.on === 'alarm') {
          const triggersOf = byAlarm.get(node.alarmId) ?? []
          triggersOf.push({ rule, trigger: place })
          byAlarm.set(node.alarmId, triggersOf)
        }
      }
    }
    this.ofStatus = this.#byAuthor(ofStatus)
    this.#byAlarm = new Map([...byAlarm].map(([alarm, triggers]) => [alarm, this.#byAuthor(triggers)]))
  }

  /** How many people its functions are by. */
  get authorCount(): number {
    return this.#authors.size
  }

  /** The triggers that wait for a property, by its place in the shape; undefined where none waits for any. */
  of(shape: Shape): ByPlace | undefined {
    if (this.rules.length === 0) return undefined
    if (shape === this.#lastShape) return this.#last
    let found = this.#byShape.get(shape)
    if (found === undefined) {
      found = this.#byPlaceOf(shape) ?? null
      this.#byShape.set(shape, found)
    }
    this.#lastShape = shape
    this.#last = found ?? undefined
    return this.#last
  }

  ofAlarm(alarm: string): readonly AuthorTriggers[] {
    return this.#byAlarm.get(alarm) ?? none
  }

  /** Whether its author may read what people recorded about the device. */
  mayReadMeta(rule: FunctionRule): boolean {
    return this.#metaReaders.has(rule)
  }

  #byPlaceOf(shape: Shape): ByPlace | undefined {
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
      const author = this.#authors.get(shaped.rule.author) as number
      const triggersOf = byAuthor.get(author)
      if (triggersOf) triggersOf.push(shaped)
      else byAuthor.set(author, [shaped])
    }
    return [...byAuthor].map(([author, triggersOf]) => ({ author, triggers: triggersOf }))
  }
}

/** Of devices that no function is bound to. */
export const noFunctions = new FunctionList([])
