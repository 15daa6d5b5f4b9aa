import { expect, test } from 'vitest'
import { anonymous } from '#access/built-in-callers'
import { permit } from '#http/authentication'
import { Problem } from '#model/problem'

/** `test/routes/access` and `test/routes/partial-access` test the permissions of each route. */
test('a missing parameter is outside any reach, even of all devices', () => {
  const access = { resource: 'service', action: 'read', within: 'device' } as const
  expect(() => permit(access, anonymous, {})).toThrow(new Problem('not_found'))
})
