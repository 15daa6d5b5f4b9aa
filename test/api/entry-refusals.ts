import { defineRoute } from '#api/route-entry'

/**
 * Compile-time tests, run by `npm run check`: the compiler refuses an entry without `access`, or with an access that
 * does not match the parameters of the path. A missing error is reported, because each line has `@ts-expect-error`.
 */
const rest = { summary: '', answers: {} } as const
const read = { resource: 'service', action: 'read' } as const

// @ts-expect-error Access is missing.
defineRoute('x', { ...rest, route: 'GET /devices' })
// @ts-expect-error The permission has no `within`.
defineRoute('x', { ...rest, route: 'GET /devices', access: read })
// @ts-expect-error The path names no device.
defineRoute('x', { ...rest, route: 'GET /devices', access: { ...read, within: 'device' } })
// @ts-expect-error The path names a device.
defineRoute('x', { ...rest, route: 'GET /devices/:deviceIdentifier', access: { ...read, within: 'list' } })
// @ts-expect-error The path names a device before its last part.
defineRoute('x', { ...rest, route: 'GET /devices/:deviceIdentifier/services', access: { ...read, within: 'tenant' } })
// @ts-expect-error The path has a second parameter.
defineRoute('x', { ...rest, route: 'GET /meta/:deviceIdentifier/:key', access: { ...read, within: 'tenant' } })
// @ts-expect-error The path names only a service.
defineRoute('x', { ...rest, route: 'GET /schemas/:serviceIdentifier', access: { ...read, within: 'device' } })
const both = 'GET /devices/:deviceIdentifier/services/:serviceIdentifier/properties'
const mirrored = 'GET /services/:serviceIdentifier/devices/:deviceIdentifier'
// @ts-expect-error The path names a device and a service, so one grant must cover both.
defineRoute('x', { ...rest, route: both, access: { ...read, within: 'device' } })
// @ts-expect-error One grant must cover both, in whichever order the path names them.
defineRoute('x', { ...rest, route: mirrored, access: { ...read, within: 'service' } })
// @ts-expect-error The resource does not exist.
defineRoute('x', { ...rest, route: 'GET /devices', access: { resource: 'devices', action: 'read', within: 'list' } })

defineRoute('x', { ...rest, route: 'GET /devices', access: { ...read, within: 'list' } })
defineRoute('x', { ...rest, route: 'GET /health/status', access: { ...read, within: 'tenant' } })
defineRoute('x', { ...rest, route: 'GET /devices/:deviceIdentifier', access: { ...read, within: 'device' } })
defineRoute('x', {
  ...rest,
  route: 'GET /schemas/:serviceIdentifier',
  access: { ...read, within: 'service', mayCreate: true },
})
defineRoute('x', { ...rest, route: both, access: { ...read, within: 'service of device' } })
defineRoute('x', { ...rest, route: 'GET /devices/:deviceIdentifier', access: 'none' })
