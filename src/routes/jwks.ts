import type { KeyRing } from '#access/signing-key-ring'
import * as api from '#api/jwks'
import { type Binding, bind } from '#http/call'

/** Who answers with what tokens are verified by; without identity there are no tokens. Contract 2, Tokens. */
export function jwksRoutes(keys: KeyRing | undefined): Binding[] {
  return [bind(api.readJwks, () => ({ status: 200, json: keys?.jwks() ?? { keys: [] } }))]
}
