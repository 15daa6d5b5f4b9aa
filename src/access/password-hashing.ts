/**
 * How passwords become what is kept of them.
 *
 * Obligations: the same password gives another text each time; the text says by itself how to check it; checking takes
 * as long for a wrong password as for the right one; nothing of the password is kept, and no error tells it.
 */
export interface PasswordEngine {
  hash(password: string): Promise<string>
  /** False for a wrong password. Rejects for a text that is none of this engine's: it should never have been stored. */
  verify(hash: string, password: string): Promise<boolean>
  /** Whether checking it costs what checking a new one does. */
  isCurrent(hash: string): boolean
}
