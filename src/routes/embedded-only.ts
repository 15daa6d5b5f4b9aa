import type { Binding } from '#http/call'
import { Problem } from '#model/problem'
import type { RouteContext } from '#routes/context'

/** What only the embedded update server has: with another one set there is nothing to manage here. Contract 6. */
export function embeddedOnly(context: RouteContext, bindings: readonly Binding[]): Binding[] {
  return bindings.map(({ entry, answer }) => ({
    entry,
    answer(call) {
      if (!context.firmware.server.isEmbedded) throw new Problem('not_found', 'another update server is set')
      return answer(call)
    },
  }))
}
