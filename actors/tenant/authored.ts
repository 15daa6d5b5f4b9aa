import { keep } from '#actors/kept'
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
