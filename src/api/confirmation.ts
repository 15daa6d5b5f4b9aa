import { z } from 'zod'
import { ShownPassword } from '#model/user'

/** Of a TOTP, or a recovery code with or without its dashes. Whatever else is no good either. */
export const factorCodeField = z.string().max(64)

/**
 * By what a signed-in person shows, before a second factor is turned on or off, that it is still him who sits there.
 * Either of them, or a WebAuthn verification of the same session a moment ago. Contract 2, Second factor.
 */
export const confirmationFields = { password: ShownPassword.optional(), code: factorCodeField.optional() }
