import type { SignInParts } from '#access/sign-in'
import { directoryAddress } from '#actors/directory/commands'
import { rowByName } from '#actors/directory/queries'
import { administratorRole } from '#actors/directory/rows'
import { defaultTenant } from '#actors/tenant/state'
import { randomId } from '#model/identifier'

/** The name of an administrator that was not configured. Contract 2. */
const nameByDefault = 'admin'
/** 117 bits. */
const passwordCharacters = 20

export interface Administrator {
  readonly name: string
  readonly password: string
}

/**
 * Creates the configured administrator unless the name is taken; an existing account is never changed. If none is
 * configured and there is no account at all, creates one with a random password, returned once it is stored so that
 * it can be shown once. Contract 2, First administrator.
 */
export async function firstAdministrator(
  parts: SignInParts,
  configured: Administrator | undefined,
  nameExists: (name: string) => void = () => {},
): Promise<Administrator | undefined> {
  const { system, world } = parts
  if (configured) {
    if (rowByName(system.wake(directoryAddress), configured.name)) nameExists(configured.name)
    else await add(parts, configured)
    return undefined
  }
  if (system.wake(directoryAddress).users.size > 0) return undefined
  const password = randomId((byteCount) => world.random(byteCount), passwordCharacters)
  const made = { name: nameByDefault, password }
  return (await add(parts, made)) ? made : undefined
}

/** False when the name is taken. */
async function add({ system, passwords, world }: SignInParts, { name, password }: Administrator): Promise<boolean> {
  const passwordHash = await passwords.hash(password, { address: '' })
  const id = randomId((byteCount) => world.random(byteCount))
  const user = { id, tenant: defaultTenant, name, email: null, roles: [administratorRole] }
  return (await system.ask(directoryAddress, { type: 'add_administrator', user, passwordHash })) === true
}
