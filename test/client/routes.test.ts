import { describe, expect, expectTypeOf, test } from 'vitest'
import type { Answer, Body, Client, Item, ListName, Parameters, Query, RouteName } from '#client/client'

describe('the types of calls', () => {
  test('equal the types of the entries', () => {
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

  test('require parameters and bodies of routes', () => {
    const calls = (client: Client) => [
      client.call('GET /devices'),
      client.call('DELETE /devices/:deviceIdentifier', { parameters: { deviceIdentifier: 'PUMP-7' } }),
      client.call('PATCH /meta/:deviceIdentifier', { parameters: { deviceIdentifier: 'PUMP-7' }, body: { hall: 3 } }),
      client.call('PUT /updates/projects/:project/releases/:firmware', {
        parameters: { project: 'boiler', firmware: '1.5.0' },
        body: new Blob(['bytes']),
        headers: { 'Content-Range': 'bytes 0-4/5' },
      }),
      // @ts-expect-error The parameters are missing.
      client.call('DELETE /devices/:deviceIdentifier'),
      // @ts-expect-error A parameter is missing.
      client.call('DELETE /devices/:deviceIdentifier', { parameters: {} }),
      // @ts-expect-error The body is missing.
      client.call('POST /auth/token'),
      // @ts-expect-error The body has an unknown field.
      client.call('POST /auth/token', { body: { refreshToken: 't', more: 1 } }),
      // @ts-expect-error The route is unknown.
      client.call('GET /device'),
      // @ts-expect-error The route is not a list.
      client.pages('GET /iam/me'),
    ]
    expect(calls).toBeTypeOf('function')
  })
})
