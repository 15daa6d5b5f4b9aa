/**
 * Hashes and verifies passwords.
 *
 * Obligations: the same password gives a different text each time; the text contains all parameters for its check; a
 * wrong password takes as long as the right one; the password is not stored, and no error contains it.
 */
export interface PasswordEngine {
  hash(password: string): Promise<string>
  /** False for a wrong password. Rejects for a text of another engine, which should never have been stored. */
  verify(hash: string, password: string): Promise<boolean>
  /** Whether it was hashed with the present parameters. */
  isCurrent(hash: string): boolean
}
