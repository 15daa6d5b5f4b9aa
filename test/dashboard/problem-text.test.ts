import { expect, test } from 'vitest'
import { ConnectionLost, Problem } from '#client/client'
import { detailAt, problemText, statusOf } from '#dashboard/components/problem-text'

const invalid = {
  error: 'Validation Error',
  details: [
    { path: 'name', message: 'must be shorter' },
    { path: '', message: 'must have something' },
  ],
}

test.each([
  [new Problem(409, { error: 'DEVICE_OFFLINE' }), /^The device is offline/],
  [new Problem(504, { error: 'DEVICE_TIMEOUT' }), /^The device did not answer in time/],
  [new Problem(503, { error: 'STORAGE' }), /^The server cannot write/],
  [new Problem(401, { error: 'invalid credentials' }), /^Name or password is wrong\.$/],
  [new Problem(401, { error: 'session over' }), /^Your session has ended, so nothing was done/],
  [new Problem(403, undefined), /^You may not do this\.$/],
  [new Problem(404, { error: 'Not Found' }), /^It does not exist/],
  [new Problem(409, { error: 'the role is in use' }), /^The role is in use\.$/],
  [new Problem(400, invalid), /^“name” must be shorter\. Must have something\.$/],
  [new Problem(429, undefined, new Headers({ 'retry-after': '7' })), /^Too many attempts\. Wait 7 s\.$/],
  [
    new Problem(500, { error: 'x' }, new Headers({ 'x-request-id': 'abc' })),
    /^The server failed\. Its log contains the request abc\.$/,
  ],
  [
    new Problem(412, { error: 'Precondition Failed' }),
    /^Another user changed it .* Save again to see the current version\.$/,
  ],
  [new ConnectionLost('gone'), /^The server cannot be reached at the moment\.$/],
  [new ConnectionLost('gone', { mayHaveChanged: true }), /^The server did not answer, .* Check this before/],
  [Object.assign(new Error('no'), { name: 'NotAllowedError' }), /^It was cancelled/],
  [new Error('the browser refused'), /^The browser refused\.$/],
  [new Error(''), /^It did not work\.$/],
  ['a text', /^It did not work\.$/],
  [undefined, /^It did not work\.$/],
])('the text for %o names the cause', (problem, text) => {
  expect(problemText(problem)).toMatch(text)
})

test('a problem has the detail of each field, and the status', () => {
  const problem = new Problem(400, invalid)
  expect([detailAt(problem, 'name'), detailAt(problem, 'other'), statusOf(problem)]).toEqual([
    'Must be shorter.',
    undefined,
    400,
  ])
  expect([detailAt(undefined, 'name'), statusOf(new Error('x'))]).toEqual([undefined, undefined])
})
