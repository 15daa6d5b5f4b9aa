import { expect, test } from 'vitest'
import { type Action, actions, type Grant, scopeOf } from '#model/scope'
import { mayBind } from '#routes/bound-visibility'
import { grantOn } from '#test/routes/server-with-users'

const binds = (...devices: string[]) => grantOn(devices, ['*'], { alarms: ['create'] })
const reads = (devices: string[], ...services: string[]) => grantOn(devices, services, { service: ['read'] })

test.each<[string, readonly Grant[], string | undefined, boolean]>([
  ['with both permissions', [binds('A'), reads(['A'], '*')], 'x', true],
  ['with any service where no service is given', [binds('A'), reads(['A'], 'y')], undefined, true],
  ['without read access', [binds('A')], undefined, false],
  ['with read access only', [reads(['A'], '*')], 'x', false],
  ['with another service', [binds('A'), reads(['A'], 'y')], 'x', false],
])('a binding to a device %s is allowed or refused', (_, grants, service, isAllowed) => {
  const may = (action: Action) => mayBind(scopeOf(grants), 'alarms', action, ['A'], service)
  expect(actions.filter(may)).toEqual(isAllowed ? ['create'] : [])
})
