import type { Logins } from '#access/sign-in-flows'
import * as api from '#api/sign-in'
import { type Binding, bind } from '#http/call'
import { notStored, signInOriginOf } from '#routes/sign-in-origin'

/** Routes for tokens of the Basic scheme. §5.1, contract 2. */
export function basicTokenRoutes(logins: Logins): Binding[] {
  return [
    bind(api.readToken, async (call) => {
      const isOffline = call.query.scope ?? false
      const authorization = call.header('authorization')
      const json = await logins.basicToken({ authorization, isOffline, place: signInOriginOf(call) })
      return { status: 200, headers: notStored, json }
    }),

    bind(api.refreshToken, async (call) => {
      const { refreshToken } = call.body
      const json = await logins.refreshBasic({ refreshToken, place: signInOriginOf(call) })
      return { status: 200, headers: notStored, json }
    }),
  ]
}
