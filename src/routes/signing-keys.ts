import type { KeyRing } from '#access/signing-keys'
import * as api from '#api/keys'
import { readJwks } from '#api/sign-in'
import { type Binding, bind } from '#http/call'

/** Routes for the signing keys of tokens. Contract 2, Tokens. */
export function signingKeyRoutes(keys: KeyRing): Binding[] {
  return [
    bind(api.listSigningKeys, () => ({ status: 200, json: keys.list() })),

    // `Location` is the list: there is no route for a single key.
    bind(api.rotateSigningKey, async () => ({
      status: 201,
      headers: { Location: '/api/v1/iam/signing-keys' },
      json: await keys.rotate(),
    })),
  ]
}

/** Routes for the public keys of tokens; with authentication off there are no tokens. Contract 2, Tokens. */
export function jwksRoutes(keys: KeyRing | undefined): Binding[] {
  return [bind(readJwks, () => ({ status: 200, json: keys?.jwks() ?? { keys: [] } }))]
}
