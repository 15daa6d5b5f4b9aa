import { makeKeys } from '#client/dpop-proof'
import type { KeyPair } from '#client/options'
import { Problem } from '#client/problem'
import type { Answer } from '#client/routes'
import type { SignIn, TenantChoice } from '#client/session'
import type { TokenPair } from '#client/token-pair'
import type { Transport } from '#client/transport'

/** What `POST /auth/login` comes to, with the key that was proven. */
export type Login =
  | { readonly keys: KeyPair; readonly pair: TokenPair }
  | { readonly keys: KeyPair; readonly secondFactor: SecondFactorNeeded }
  | { readonly tenants: readonly TenantChoice[] }

type SecondFactorNeeded = Extract<Answer<'POST /auth/login'>, { readonly status: unknown }>

/** With a fresh key, which the session has from then on. §5.2.1 @throws Problem 401 when address or password is wrong */
export async function logIn(transport: Transport, account: Omit<SignIn, 'keep'>): Promise<Login> {
  const keys = await makeKeys()
  const request = { method: 'POST', path: '/auth/login', body: account }
  const { status, headers, body } = await transport.send(request, { proof: { keys } })
  if (status === 409 && Array.isArray((body as { readonly tenants?: unknown } | undefined)?.tenants)) {
    return { tenants: (body as { readonly tenants: readonly TenantChoice[] }).tenants }
  }
  if (status !== 200) throw new Problem(status, body, headers)
  const answer = body as Answer<'POST /auth/login'>
  return 'accessToken' in answer ? { keys, pair: answer } : { keys, secondFactor: answer }
}
