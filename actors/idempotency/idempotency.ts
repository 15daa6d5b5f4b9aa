import {
  answerRecord,
  type BeginIdempotent,
  type Begun,
  expiryEntry,
  type FinishIdempotent,
  type IdempotencyCommand,
  type IdempotencyState,
  idempotencyIndex,
  isOver,
  type StoredIdempotencyKey,
} from '#actors/idempotency/state'
import { recordActor, recordsWithoutEntry } from '#actors/record-actor'
import type { Entry } from '#model/entry'
import { seedBytes } from '#model/identifier'
import {
  type ActorDefinition,
  answer,
  type Decision,
  type IndexChange,
  type RecordChange,
  type Turn,
} from '#runtime/actor'

/**
 * The outcome of a request with an `Idempotency-Key`. The start of the request is stored before its effects, and the
 * answer is stored before it is sent. Contract 1.10.
 *
 * There may be very many keys. Most get two commands, so their actors leave memory after each turn.
 */
export const idempotencyActor: ActorDefinition<IdempotencyState, IdempotencyCommand, Entry> = recordActor({
  kind: 'idempotency',
  records: { [answerRecord]: 'answer under an idempotency key' },
  isBrief: true,
  empty: ({ id }) => ({ id, stored: undefined }),
  put,
  decisions: {
    begin: decideBegin,
    finish: decideFinish,
    forget: decideForget,
    expire: (state, _, turn) =>
      state.stored && isOver(state.stored, turn.now) ? decideForget(state) : answer(undefined),
  },
})

function put(state: IdempotencyState, { value }: RecordChange): void {
  state.stored = (value as StoredIdempotencyKey | null) ?? undefined
}

function decideBegin(
  { id, stored }: IdempotencyState,
  { print, isFull }: BeginIdempotent,
  turn: Turn,
): Decision<Entry> {
  if (stored && !isOver(stored, turn.now)) return answer(repeatedAnswer(stored, print))
  if (isFull) return answer({ outcome: 'full' } satisfies Begun)
  const seed = turn.random(seedBytes)
  const fresh: StoredIdempotencyKey = { print, seed, begunAt: turn.now, reply: null }
  return recordsWithoutEntry([{ name: answerRecord, value: fresh }], {
    indexes: [...(stored ? [expiry(id, stored, false)] : []), expiry(id, fresh, true)],
    answer: { outcome: 'open', seed, isRepeated: false } satisfies Begun,
  })
}

function repeatedAnswer({ print, seed, reply }: StoredIdempotencyKey, asked: string): Begun {
  if (print !== asked) return { outcome: 'other' }
  return reply ? { outcome: 'answered', reply } : { outcome: 'open', seed, isRepeated: true }
}

/**
 * Stores nothing if the key was removed meanwhile, because it expired or its tenant was deleted: the answer would never
 * be removed.
 */
function decideFinish({ stored }: IdempotencyState, { reply }: FinishIdempotent): Decision<Entry> {
  if (!stored) return answer(undefined)
  return recordsWithoutEntry([{ name: answerRecord, value: { ...stored, reply } satisfies StoredIdempotencyKey }])
}

function decideForget({ id, stored }: IdempotencyState): Decision<Entry> {
  if (!stored) return answer(undefined)
  return recordsWithoutEntry([{ name: answerRecord, value: null }], { indexes: [expiry(id, stored, false)] })
}

function expiry(id: string, { begunAt }: StoredIdempotencyKey, isPresent: boolean): IndexChange {
  return { index: idempotencyIndex, entry: expiryEntry(begunAt, id), isPresent }
}
