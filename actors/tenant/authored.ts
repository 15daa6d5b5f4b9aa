import { keep } from '#actors/kept'
import type { TenantState } from '#actors/tenant/state'
import { formatCrn } from '#model/crn'
import type { Entry } from '#model/entry'
import { Problem } from '#model/problem'
import { type Decision, refuse, type Turn } from '#runtime/actor'

/** Whose something is that people make and edit, by resource names, and since when, in Unix ms. */
export interface Authored {
  readonly createdBy: string
  readonly createdAt: number
  readonly updatedBy: string
  readonly updatedAt: number
}

/** What is put, and by whom. `isNew`: the id was made for it; otherwise there is one. */
export interface Authoring {
  readonly isNew: boolean
  readonly author: string
}

/** The maker of something, as far as quotas go. */
export interface QuotaHolder {
  readonly author?: string | undefined
  /** They may make it for some devices and not for all. */
  readonly isNarrow?: boolean | undefined
}

/**
 * The share of a tenant's quota for one author who does not reach all devices: a user who reaches one device must not keep
 * the others from making theirs. Ten such authors may fill it.
 */
const narrowShare = 0.1

/**
 * The fault of making one more, of `max` at most; undefined where there is none. `makers`: of all that exist, by resource
 * name, undefined where it was not stored. `what`: in the plural.
 */
export function quotaFault(
  state: TenantState,
  makers: readonly (string | undefined)[],
  { author, isNarrow = false }: QuotaHolder,
  { max, what }: { readonly max: number; readonly what: string },
): Problem | undefined {
  if (makers.length >= max) return new Problem('conflict', `a tenant has at most ${max} ${what}`)
  if (!isNarrow || author === undefined) return undefined
  const shareMax = max * narrowShare
  const owner = ownerOf(state, author)
  const held = makers.filter((maker) => maker !== undefined && ownerOf(state, maker) === owner).length
  if (held < shareMax) return undefined
  return new Problem(
    'conflict',
    `a user who does not reach all devices makes at most ${shareMax} of the ${max} ${what} of a tenant: delete one, or ask a user who reaches all devices`,
  )
}

/** Alarms or functions of a tenant, by id. `what`: which of them, in the plural. */
interface RuleQuota<Stored extends Authored> {
  readonly all: ReadonlyMap<string, Stored>
  readonly max: number
  readonly nodesOf: (stored: Stored) => number
  /** Nodes of all of them together. */
  readonly nodesMax: number
  readonly what: string
}

/** The fault of putting a rule of this many nodes in the place of `before`; undefined where there is none. */
export function ruleQuotaFault<Stored extends Authored>(
  state: TenantState,
  quota: RuleQuota<Stored>,
  holder: QuotaHolder,
  nodes: number,
  before: Stored | undefined,
): Problem | undefined {
  const full = before ? undefined : quotaFault(state, makersOf(quota.all), holder, quota)
  return full ?? nodesFault(state, quota, holder, nodes, before)
}

/** An edit that adds no nodes has no fault. */
function nodesFault<Stored extends Authored>(
  state: TenantState,
  { all, nodesOf, nodesMax, what }: RuleQuota<Stored>,
  { author, isNarrow = false }: QuotaHolder,
  nodes: number,
  before: Stored | undefined,
): Problem | undefined {
  const added = nodes - (before ? nodesOf(before) : 0)
  if (added <= 0) return undefined
  const owner = isNarrow && author !== undefined ? ownerOf(state, before?.createdBy ?? author) : undefined
  let total = added
  let owned = added
  for (const stored of all.values()) {
    const count = nodesOf(stored)
    total += count
    if (owner !== undefined && ownerOf(state, stored.createdBy) === owner) owned += count
  }
  if (total > nodesMax) {
    return new Problem(
      'conflict',
      `the ${what} of a tenant have at most ${nodesMax} nodes: delete some, or make them smaller`,
    )
  }
  const shareMax = nodesMax * narrowShare
  if (owner === undefined || owned <= shareMax) return undefined
  return new Problem(
    'conflict',
    `the ${what} of a user who does not reach all devices have at most ${shareMax} of the ${nodesMax} nodes of a tenant: delete some, or ask a user who reaches all devices`,
  )
}

const keyStart = formatCrn({ type: 'key', id: '' })

/** Things that a key made count for the maker of the key. */
function ownerOf(state: TenantState, maker: string): string {
  const key = maker.startsWith(keyStart) ? state.apiKeys.get(maker.slice(keyStart.length)) : undefined
  return key?.createdBy ? ownerOf(state, key.createdBy.user) : maker
}

/** The maker of each. */
export function makersOf(all: ReadonlyMap<string, Pick<Authored, 'createdBy'>>): readonly string[] {
  return [...all.values()].map(({ createdBy }) => createdBy)
}

/** Whose it is once it is put. */
export function authoredBy(before: Authored | undefined, author: string, { now }: Turn): Authored {
  return {
    createdBy: before?.createdBy ?? author,
    createdAt: before?.createdAt ?? now,
    updatedBy: author,
    updatedAt: now,
  }
}

/**
 * What comes of putting what may not be put so; undefined where it may. `isSame`: it is there already, and just so.
 */
export function decideMisput<Stored extends Authored>(
  before: Stored | undefined,
  { isNew, author }: Authoring,
  isSame: boolean,
): Decision<Entry> | undefined {
  if (!isNew) return before ? undefined : refuse(new Problem('not_found'))
  if (!before) return undefined
  // Whoever makes one again by the same id asks again, not having heard the answer.
  const isAgain = isSame && before.createdBy === author
  return isAgain ? unchanged(before) : refuse(new Problem('conflict', 'the id is taken'))
}

/** Recorded, and not just answered: while the store takes no writes nobody can say that it stays so. */
export function unchanged<Stored>(stored: Stored): Decision<Entry> {
  return keep([], { answer: stored })
}
