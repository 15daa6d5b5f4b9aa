import { getOrInsert } from '#model/map-values'
import type { Shape } from '#model/shape'
import type { AlarmRule, ShapedRule } from '#rules/alarm-rule'

export interface ServiceRules {
  readonly rules: readonly ShapedRule[]
  /**
   * For each property, by its position in the shape: the indexes in `rules` of the rules that read it, without
   * duplicates.
   */
  readonly readers: readonly (readonly number[] | undefined)[]
}

/**
 * The rules of one device. Immutable, and shared by all devices with the same rules: a device with an unchanged list
 * needs no new evaluation.
 */
export abstract class ListOfDevice<Rule extends { readonly author: string }, Found extends object> {
  readonly rules: readonly Rule[]
  /** The position of each author in this list. */
  protected readonly authors: ReadonlyMap<string, number>
  /** Null if no rule reads the shape. */
  readonly #byShape = new WeakMap<Shape, Found | null>()
  /** The last requested shape, cached because devices with the same list mostly have the same shapes. */
  #lastShape: Shape | undefined
  #last: Found | undefined

  constructor(rules: readonly Rule[]) {
    this.rules = rules
    const names = [...new Set(rules.map(({ author }) => author))]
    this.authors = new Map(names.map((author, place) => [author, place]))
  }

  protected abstract findFor(shape: Shape): Found | undefined

  get authorCount(): number {
    return this.authors.size
  }

  /** What reads a service of this shape; undefined for nothing. */
  of(shape: Shape): Found | undefined {
    if (this.rules.length === 0) return undefined
    if (shape !== this.#lastShape) {
      this.#last = getOrInsert(this.#byShape, shape, () => this.findFor(shape) ?? null) ?? undefined
      this.#lastShape = shape
    }
    return this.#last
  }
}

export class RuleList extends ListOfDevice<AlarmRule, ServiceRules> {
  #byId: ReadonlyMap<string, AlarmRule> | undefined

  rule(id: string): AlarmRule | undefined {
    this.#byId ??= new Map(this.rules.map((rule) => [rule.id, rule]))
    return this.#byId.get(id)
  }

  protected findFor(shape: Shape): ServiceRules | undefined {
    const shaped: ShapedRule[] = []
    const readers: (number[] | undefined)[] = shape.properties.map(() => undefined)
    for (const rule of this.rules) {
      if (rule.service !== shape.serviceIdentifier) continue
      const inShape = rule.shaped(shape, this.authors.get(rule.author) as number)
      for (const place of inShape.places) {
        if (place < 0) continue
        const list = readers[place]
        if (!list) readers[place] = [shaped.length]
        // Two names of one condition may mean the same property.
        else if (list[list.length - 1] !== shaped.length) list.push(shaped.length)
      }
      shaped.push(inShape)
    }
    return shaped.length === 0 ? undefined : { rules: shaped, readers }
  }
}

export const noRules = new RuleList([])

/** Computed lists of devices by key: equal lists are the same object until `sweep` drops it. */
export class InternedLists<List> {
  readonly #lists = new Map<string, { readonly list: List; usedAt: number }>()
  #sizeMax = listsMin

  /** `version` is the time of use, for `sweep`. */
  of(key: string, version: number, make: () => List): List {
    const known = getOrInsert(this.#lists, key, () => ({ list: make(), usedAt: version }))
    known.usedAt = version
    return known.list
  }

  /**
   * Drops lists that were not used lately, when there are more than twice as many lists as after the last sweep. A
   * caller that still holds a dropped list gets another object with the same content, which only costs a repeated
   * check.
   */
  sweep(version: number): void {
    if (this.#lists.size <= this.#sizeMax) return
    for (const [key, { usedAt }] of this.#lists) if (usedAt < version) this.#lists.delete(key)
    this.#sizeMax = Math.max(listsMin, 2 * this.#lists.size)
  }
}

/** Up to this number of lists, none is dropped. They take a few hundred KB. */
const listsMin = 1_024
