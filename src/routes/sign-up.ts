import type { Logins } from '#access/sign-in-flows'
import * as api from '#api/sign-in'
import { type Binding, bind } from '#http/call'
import { signInOriginOf } from '#routes/sign-in-origin'

/** Routes for sign-up. Contract 2. */
export function signUpRoutes(logins: Logins): Binding[] {
  return [
    bind(api.signUp, async (call) => {
      const { name, code, password } = call.body
      const json = await logins.signUp({ name, code, password, place: signInOriginOf(call) })
      const headers = { Location: `/api/v1/iam/users/${encodeURIComponent(json.name)}` }
      return { status: 201, headers, json }
    }),
  ]
}
