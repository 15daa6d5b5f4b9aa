import { z } from 'zod'
import { ResourceIdentifier } from '#model/crn'
import { ShortName, Timestamp } from '#model/identifier'
import { printable } from '#model/text'

/** Users. Contract 2. */

/**
 * Contract 1.8. A colon would end the name in a Basic credential; a slash would end the tenant in a credential of the
 * device link.
 */
export const UserName = printable(64)
  .regex(/^[^:/]*$/, 'must not contain : or /')
  // Clients that normalise URLs could never address this name.
  .refine((name) => name !== '.' && name !== '..', 'must not be . or ..')

/** The user of all requests while authentication is off. Contract 2 */
export const anonymousName = 'anonymous'

/** For new accounts: no account may have the name of the anonymous user. */
export const NewUserName = UserName.refine(
  (name) => foldName(name) !== anonymousName,
  `must not be ${anonymousName}, the user of all requests while IAM is off`,
)

/**
 * The form by which names are compared, independent of case and typing: 𝐀𝐧𝐧, ANN and ann are equal. The name is put in
 * lower case, because ß has two upper-case forms (SS, ẞ), then in upper case, because σ has two lower-case forms (σ,
 * ς), and then in lower case again.
 */
export function foldName(name: string): string {
  return name.normalize('NFKC').toLowerCase().toUpperCase().toLowerCase().normalize('NFKC')
}

/** Only the form is checked; the first mail shows whether the address exists. RFC 5321 §4.5.3.1.3. */
export const Email = z
  .string()
  .min(3)
  .max(254)
  .regex(/^[^\s@\p{C}]+@[^\s@\p{C}]+$/u, 'must be an e-mail address')

/** The form by which addresses are compared: case makes no difference. */
export function foldEmail(email: string): string {
  return email.toLowerCase()
}

export const passwordCharactersMin = 10
export const passwordCharactersMax = 256

/** The form in which a password is hashed: keyboards compose accents differently. */
export function normalPassword(text: string): string {
  return text.normalize('NFC')
}

/** A new password: 10–256 characters (code points); the result is in normal form. Contract 2, Sign-up. */
export const Password = z
  .string()
  // A character has at most two units in normal form, and rarely more than six as it was typed.
  .max(8 * passwordCharactersMax, { abort: true })
  .refine((text) => text.isWellFormed(), { message: 'must be well-formed Unicode', abort: true })
  .overwrite(normalPassword)
  .refine((text) => {
    const { length } = [...text]
    return length >= passwordCharactersMin && length <= passwordCharactersMax
  }, `must be from ${passwordCharactersMin} to ${passwordCharactersMax} characters`)

/** A password to be verified. Every password that once was valid is accepted here. */
export const SubmittedPassword = z
  .string()
  .max(8 * passwordCharactersMax)
  .overwrite(normalPassword)

/** `invited`: the user has no password yet. */
export const userStates = ['invited', 'active', 'disabled'] as const
export const UserState = z.enum(userStates)
export type UserState = z.infer<typeof UserState>

export const secondFactors = ['totp', 'webauthn'] as const
export const SecondFactor = z.enum(secondFactors)
export type SecondFactor = z.infer<typeof SecondFactor>

/** Maximum number of roles of a user: the grants of all roles are combined. */
export const userRolesMax = 32

/** Names of roles, without duplicates. */
export const RoleNames = z
  .array(ShortName)
  .max(userRolesMax)
  .overwrite((names) => [...new Set(names)])

/** A user as the API returns it. */
export const UserEntry = z.object({
  name: UserName,
  email: Email.optional(),
  roles: RoleNames,
  state: UserState,
  twoFactor: z.array(SecondFactor),
  createdAt: Timestamp,
  resourceIdentifier: ResourceIdentifier,
})
export type UserEntry = z.infer<typeof UserEntry>
