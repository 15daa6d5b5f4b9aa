import { describe, expect, test } from 'vitest'
import { rotationEveryMs, signingKeysActor, signsForMs } from '#actors/signing-keys/signing-keys'
import { type SigningKeysCommand, type SigningKeysState, signingKeyOf } from '#actors/signing-keys/state'
import type { Entry } from '#model/entry'
import type { Decision } from '#runtime/actor'
import { ActingActor, now, outcomeOf } from '#test/actors/acting-actor'
import { RecordingNotices } from '#test/actors/recording-notices'

const lifeMs = 8 * 3_600_000

class ActingKeys extends ActingActor<SigningKeysState, SigningKeysCommand> {
  readonly notices: RecordingNotices

  constructor(notices = new RecordingNotices()) {
    super(signingKeysActor(notices), { id: 'signing_keys' })
    this.notices = notices
  }

  add(kid: string): Decision<Entry> {
    const key = { kid, sealed: new Uint8Array(60).fill(3), fingerprint: new Uint8Array(32).fill(4) }
    return this.act({ type: 'add', key, retireOthersAt: this.at + lifeMs })
  }

  due(): Decision<Entry> {
    return this.act({ type: 'reminder_due', dueAt: this.at })
  }

  get kids(): string[] {
    return [...this.state.keys.keys()].sort()
  }
}

test('the first key signs, and has a reminder for its replacement', () => {
  const keys = new ActingKeys()
  expect(outcomeOf(keys.add('K1'))).toMatchObject({ kid: 'K1', createdAt: now, retiresAt: null })
  expect(signingKeyOf(keys.state)?.kid).toBe('K1')
  expect(keys.reminder).toBe(now + signsForMs)
  expect(keys.notices.received).toEqual(['signing key K1 retires at null'])
})

describe('a rotation', () => {
  test('adds a new key that signs, and the old key is deleted when its last token has expired', () => {
    const keys = new ActingKeys()
    keys.add('K1')
    keys.at += signsForMs / 2
    const retiresAt = keys.at + lifeMs
    keys.add('K2')
    expect(signingKeyOf(keys.state)?.kid).toBe('K2')
    expect(keys.state.keys.get('K1')).toMatchObject({ retiresAt, createdAt: now })
    expect(keys.reminder).toBe(retiresAt)
    expect(keys.notices.received).toEqual([
      'signing key K1 retires at null',
      'signing key K2 retires at null',
      `signing key K1 retires at ${retiresAt}`,
    ])
    keys.at = retiresAt - 1
    keys.due()
    expect(keys.kids).toEqual(['K1', 'K2'])
    expect(keys.reminder).toBe(retiresAt)
    expect(keys.notices.received).toEqual([])
    keys.at = retiresAt
    keys.due()
    expect(keys.kids).toEqual(['K2'])
    expect([...keys.records.keys()]).toEqual(['key/K2'])
    expect(keys.notices.received).toEqual(['signing key K1 gone'])
    expect(keys.reminder).toBe(now + signsForMs / 2 + signsForMs)
  })

  test('does not change the time at which an earlier key retires', () => {
    const keys = new ActingKeys()
    for (const kid of ['K1', 'K2', 'K3']) {
      keys.add(kid)
      keys.at += 3_600_000
    }
    const first = now + 3_600_000 + lifeMs
    expect(keys.state.keys.get('K1')?.retiresAt).toBe(first)
    expect(keys.state.keys.get('K2')?.retiresAt).toBe(first + 3_600_000)
    expect(keys.state.keys.get('K3')?.retiresAt).toBeNull()
    expect(keys.reminder).toBe(first)
  })

  test.each([
    [rotationEveryMs - 1, 'conflict: the last rotation is younger than a minute'],
    [rotationEveryMs, undefined],
  ])('%i ms after the last one has the refusal: %s', (afterMs, refusal) => {
    const keys = new ActingKeys()
    keys.add('K1')
    keys.at += afterMs
    const decision = keys.add('K2')
    if (refusal) expect(outcomeOf(decision)).toBe(refusal)
    else expect(decision.type).toBe('record')
    expect(keys.kids).toEqual(refusal ? ['K1'] : ['K1', 'K2'])
  })

  test('needs a key with a new id', () => {
    const keys = new ActingKeys()
    keys.add('K1')
    keys.at += rotationEveryMs
    expect(outcomeOf(keys.add('K1'))).toBe('conflict: the key exists')
  })
})

test('an old key causes a notice each hour until it is replaced', () => {
  const keys = new ActingKeys()
  keys.add('K1')
  expect(keys.notices.received).toHaveLength(1)
  keys.at = now + signsForMs - 1
  keys.due()
  expect([keys.notices.received, keys.reminder]).toEqual([[], now + signsForMs])
  keys.at = now + signsForMs
  for (let hour = 0; hour < 3; hour++) {
    keys.due()
    expect(keys.notices.received).toEqual(['the signing key is old'])
    expect(keys.reminder).toBe(keys.at + 3_600_000)
    keys.at += 3_600_000
  }
  keys.add('K2')
  keys.notices.lines.length = 0
  keys.at += lifeMs
  keys.due()
  expect(keys.notices.received).toEqual(['signing key K1 gone'])
})

test('an actor without a key has no reminder', () => {
  const keys = new ActingKeys()
  keys.due()
  expect(keys.reminder).toBeNull()
  expect(keys.notices.received).toEqual([])
  expect(signingKeyOf(keys.state)).toBeUndefined()
})
