import { open, seal } from '#access/seal'
import type { SignInParts } from '#access/sign-in'
import type { AccountState } from '#actors/account/state'
import type { UserRow } from '#actors/directory/state'

/** A TOTP secret rests sealed, for one user alone. Undone by `openTotpSecret`. */
export function sealTotpSecret({ world, fileKeys }: SignInParts, row: UserRow, secret: Uint8Array): Uint8Array {
  return seal(fileKeys().seal, secret, contextOf(row), (byteCount) => world.random(byteCount))
}

/** Undefined: he has none. Undone by `sealTotpSecret`. */
export function openTotpSecret(
  { fileKeys }: SignInParts,
  row: UserRow,
  { factors }: AccountState,
): Uint8Array | undefined {
  if (!factors.totp) return undefined
  const secret = open(fileKeys().seal, factors.totp.secret, contextOf(row))
  if (!secret) throw new Error(`the TOTP secret of user ${row.id} is damaged`)
  return secret
}

function contextOf({ tenant, id }: UserRow): string {
  return `totp/${tenant}/${id}`
}
