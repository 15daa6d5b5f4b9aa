import { describe, expect, test } from 'vitest'
import { authOutcomes, countFailed, credentialKindOf, noAuthCounts } from '#access/authenticator'
import { SignInCounts } from '#access/sign-in'
import type { RouteAccess } from '#api/route-entry'
import { Problem, type ProblemCode } from '#model/problem'
import { requestWith } from '#test/access/authentication-request'

test.each<[Readonly<Record<string, string>>, RouteAccess, string]>([
  [{}, 'session', 'none'],
  [{}, 'proof', 'proof'],
  [{}, 'user or proof', 'proof'],
  [{ authorization: 'Bearer x' }, 'user or proof', 'bearer'],
  [{ authorization: 'bearer' }, 'session', 'bearer'],
  [{ authorization: 'DPoP x' }, 'session', 'dpop'],
  [{ authorization: 'dpopper x' }, 'session', 'other'],
  [{ authorization: 'Basic x' }, 'session', 'other'],
  [{ authorization: 'Basic x' }, 'link', 'link'],
  [{ authorization: 'Bearer x', 'x-api-key': 'y' }, 'session', 'api_key'],
])('a refused caller is counted by kind of credential: headers %j with access %s as %s', (headers, access, kind) => {
  expect(credentialKindOf(requestWith(headers), access)).toBe(kind)
})

describe('a refused caller is counted by reason', () => {
  test.each<[ProblemCode, string]>([
    ['bad_request', 'challenged'],
    ['unauthorized', 'refused'],
    ['forbidden', 'refused'],
    ['too_many_requests', 'held_up'],
    ['overloaded', 'unavailable'],
    ['storage', 'unavailable'],
  ])('%s is counted as %s', (code, outcome) => {
    const counts = noAuthCounts()
    countFailed(counts, 'bearer', new Problem(code))
    for (const each of authOutcomes) expect(counts.bearer[each]).toBe(each === outcome ? 1 : 0)
  })

  test('a bug is not counted', () => {
    const counts = noAuthCounts()
    countFailed(counts, 'bearer', new Error('a bug'))
    expect(counts).toEqual(noAuthCounts())
  })
})

test('a counted sign-in returns the same result and throws the same error as without counts', async () => {
  const counts = new SignInCounts()
  const problem = new Problem('unauthorized')
  const flow = counts.countOutcomes(
    'login',
    async (is: 'right' | 'wrong' | 'odd') => {
      if (is === 'wrong') throw problem
      if (is === 'odd') throw new TypeError('a bug')
      return { type: 'second_factor' as const }
    },
    ({ type }) => type,
  )
  expect(await flow('right')).toEqual({ type: 'second_factor' })
  await expect(flow('wrong')).rejects.toBe(problem)
  await expect(flow('wrong')).rejects.toBe(problem)
  await expect(flow('odd')).rejects.toThrow(TypeError)
  expect([...counts]).toEqual([
    { way: 'login', outcome: 'second_factor', count: 1 },
    { way: 'login', outcome: 'unauthorized', count: 2 },
    { way: 'login', outcome: 'bug', count: 1 },
  ])
})
