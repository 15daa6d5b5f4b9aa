import { z } from 'zod'
import { SubmittedPassword } from '#model/user'

/** A TOTP code, or a recovery code with or without its dashes. Any other text is a wrong code. */
export const factorCodeField = z.string().max(64)

/**
 * A signed-in user gives one of these to confirm their identity before a second factor is turned on or off. A recent
 * WebAuthn verification in the same session also counts. Contract 2, Second factor.
 */
export const confirmationFields = { password: SubmittedPassword.optional(), code: factorCodeField.optional() }
