import { describe, expect, test } from 'vitest'
import { Problem, type ProblemCode, problemKinds } from '#model/problem'
import { outcomeOfRefusal, outcomeOfWrite } from '#workers/running-action'

describe('what a device said', () => {
  test('is OK where all of it is', () => {
    const updates = [1, 2].map((propId) => ({ propId, status: 'OK' as const, message: 'done' }))
    expect(outcomeOfWrite({ updates })).toEqual({ status: 'OK' })
  })

  test('is kept property by property where not, in so many words', () => {
    const long = 'x'.repeat(1_024)
    const updates = Array.from({ length: 12 }, (_, propId) => ({ propId, status: 'REJECTED' as const, message: long }))
    const { status, updates: kept = [] } = outcomeOfWrite({ updates: [{ propId: 99, status: 'OK' }, ...updates] })
    expect([status, kept.length, kept[0]]).toEqual(['REJECTED', 13, { propId: 99, status: 'OK' }])
    expect(kept.map(({ message = '' }) => message.length)).toEqual([0, ...Array(8).fill(128), 0, 0, 0, 0])
  })

  test('is cut to whole characters', () => {
    const updates = [{ propId: 1, status: 'REJECTED' as const, message: `${'x'.repeat(127)}😀` }]
    expect(outcomeOfWrite({ updates }).updates?.[0]?.message?.isWellFormed()).toBe(true)
  })
})

describe('a refusal', () => {
  const later: readonly ProblemCode[] = ['overloaded', 'too_many_requests', 'storage', 'stopping']
  test.each(later)('for %s says nothing yet', (code) => {
    expect(outcomeOfRefusal(new Problem(code))).toBeUndefined()
  })

  test.each([
    ['device_offline', 'DEVICE_OFFLINE'],
    ['device_timeout', 'DEVICE_TIMEOUT'],
    ['not_found', 'NOT_FOUND'],
  ] as const)('for %s is %s', (code, status) => {
    expect(outcomeOfRefusal(new Problem(code))).toEqual({ status })
  })

  test('for what is wrong says what', () => {
    const details = [{ path: 'setpoint', message: 'is read-only' }]
    expect(outcomeOfRefusal(new Problem('invalid', undefined, { details }))).toEqual({ status: 'INVALID', details })
    const unknown = new Problem('property_unknown', 'there is no property x')
    expect(outcomeOfRefusal(unknown)).toEqual({
      status: 'INVALID',
      details: [{ path: 'updates', message: 'there is no property x' }],
    })
  })

  test('of any other kind is one too: nobody is asked for ever', () => {
    for (const code of Object.keys(problemKinds) as ProblemCode[]) {
      if (!later.includes(code))
        expect(outcomeOfRefusal(new Problem(code))).toMatchObject({ status: expect.any(String) })
    }
  })
})
