import { isGoodCode } from '#actors/account/credentials'
import { rowByName } from '#actors/directory/queries'
import { hashOf } from '#iam/secret-text'
import { accountOfId, accountTyped } from '#identity/guess'
import type { SignUpRequest } from '#identity/requests'
import type { SignInParts } from '#identity/sign-in'
import { Problem } from '#model/problem'

/** `POST /iam/signup`: the first password, or another one. What is wrong with a code is not said. Contract 2, Sign-up. */
export async function signUp(parts: SignInParts, request: SignUpRequest): Promise<{ readonly name: string }> {
  const { world, states, passwords, attempts } = parts
  const { name, code, password, place } = request
  // Whether there is somebody of that name must not show: it is the name alone that is held up.
  attempts.check(place.address, accountTyped(name))
  const row = rowByName(states.directory, name)
  const refuse = () => {
    attempts.failed(place.address, accountTyped(name), ...(row ? [accountOfId(row.id)] : []))
    return new Problem('unauthorized', 'invalid or expired code')
  }
  const codeHash = hashOf(code)
  const isGood =
    row && row.state !== 'disabled' && isGoodCode(states.account(row.tenant, row.id), codeHash, world.now())
  if (!isGood) throw refuse()
  const passwordHash = await passwords.hash(password, place)
  // His tenant may be gone by now, and he with it.
  if (rowByName(states.directory, name)?.id !== row.id) throw refuse()
  try {
    await states.askAccount(row.tenant, row.id, { type: 'redeem_code', codeHash, passwordHash })
  } catch (error) {
    throw error instanceof Problem && error.code === 'unauthorized' ? refuse() : error
  }
  return { name: row.name }
}
