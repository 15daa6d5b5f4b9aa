import type { KeyRing } from '#access/signing-key-ring'
import * as api from '#api/sign-in'
import { type Binding, bind } from '#http/call'

/** Routes for the public keys of tokens; with authentication off there are no tokens. Contract 2, Tokens. */
export function jwksRoutes(keys: KeyRing | undefined): Binding[] {
  return [bind(api.readJwks, () => ({ status: 200, json: keys?.jwks() ?? { keys: [] } }))]
}
