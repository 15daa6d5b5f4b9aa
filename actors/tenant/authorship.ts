import { recordsWithoutEntry } from '#actors/record-actor'
import type { TenantState } from '#actors/tenant/state'
import type { Authored } from '#model/authorship'
import { formatCrn } from '#model/crn'
import type { Entry } from '#model/entry'
import { Problem } from '#model/problem'
import { type Decision, refuse, type Turn } from '#runtime/actor'

/** The author of a put. */
export interface Authoring {
  /** The put has a generated id; otherwise the object must exist. */
  readonly isNew: boolean
  readonly author: string
}

/** The author of a new object, for quotas. */
export interface QuotaHolder {
  readonly author?: string | undefined
  /** The author's permission to create covers only some devices. */
  readonly isNarrow?: boolean | undefined
}

/**
 * The share of a tenant's quota for one author who cannot reach all devices: a user with one device must not use up the
 * quota.
 */
const narrowShare = 0.1

/**
 * The error if one more object would exceed a limit; undefined for none. `creators`: the creators of all existing
 * objects, as resource names; undefined for an object whose creator is not stored. `what`: the plural noun for the
 * error.
 */
export function quotaFault(
  state: TenantState,
  creators: readonly (string | undefined)[],
  { author, isNarrow = false }: QuotaHolder,
  { max, what }: { readonly max: number; readonly what: string },
): Problem | undefined {
  if (creators.length >= max) return new Problem('conflict', `a tenant has at most ${max} ${what}`)
  if (!isNarrow || author === undefined) return undefined
  const shareMax = max * narrowShare
  const owner = ownerOf(state, author)
  const held = creators.filter((creator) => creator !== undefined && ownerOf(state, creator) === owner).length
  if (held < shareMax) return undefined
  return new Problem(
    'conflict',
    `a user who does not reach all devices can create at most ${shareMax} of the ${max} ${what} of a tenant: delete one, or ask a user who reaches all devices`,
  )
}

/** The limits for the alarms, or for the functions, of a tenant. `all` contains the existing objects by id. */
interface RuleQuota<Stored extends Authored> {
  readonly all: ReadonlyMap<string, Stored>
  readonly max: number
  readonly nodesOf: (stored: Stored) => number
  /** Limit for the nodes of all objects together. */
  readonly nodesMax: number
  /** The plural noun for the error. */
  readonly what: string
}

/** The error of replacing `before` by a rule with this number of nodes; undefined for none. */
export function ruleQuotaFault<Stored extends Authored>(
  state: TenantState,
  quota: RuleQuota<Stored>,
  holder: QuotaHolder,
  nodes: number,
  before: Stored | undefined,
): Problem | undefined {
  const full = before ? undefined : quotaFault(state, creatorsOf(quota.all), holder, quota)
  return full ?? nodesFault(state, quota, holder, nodes, before)
}

/** An edit that adds no nodes has no error. */
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

/** Objects that an API key created count for the creator of the key. */
function ownerOf(state: TenantState, creator: string): string {
  const key = creator.startsWith(keyStart) ? state.apiKeys.get(creator.slice(keyStart.length)) : undefined
  return key?.createdBy ? ownerOf(state, key.createdBy.user) : creator
}

/** The creator of each object. */
export function creatorsOf(all: ReadonlyMap<string, Pick<Authored, 'createdBy'>>): readonly string[] {
  return [...all.values()].map(({ createdBy }) => createdBy)
}

/** Creator and editor after a put. */
export function authorshipAfter(before: Authored | undefined, author: string, { now }: Turn): Authored {
  return {
    createdBy: before?.createdBy ?? author,
    createdAt: before?.createdAt ?? now,
    updatedBy: author,
    updatedAt: now,
  }
}

/**
 * The answer to a put that must not be executed; undefined if the put may be executed. `isSame`: an identical object
 * exists.
 */
export function refusePut<Stored extends Authored>(
  before: Stored | undefined,
  { isNew, author }: Authoring,
  isSame: boolean,
): Decision<Entry> | undefined {
  if (!isNew) return before ? undefined : refuse(new Problem('not_found'))
  if (!before) return undefined
  // A repeated create request with the same id gets the same answer.
  const isAgain = isSame && before.createdBy === author
  return isAgain ? answerUnchanged(before) : refuse(new Problem('conflict', 'the id is taken'))
}

/** Recorded, so that the answer waits for a commit: while the store fails, this state may still be rolled back. */
export function answerUnchanged<Stored>(stored: Stored): Decision<Entry> {
  return recordsWithoutEntry([], { answer: stored })
}
