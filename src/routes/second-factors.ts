import type { SecondFactors } from '#access/sign-in-flows'
import * as api from '#api/second-factors'
import { type Binding, bind } from '#http/call'
import { notStored, signInOriginOf } from '#routes/sign-in'

/** Routes for one-time codes and recovery codes. §5.2.8, contract 2. */
export function secondFactorRoutes(factors: SecondFactors): Binding[] {
  return [
    bind(api.useTotp, async (call) => {
      const json = await factors.useTotp({ ...call.body, caller: call.caller, origin: signInOriginOf(call) })
      return { status: 200, headers: notStored, json }
    }),

    bind(api.useRecoveryCode, async (call) => {
      const json = await factors.useRecovery({ ...call.body, caller: call.caller, origin: signInOriginOf(call) })
      return { status: 200, headers: notStored, json }
    }),

    bind(api.enrollTotp, async (call) => {
      const json = await factors.enrollTotp({ ...call.body, caller: call.caller, origin: signInOriginOf(call) })
      return { status: 200, headers: notStored, json }
    }),

    bind(api.activateTotp, async (call) => {
      const json = await factors.activateTotp({ ...call.body, caller: call.caller, origin: signInOriginOf(call) })
      return { status: 200, headers: notStored, json }
    }),

    bind(api.removeTotp, async (call) => {
      await factors.removeTotp({ ...call.body, caller: call.caller, origin: signInOriginOf(call) })
      return { status: 204 }
    }),
  ]
}
