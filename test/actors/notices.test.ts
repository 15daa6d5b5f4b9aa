import { expect, test } from 'vitest'
import { type IdentityNotices, LateNotices } from '#actors/notices'
import { RecordingNotices } from '#test/actors/recording-notices'

function sayAll(notices: IdentityNotices): void {
  notices.sessionEnded('t', 'S1')
  notices.rolesChanged('t', 'ops', { grants: [], since: 5, edit: 1 })
  notices.userChanged('t', 'U1', undefined)
  notices.tenantChanged('t', undefined)
  notices.keyEnded('t', 'K1', 'api_key')
  notices.signingKeysChanged([])
  notices.signingKeyIsOld()
}

test('notices reach who listens, from then on and as they are', () => {
  const late = new LateNotices()
  expect(() => sayAll(late)).not.toThrow()
  const [listener, directly] = [new RecordingNotices(), new RecordingNotices()]
  late.listen(listener)
  sayAll(late)
  sayAll(directly)
  expect(listener.said).toEqual(directly.said)
  expect(listener.said).toHaveLength(7)
})
