import type { Administrator, IdentitySettings } from '#access/options'
import type { SignInParts } from '#access/sign-in'
import { directoryAddress } from '#actors/directory/commands'
import { rowByName } from '#actors/directory/queries'
import { administratorRole } from '#actors/directory/rows'
import { defaultTenant } from '#actors/tenant/state'
import { randomId } from '#model/identifier'

/** The name of an administrator that was not configured. Contract 2. */
const defaultName = 'admin'
/** 20 Base58 characters have 117 bits. */
const passwordCharacters = 20

/**
 * Creates the configured administrator unless the name is taken; an existing account is never changed. If no
 * administrator is configured and there is no account at all, creates one with a random password, which can only be
 * shown now. Contract 2, First administrator.
 */
export async function firstAdministrator(
  parts: SignInParts,
  { administrator, administratorExists, administratorGenerated }: IdentitySettings,
): Promise<void> {
  const { system, world } = parts
  const directory = system.wake(directoryAddress)
  if (administrator) {
    if (rowByName(directory, administrator.name)) administratorExists?.(administrator.name)
    else await add(parts, administrator)
    return
  }
  if (directory.users.size > 0) return
  const password = randomId((byteCount) => world.random(byteCount), passwordCharacters)
  const generated = { name: defaultName, password }
  if (await add(parts, generated)) administratorGenerated?.(generated)
}

/** False when the name is taken. */
async function add({ system, passwords, world }: SignInParts, { name, password }: Administrator): Promise<boolean> {
  const passwordHash = await passwords.hash(password, { address: '' })
  const id = randomId((byteCount) => world.random(byteCount))
  const user = { id, tenant: defaultTenant, name, email: null, roles: [administratorRole] }
  return (await system.ask(directoryAddress, { type: 'add_administrator', user, passwordHash })) === true
}
