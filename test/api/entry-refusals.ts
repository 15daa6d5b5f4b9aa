import { defineRoute } from '#api/entry'

/**
 * What the compiler refuses, read by `npm run check`: an entry that forgets to say who may call, or what of its path
 * must lie inside. Each expected error that does not come is an error itself.
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

// @ts-expect-error Nobody said who may call.
defineRoute({ ...rest, path: '/devices' })
// @ts-expect-error Nor does a permission by itself say what of the path it is about.
defineRoute({ ...rest, path: '/devices', access: read })
// @ts-expect-error The path names no device.
defineRoute({ ...rest, path: '/devices', access: { ...read, within: 'device' } })
// @ts-expect-error The path names one.
defineRoute({ ...rest, path: '/devices/:deviceIdentifier', access: { ...read, within: 'list' } })
// @ts-expect-error Also when more comes behind it.
defineRoute({ ...rest, path: '/devices/:deviceIdentifier/services', access: { ...read, within: 'tenant' } })
// @ts-expect-error Also when another parameter does.
defineRoute({ ...rest, path: '/meta/:deviceIdentifier/:key', access: { ...read, within: 'tenant' } })
// @ts-expect-error A service alone.
defineRoute({ ...rest, path: '/schemas/:serviceIdentifier', access: { ...read, within: 'device' } })
const both = '/devices/:deviceIdentifier/services/:serviceIdentifier/properties'
const mirrored = '/services/:serviceIdentifier/devices/:deviceIdentifier'
// @ts-expect-error Both, and both in one grant.
defineRoute({ ...rest, path: both, access: { ...read, within: 'device' } })
// @ts-expect-error In either order.
defineRoute({ ...rest, path: mirrored, access: { ...read, within: 'service' } })
// @ts-expect-error There is no such resource.
defineRoute({ ...rest, path: '/devices', access: { resource: 'devices', action: 'read', within: 'list' } })

defineRoute({ ...rest, path: '/devices', access: { ...read, within: 'list' } })
defineRoute({ ...rest, path: '/health/status', access: { ...read, within: 'tenant' } })
defineRoute({ ...rest, path: '/devices/:deviceIdentifier', access: { ...read, within: 'device' } })
defineRoute({ ...rest, path: '/schemas/:serviceIdentifier', access: { ...read, within: 'service', mayCreate: true } })
defineRoute({ ...rest, path: both, access: { ...read, within: 'service of device' } })
defineRoute({ ...rest, path: '/devices/:deviceIdentifier', access: 'none' })
