import type { StoredFunction } from '#model/function'
import type { GraphNode } from '#model/graph'
import type { StoredGroup } from '#model/group'
import type { StoredTemplate } from '#model/template'
import { FunctionGraph } from '#rules/function-graph'
import {
  FunctionList,
  type FunctionRates,
  type FunctionRule,
  type ListedFunction,
  noFunctions,
  type PlacedTrigger,
} from '#rules/function-list'
import { type AuthorReach, TenantView, type TenantViewParts } from '#rules/tenant-views'

/** A tenant's stored functions and their inputs. */
export interface StoredFunctions {
  readonly functions: ReadonlyMap<string, StoredFunction>
  readonly templates: ReadonlyMap<string, StoredTemplate>
  readonly groups: ReadonlyMap<string, StoredGroup>
}

interface TenantFunctionsParts extends TenantViewParts {
  readonly newRates: () => FunctionRates
}

interface FunctionView {
  readonly stored: StoredFunction
  readonly rule: Rule
  /** Devices on which the author may read functions. */
  readonly own: AuthorReach
  /** Devices on which the author may read metadata. */
  readonly meta: AuthorReach
  readonly triggers: readonly (PlacedTrigger & { readonly reach: AuthorReach })[]
  readonly isSilent: boolean
  /** Equal if all reaches are equal. */
  readonly digest: string
  /** Set if the function is the same on all devices that it is bound to. */
  readonly everywhere: ListedFunction | undefined
}

/** There is one object for each graph and author of a function. Other edits of the function keep this object. */
interface Rule extends FunctionRule {
  /** A unique number that is never reused, by which lists are found. */
  readonly serial: number
}

/** Updated after each commit. Contract 5.1, 5.4. */
export class TenantFunctions extends TenantView<StoredFunctions, FunctionView, ListedFunction, FunctionList> {
  readonly templates = new Map<string, StoredTemplate>()
  /** Stored functions, including disabled ones. */
  readonly #stored = new Map<string, StoredFunction>()
  /** Kept across edits, because new rates would allow more mails and webhooks. */
  readonly #rates = new Map<string, FunctionRates>()
  readonly #newRates: () => FunctionRates

  constructor(parts: TenantFunctionsParts) {
    super(parts)
    this.#newRates = parts.newRates
  }

  storedOf(fn: string): StoredFunction | undefined {
    return this.#stored.get(fn)
  }

  load({ functions, templates, groups }: StoredFunctions): void {
    for (const [name, stored] of templates) this.templates.set(name, stored)
    for (const [id, stored] of functions) this.#stored.set(id, stored)
    const enabled = [...functions].filter(([, stored]) => stored.enabled)
    this.bindings.load(enabled, groups)
    for (const [id, stored] of enabled) this.views.set(id, this.#viewOf(id, stored, undefined))
    this.publish()
  }

  functionChanged(id: string, stored: StoredFunction | undefined): void {
    if (stored) {
      this.#stored.set(id, stored)
    } else {
      this.#stored.delete(id)
      this.#rates.delete(id)
    }
    const before = this.views.get(id)
    // A disabled function is bound to nothing.
    const enabled = stored?.enabled ? stored : undefined
    if (!before && !enabled) return
    this.bindings.bind(id, before?.stored, enabled)
    if (enabled) this.views.set(id, this.#viewOf(id, enabled, before))
    else this.views.delete(id)
    this.publish()
  }

  groupChanged(id: string, stored: StoredGroup | undefined): void {
    if (this.bindings.groupChanged(id, stored).length > 0) this.publish()
  }

  accessChanged(): void {
    let isChanged = false
    for (const [id, before] of this.views) {
      const after = this.#viewOf(id, before.stored, before)
      if (after.digest === before.digest) continue
      this.views.set(id, after)
      isChanged = true
    }
    if (isChanged) this.publish()
  }

  #viewOf(id: string, stored: StoredFunction, before: FunctionView | undefined): FunctionView {
    const isSame = before?.stored.graph === stored.graph && before.stored.updatedBy === stored.updatedBy
    const rule = isSame ? before.rule : this.#ruleOf(id, stored)
    const own = this.parts.reaches.of(stored.updatedBy, 'functions')
    const meta = this.parts.reaches.of(stored.updatedBy, 'meta')
    const triggers = [...stored.graph.nodes.entries()].flatMap(([place, node]) => {
      const reach = this.#reachOf(stored.updatedBy, node)
      return node.type === 'trigger' && reach ? [{ place, node, reach }] : []
    })
    const isSilent = own.isNothing || triggers.every(({ reach }) => reach.isNothing)
    if (isSilent && !before?.isSilent) this.parts.reportSilenced(id, stored)
    const reaches = [own, meta, ...triggers.map(({ reach }) => reach)]
    const isUniform = reaches.every((reach) => reach.isWhole || reach.isNothing)
    return {
      stored,
      rule,
      own,
      meta,
      triggers,
      isSilent,
      digest: reaches.map(({ digest }) => digest).join(),
      everywhere: isUniform
        ? { rule, triggers: triggers.filter(({ reach }) => reach.isWhole), mayReadMeta: meta.isWhole }
        : undefined,
    }
  }

  #ruleOf(id: string, { graph: uncompiled, updatedBy: author }: StoredFunction): Rule {
    const graph = new FunctionGraph(id, uncompiled)
    const rates = this.#rates.get(id) ?? this.#newRates()
    this.#rates.set(id, rates)
    return { id, serial: this.parts.next(), graph, ...rates, throttles: graph.throttles, author }
  }

  /** The devices on which the author may read the trigger's subject. */
  #reachOf(author: string, node: GraphNode): AuthorReach | undefined {
    if (node.type !== 'trigger') return undefined
    const { reaches } = this.parts
    if (node.on === 'property') return reaches.of(author, 'service', node.serviceIdentifier)
    return reaches.of(author, node.on === 'alarm' ? 'alarms' : 'meta')
  }

  /** The function as listed for this device; undefined if no trigger counts. */
  protected ruleOn({ rule, own, meta, triggers }: FunctionView, device: string): ListedFunction | undefined {
    if (!own.holds(device)) return undefined
    const readable = triggers.filter(({ reach }) => reach.holds(device))
    return readable.length > 0 ? { rule, triggers: readable, mayReadMeta: meta.holds(device) } : undefined
  }

  protected keyOf({ rule, triggers, mayReadMeta }: ListedFunction): string {
    const places = triggers.map(({ place }) => place).join('.')
    return `${(rule as Rule).serial}:${places}${mayReadMeta ? '+' : ''}`
  }

  protected listFrom(listed: readonly ListedFunction[]): FunctionList {
    return listed.length === 0 ? noFunctions : new FunctionList(listed)
  }
}
