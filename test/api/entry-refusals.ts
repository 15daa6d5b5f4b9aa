import { defineRoute } from '#api/entry'

/**
 * Compile-time tests, run by `npm run check`: the compiler refuses an entry without `access`, or with an access that does
 * not match the parameters of the path. An expected error that is missing is an error.
 */
const rest = {
  name: 'x',
  method: 'GET',
  source: '§0',
  summary: '',
  answers: {},
  example: { status: 200 },
} as const
const read = { resource: 'service', action: 'read' } as const

// @ts-expect-error Access is missing.
defineRoute({ ...rest, path: '/devices' })
// @ts-expect-error The permission has no `within`.
defineRoute({ ...rest, path: '/devices', access: read })
// @ts-expect-error The path names no device.
defineRoute({ ...rest, path: '/devices', access: { ...read, within: 'device' } })
// @ts-expect-error The path names a device.
defineRoute({ ...rest, path: '/devices/:deviceIdentifier', access: { ...read, within: 'list' } })
// @ts-expect-error The path names a device before its last part.
defineRoute({ ...rest, path: '/devices/:deviceIdentifier/services', access: { ...read, within: 'tenant' } })
// @ts-expect-error The path has a second parameter.
defineRoute({ ...rest, path: '/meta/:deviceIdentifier/:key', access: { ...read, within: 'tenant' } })
// @ts-expect-error The path names only a service.
defineRoute({ ...rest, path: '/schemas/:serviceIdentifier', access: { ...read, within: 'device' } })
const both = '/devices/:deviceIdentifier/services/:serviceIdentifier/properties'
const mirrored = '/services/:serviceIdentifier/devices/:deviceIdentifier'
// @ts-expect-error The path names both, so one grant must cover both.
defineRoute({ ...rest, path: both, access: { ...read, within: 'device' } })
// @ts-expect-error The order does not matter.
defineRoute({ ...rest, path: mirrored, access: { ...read, within: 'service' } })
// @ts-expect-error The resource does not exist.
defineRoute({ ...rest, path: '/devices', access: { resource: 'devices', action: 'read', within: 'list' } })

defineRoute({ ...rest, path: '/devices', access: { ...read, within: 'list' } })
defineRoute({ ...rest, path: '/health/status', access: { ...read, within: 'tenant' } })
defineRoute({ ...rest, path: '/devices/:deviceIdentifier', access: { ...read, within: 'device' } })
defineRoute({ ...rest, path: '/schemas/:serviceIdentifier', access: { ...read, within: 'service', mayCreate: true } })
defineRoute({ ...rest, path: both, access: { ...read, within: 'service of device' } })
defineRoute({ ...rest, path: '/devices/:deviceIdentifier', access: 'none' })
