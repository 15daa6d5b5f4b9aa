import type { StoredFunction } from '#model/function'
import type { GraphNode } from '#model/graph'
import type { StoredGroup } from '#model/group'
import type { StoredTemplate } from '#model/template'
import { type Profile, RuleBindings } from '#rules/bindings'
import { FunctionGraph } from '#rules/function-graph'
import {
  FunctionList,
  type FunctionRates,
  type FunctionRule,
  type ListedFunction,
  noFunctions,
  type PlacedTrigger,
} from '#rules/function-list'
import { InternedLists } from '#rules/rule-list'
import type { AuthorReach, TenantViewParts } from '#rules/tenant-views'

/** A tenant's stored functions and their inputs. */
export interface StoredFunctions {
  readonly functions: ReadonlyMap<string, StoredFunction>
  readonly templates: ReadonlyMap<string, StoredTemplate>
  readonly groups: ReadonlyMap<string, StoredGroup>
}

interface TenantFunctionsParts extends TenantViewParts {
  newRates(): FunctionRates
}

/** An enabled function and its computed values. */
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

interface ProfileFunctions {
  /** In the order of their ids, without silenced functions. */
  readonly views: readonly FunctionView[]
  /** The list of these functions, if each is the same on every device. */
  readonly list: FunctionList | undefined
}

/** The functions of one tenant, as device turns read them. Updated after each commit. Contract 5.1, 5.4. */
export class TenantFunctions {
  /** The templates of mails, by name. */
  readonly templates = new Map<string, StoredTemplate>()
  readonly #parts: TenantFunctionsParts
  /** Stored functions, including disabled ones. */
  readonly #stored = new Map<string, StoredFunction>()
  readonly #views = new Map<string, FunctionView>()
  /** Kept across edits, because new rates would allow more mails and webhooks. */
  readonly #rates = new Map<string, FunctionRates>()
  readonly #bindings: RuleBindings<ProfileFunctions>
  readonly #lists = new InternedLists<FunctionList>()
  #version: number

  constructor(parts: TenantFunctionsParts) {
    this.#parts = parts
    this.#bindings = new RuleBindings(parts.runInSlices)
    this.#version = parts.next()
  }

  /** Changes whenever a list may change. */
  get version(): number {
    return this.#version
  }

  get isIdle(): boolean {
    return this.#views.size === 0
  }

  listOf(device: string): FunctionList {
    const profile = this.#bindings.profileOf(device)
    const isCached = profile.cachedAt === this.#version
    const { views, list } = isCached ? (profile.cached as ProfileFunctions) : this.#computeProfile(profile)
    return list ?? this.#listOf(views.flatMap((view) => listedOn(view, device) ?? []))
  }

  storedOf(fn: string): StoredFunction | undefined {
    return this.#stored.get(fn)
  }

  membersOf(group: string): readonly string[] | undefined {
    return this.#bindings.membersOf(group)
  }

  /** Loads everything into an empty view. */
  load({ functions, templates, groups }: StoredFunctions): void {
    for (const [name, stored] of templates) this.templates.set(name, stored)
    for (const [id, stored] of functions) this.#stored.set(id, stored)
    const enabled = [...functions].filter(([, stored]) => stored.enabled)
    this.#bindings.load(enabled, groups)
    for (const [id, stored] of enabled) this.#views.set(id, this.#viewOf(id, stored, undefined))
    this.#publish()
  }

  functionChanged(id: string, stored: StoredFunction | undefined): void {
    if (stored) {
      this.#stored.set(id, stored)
    } else {
      this.#stored.delete(id)
      this.#rates.delete(id)
    }
    const before = this.#views.get(id)
    // A disabled function is bound to nothing.
    const enabled = stored?.enabled ? stored : undefined
    if (!before && !enabled) return
    this.#bindings.bind(id, before?.stored, enabled)
    if (enabled) this.#views.set(id, this.#viewOf(id, enabled, before))
    else this.#views.delete(id)
    this.#publish()
  }

  groupChanged(id: string, stored: StoredGroup | undefined): void {
    if (this.#bindings.groupChanged(id, stored).length > 0) this.#publish()
  }

  accessChanged(): void {
    let isChanged = false
    for (const [id, before] of this.#views) {
      const after = this.#viewOf(id, before.stored, before)
      if (after.digest === before.digest) continue
      this.#views.set(id, after)
      isChanged = true
    }
    if (isChanged) this.#publish()
  }

  #viewOf(id: string, stored: StoredFunction, before: FunctionView | undefined): FunctionView {
    const isSame = before?.stored.graph === stored.graph && before.stored.updatedBy === stored.updatedBy
    const rule = isSame ? before.rule : this.#ruleOf(id, stored)
    const own = this.#parts.reaches.of(stored.updatedBy, 'functions')
    const meta = this.#parts.reaches.of(stored.updatedBy, 'meta')
    const triggers = [...stored.graph.nodes.entries()].flatMap(([place, node]) => {
      const reach = this.#reachOf(stored.updatedBy, node)
      return node.type === 'trigger' && reach ? [{ place, node, reach }] : []
    })
    const isSilent = own.isNothing || triggers.every(({ reach }) => reach.isNothing)
    if (isSilent && !before?.isSilent) this.#parts.reportSilenced(id, stored)
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
    const rates = this.#rates.get(id) ?? this.#parts.newRates()
    this.#rates.set(id, rates)
    return { id, serial: this.#parts.next(), graph, ...rates, throttles: graph.throttles, author }
  }

  /** The devices on which the author may read the trigger's subject. */
  #reachOf(author: string, node: GraphNode): AuthorReach | undefined {
    if (node.type !== 'trigger') return undefined
    const { reaches } = this.#parts
    if (node.on === 'property') return reaches.of(author, 'service', node.serviceIdentifier)
    return reaches.of(author, node.on === 'alarm' ? 'alarms' : 'meta')
  }

  #publish(): void {
    this.#lists.sweep(this.#version)
    this.#version = this.#parts.next()
  }

  #computeProfile(profile: Profile<ProfileFunctions>): ProfileFunctions {
    const views = this.#bindings
      .rulesOf(profile)
      .map((id) => this.#views.get(id) as FunctionView)
      .filter(({ isSilent }) => !isSilent)
    const listed = views.flatMap(({ everywhere }) => everywhere ?? [])
    profile.cached = { views, list: listed.length === views.length ? this.#listOf(listed) : undefined }
    profile.cachedAt = this.#version
    return profile.cached
  }

  #listOf(listed: readonly ListedFunction[]): FunctionList {
    if (listed.length === 0) return noFunctions
    return this.#lists.of(listed.map(keyOf).join(), this.#version, () => new FunctionList(listed))
  }
}

/** The function as listed for this device; undefined if no trigger counts. */
function listedOn({ rule, own, meta, triggers, everywhere }: FunctionView, device: string): ListedFunction | undefined {
  if (everywhere) return everywhere
  if (!own.holds(device)) return undefined
  const readable = triggers.filter(({ reach }) => reach.holds(device))
  return readable.length > 0 ? { rule, triggers: readable, mayReadMeta: meta.holds(device) } : undefined
}

function keyOf({ rule, triggers, mayReadMeta }: ListedFunction): string {
  const places = triggers.map(({ place }) => place).join('.')
  return `${(rule as Rule).serial}:${places}${mayReadMeta ? '+' : ''}`
}
