import { hash } from 'node:crypto'
import { putStored, recordActor, recordsWithoutEntry } from '#actors/record-actor'
import type { Entry } from '#model/entry'
import { seedBytes } from '#model/identifier'
import {
  type ActorAddress,
  answer,
  type CommandOf,
  type Decision,
  type IndexChange,
  type NoFields,
} from '#runtime/actor'

/** One `Idempotency-Key` of one user. */
export interface IdempotencyState {
  readonly id: string
  /** Undefined: the key was never used, or its record was removed. */
  stored: StoredIdempotencyKey | undefined
}

export interface StoredIdempotencyKey {
  /** Hash of the request's content. */
  readonly print: string
  /**
   * 16 random bytes. The ids that the request creates are derived from them, so a repeated request creates the same
   * ids.
   */
  readonly seed: Uint8Array
  /** Unix ms. */
  readonly begunAt: number
  /** Null until there is a final answer. */
  readonly reply: StoredReply | null
}

/** An answer that can be sent again. */
export interface StoredReply {
  readonly status: number
  readonly location: string | null
  /** Text; empty if the answer has no body. */
  readonly body: string
}

export const answerRecord = 'answer'

/** How long a key stays assigned to its request. Contract 1.10. */
export const keyLifetimeMs = 24 * 60 * 60 * 1000

/** Whether the key has expired; true from the moment of expiry on. */
function isOver({ begunAt }: StoredIdempotencyKey, now: number): boolean {
  return now >= begunAt + keyLifetimeMs
}

/** Commands of an `Idempotency-Key`. Contract 1.10. */
interface IdempotencyCommands {
  /** A request came with the key. Answered with `Begun`. */
  begin: {
    /** A hash of the request's content. */
    readonly print: string
    /** The user may store no more answers: a new key is refused, a known key still works. */
    readonly isFull: boolean
  }
  /** The request was executed; repetitions get this answer. */
  finish: { readonly reply: StoredReply }
  forget: NoFields
  expire: NoFields
}

type IdempotencyCommand = CommandOf<IdempotencyCommands>

/**
 * - `open`: to be executed; generated ids derive from `seed`, 16 bytes. `isRepeated`: it was begun before and may have
 *   been executed.
 * - `answered`: executed; this was the answer.
 * - `other`: the key belongs to another request.
 * - `full`: the key is new and was not stored.
 */
export type Begun =
  | { readonly outcome: 'open'; readonly seed: Uint8Array; readonly isRepeated: boolean }
  | { readonly outcome: 'answered'; readonly reply: StoredReply }
  | { readonly outcome: 'other' }
  | { readonly outcome: 'full' }

/**
 * The stored answer for one `Idempotency-Key` of one user. Addressed by a hash: a key may contain any visible
 * character, and two users may choose the same key. `user` is the CRN of the user, or of the API key that acts as a
 * user. CRNs and keys contain no line break, so the hashed text is unambiguous.
 */
export function idempotencyAddress(
  tenant: string,
  user: string,
  key: string,
): ActorAddress<IdempotencyState, IdempotencyCommand> {
  return idempotencyAddressOf(tenant, hash('sha256', `${user}\n${key}`, 'base64url'))
}

/** The address for the id of a key, as stored in the index. */
export function idempotencyAddressOf(tenant: string, id: string): ActorAddress<IdempotencyState, IdempotencyCommand> {
  return { kind: 'idempotency', tenant, id }
}

/**
 * `<hour>/<id>`: the keys that expire in each hour. Hours are counted from 1970 and have eight digits, so that they
 * sort as numbers.
 */
export const idempotencyIndex = 'idempotency'

const hourMs = 60 * 60 * 1000

/** `begunAt`: Unix ms. */
export function expiryEntry(begunAt: number, id: string): string {
  return `${hourOf(begunAt + keyLifetimeMs)}/${id}`
}

/** The id of the key in an entry of `expiryEntry`. */
export function idOfExpiry(entry: string): string {
  return entry.slice(entry.indexOf('/') + 1)
}

/** Whether the hour of expiry has passed. */
export function isPastExpiry(entry: string, now: number): boolean {
  return entry < hourOf(now)
}

function hourOf(at: number): string {
  return String(Math.floor(at / hourMs)).padStart(8, '0')
}

/**
 * The outcome of a request with an `Idempotency-Key`. The start of the request is stored before its effects, and the
 * answer is stored before it is sent. Contract 1.10.
 *
 * There may be very many keys. Most get two commands, so their actors leave memory after each turn.
 */
export const idempotencyActor = recordActor<IdempotencyState, IdempotencyCommands>({
  kind: 'idempotency',
  records: { [answerRecord]: 'answer under an idempotency key' },
  isBrief: true,
  empty: ({ id }) => ({ id, stored: undefined }),
  put: putStored,
  decisions: {
    begin({ id, stored }, { print, isFull }, turn) {
      if (stored && !isOver(stored, turn.now)) return answer(repeatedAnswer(stored, print))
      if (isFull) return answer({ outcome: 'full' } satisfies Begun)
      const seed = turn.random(seedBytes)
      const fresh: StoredIdempotencyKey = { print, seed, begunAt: turn.now, reply: null }
      return recordsWithoutEntry([{ name: answerRecord, value: fresh }], {
        indexes: [...(stored ? [expiry(id, stored, false)] : []), expiry(id, fresh, true)],
        answer: { outcome: 'open', seed, isRepeated: false } satisfies Begun,
      })
    },

    /**
     * Stores nothing if the key was removed meanwhile, because it expired or its tenant was deleted: the answer would never
     * be removed.
     */
    finish({ stored }, { reply }) {
      if (!stored) return answer(undefined)
      return recordsWithoutEntry([{ name: answerRecord, value: { ...stored, reply } satisfies StoredIdempotencyKey }])
    },

    forget: decideForget,
    expire: (state, _, turn) =>
      state.stored && isOver(state.stored, turn.now) ? decideForget(state) : answer(undefined),
  },
})

function repeatedAnswer({ print, seed, reply }: StoredIdempotencyKey, asked: string): Begun {
  if (print !== asked) return { outcome: 'other' }
  return reply ? { outcome: 'answered', reply } : { outcome: 'open', seed, isRepeated: true }
}

function decideForget({ id, stored }: IdempotencyState): Decision<Entry> {
  if (!stored) return answer(undefined)
  return recordsWithoutEntry([{ name: answerRecord, value: null }], { indexes: [expiry(id, stored, false)] })
}

function expiry(id: string, { begunAt }: StoredIdempotencyKey, isPresent: boolean): IndexChange {
  return { index: idempotencyIndex, entry: expiryEntry(begunAt, id), isPresent }
}
