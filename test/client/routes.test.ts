import { expectTypeOf, test } from 'vitest'
import type { Answer, Body, Item, ListName, Parameters, Query, RouteName } from '#client/client'

test('the types of calls equal the types of the entries', () => {
  expectTypeOf<'GET /devices'>().toExtend<RouteName>()
  expectTypeOf<'GET /nothing'>().not.toExtend<RouteName>()
  expectTypeOf<Parameters<'PUT /devices/:deviceIdentifier/services/:serviceIdentifier/properties'>>().toEqualTypeOf<
    Readonly<Record<'deviceIdentifier' | 'serviceIdentifier', string>>
  >()
  expectTypeOf<{ depth: 2; raw: false; limit: '500'; deviceIdentifier: string[] }>().toExtend<Query<'GET /devices'>>()
  expectTypeOf<{ raw: 'maybe' }>().not.toExtend<Query<'GET /devices'>>()
  expectTypeOf<Answer<'DELETE /devices/:deviceIdentifier'>>().toEqualTypeOf<undefined>()
  expectTypeOf<Answer<'GET /events/ticket'>>().toEqualTypeOf<{ ticket: string }>()
  expectTypeOf<Body<'POST /auth/token'>>().toEqualTypeOf<{ refreshToken: string }>()
  expectTypeOf<Body<'GET /devices'>>().toEqualTypeOf<undefined>()
  expectTypeOf<Item<'GET /meta'>['status']>().toEqualTypeOf<'online' | 'idle' | 'offline'>()
  expectTypeOf<'GET /alarms/status'>().toExtend<ListName>()
  expectTypeOf<'GET /iam/me'>().not.toExtend<ListName>()
})
