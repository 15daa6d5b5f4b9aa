import { describe, expect, test } from 'vitest'
import { Problem, type ProblemCode, problemKinds } from '#model/problem'
import { outcomeOfRefusal, outcomeOfWrite } from '#workers/running-action'

describe('the outcome of a write', () => {
  test('is OK if all properties are', () => {
    const updates = [1, 2].map((propId) => ({ propId, status: 'OK' as const, message: 'done' }))
    expect(outcomeOfWrite({ updates })).toEqual({ status: 'OK' })
  })

  test('has all properties otherwise, with at most eight short messages', () => {
    const long = 'x'.repeat(1_024)
    const updates = Array.from({ length: 12 }, (_, propId) => ({ propId, status: 'REJECTED' as const, message: long }))
    const { status, updates: results = [] } = outcomeOfWrite({ updates: [{ propId: 99, status: 'OK' }, ...updates] })
    expect([status, results.length, results[0]]).toEqual(['REJECTED', 13, { propId: 99, status: 'OK' }])
    expect(results.map(({ message = '' }) => message.length)).toEqual([0, ...Array(8).fill(128), 0, 0, 0, 0])
  })

  test('is cut to whole characters', () => {
    const updates = [{ propId: 1, status: 'REJECTED' as const, message: `${'x'.repeat(127)}😀` }]
    expect(outcomeOfWrite({ updates }).updates?.[0]?.message?.isWellFormed()).toBe(true)
  })
})

describe('the outcome of a refusal', () => {
  const later: readonly ProblemCode[] = ['overloaded', 'too_many_requests', 'storage', 'stopping']
  test.each(later)('%s is open', (code) => {
    expect(outcomeOfRefusal(new Problem(code))).toBeUndefined()
  })

  test.each([
    ['device_offline', 'DEVICE_OFFLINE'],
    ['device_timeout', 'DEVICE_TIMEOUT'],
    ['not_found', 'NOT_FOUND'],
  ] as const)('%s is %s', (code, status) => {
    expect(outcomeOfRefusal(new Problem(code))).toEqual({ status })
  })

  test('an invalid write has details', () => {
    const details = [{ path: 'setpoint', message: 'is read-only' }]
    expect(outcomeOfRefusal(new Problem('invalid', undefined, { details }))).toEqual({ status: 'INVALID', details })
    const unknown = new Problem('property_unknown', 'there is no property x')
    expect(outcomeOfRefusal(unknown)).toEqual({
      status: 'INVALID',
      details: [{ path: 'updates', message: 'there is no property x' }],
    })
  })

  test('every other problem has an outcome', () => {
    for (const code of Object.keys(problemKinds) as ProblemCode[]) {
      if (!later.includes(code))
        expect(outcomeOfRefusal(new Problem(code))).toMatchObject({ status: expect.any(String) })
    }
  })
})
