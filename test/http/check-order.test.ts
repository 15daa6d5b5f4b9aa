import { afterAll, expect, test } from 'vitest'
import { z } from 'zod'
import { anonymous } from '#access/built-in-callers'
import { permit } from '#http/authentication'
import { Problem } from '#model/problem'
import { scopeOf } from '#model/scope'
import { openHttp, route } from '#test/http/http-fixture'

/** Faults of a request in the order in which they are checked, with the status of each. */
const faults = {
  path: 404,
  method: 405,
  authentication: 401,
  right: 403,
  parameter: 404,
  reach: 404,
  query: 400,
  body: 400,
} as const
type Fault = keyof typeof faults
const names = Object.keys(faults) as Fault[]

let authentications = 0

const callerOf = (permission: 'read' | 'update') => ({
  ...anonymous,
  scope: scopeOf([{ permissions: { meta: [permission] }, devices: ['A'], services: ['*'] }]),
})

const http = await openHttp({
  bindings: [
    route('PUT', '/things/:deviceIdentifier', () => ({ status: 200, json: 'answered' }), {
      access: { resource: 'meta', action: 'update', within: 'device' },
      parameters: z.object({ deviceIdentifier: z.string().regex(/^[A-Z]$/) }),
      query: z.object({ depth: z.string().regex(/^\d$/).optional() }),
      body: { schema: z.object({ a: z.number() }) },
    }),
  ],
  authenticate(request) {
    authentications++
    if (request.header('authorization') === '') throw new Problem('unauthorized')
    return callerOf(request.header('authorization') === 'reader' ? 'read' : 'update')
  },
})
afterAll(() => http.server.close())

async function send(wrong: ReadonlySet<Fault>) {
  const thing = wrong.has('parameter') ? '**' : wrong.has('reach') ? 'B' : 'A'
  const path = `/${wrong.has('path') ? 'nothings' : 'things'}/${thing}?depth=${wrong.has('query') ? 'x' : '1'}`
  const authorization = wrong.has('right') ? 'reader' : 'writer'
  authentications = 0
  const response = await fetch(http.base + path, {
    method: wrong.has('method') ? 'PATCH' : 'PUT',
    body: wrong.has('body') ? '{"a":"1"}' : '{"a":1}',
    headers: {
      'Content-Type': 'application/json',
      ...(!wrong.has('authentication') && { Authorization: authorization }),
    },
  })
  const text = await response.text()
  return { status: response.status, body: text === '' ? undefined : JSON.parse(text), authentications }
}

function subsets(of: readonly Fault[]): Fault[][] {
  const [first, ...rest] = of
  if (first === undefined) return [[]]
  const without = subsets(rest)
  return [...without, ...without.map((subset) => [first, ...subset])]
}

test('a request without faults is answered', async () => {
  expect(await send(new Set())).toEqual({ status: 200, body: 'answered', authentications: 1 })
})

test.each(names)('the first fault is reported, with any later faults in the request: %s', async (first) => {
  const later = names.slice(names.indexOf(first) + 1)
  for (const rest of subsets(later)) {
    const { status, authentications: count } = await send(new Set([first, ...rest]))
    expect([status, count], [first, ...rest].join()).toEqual([faults[first], names.indexOf(first) < 2 ? 0 : 1])
  }
})

test('a malformed identifier and an invisible device have the same answer', async () => {
  const alike = { status: 404, body: { error: 'Not Found' }, authentications: 1 }
  expect(await send(new Set(['parameter']))).toEqual(alike)
  expect(await send(new Set(['reach']))).toEqual(alike)
})

/** `test/routes/access` and `test/routes/partial-access` test the permissions of each route. */
test('a request without the device parameter is not permitted, even to a caller with all permissions', () => {
  const access = { resource: 'service', action: 'read', within: 'device' } as const
  expect(() => permit(access, anonymous, {})).toThrow(new Problem('not_found'))
})
