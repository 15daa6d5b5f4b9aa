import { expect, test } from 'vitest'
import type { DeviceView, PropertyView, ServiceView } from '#client/client'
import { lastMessageAt } from '#dashboard/values/last-message'

const modifier = { isReadOnly: false, isActionable: false, isVolatile: false, isError: false, isArray: false }

function device(lastMessage: number, ...timestamps: readonly (number | undefined)[]): DeviceView {
  const properties = timestamps.map((timestamp, propId): readonly [number, PropertyView] => [
    propId,
    { propId, type: 'FLOAT', tag: 'value', modifier, ...(timestamp !== undefined && { timestamp }) },
  ])
  const service: ServiceView = Object.assign(new Map(properties), { valueAt: () => undefined })
  return {
    deviceIdentifier: 'A',
    status: 'online',
    lastMessage,
    lastConnect: 0,
    numConnects: 0,
    meta: {},
    services: new Map([['climate', service]]),
  }
}

test.each([
  ['the connection, without later reports', device(5, 3), 5],
  ['its latest report', device(5, 7, undefined, 9, 8), 9],
  ['never', device(0, undefined), 0],
])('the last message of a device: %s', (_, view, at) => {
  expect([lastMessageAt(view), lastMessageAt(view)]).toEqual([at, at])
})
