import { expect, test } from 'vitest'
import { anonymous } from '#access/built-in-callers'
import { permit } from '#http/authentication'
import { Problem } from '#model/problem'

/** `test/routes/access` and `test/routes/partial-access` test the permissions of each route. */
test('a request without the device parameter is not permitted, even to a caller with all permissions', () => {
  const access = { resource: 'service', action: 'read', within: 'device' } as const
  expect(() => permit(access, anonymous, {})).toThrow(new Problem('not_found'))
})
