import type { Candidate } from '#access/passwords'
import type { SignInPlace } from '#access/requests'
import type { Recognised, SignInParts } from '#access/sign-in'
import { accountAddress } from '#actors/account/address'
import type { UserRow } from '#actors/directory/state'
import { foldName } from '#model/user'

/**
 * A password that somebody shows with a text that says who he is. Whether there is anybody of that text must show neither in
 * words nor in status nor in time, however often and in whatever spelling, tenant or host it is asked. So 429 is decided by
 * the address and the text alone, before anybody is looked up; who was guessed at too often by another text is as if he were
 * nobody; and everybody costs as many hashes.
 */
export interface Guess {
  /** As it was typed. */
  readonly text: string
  readonly password: string
  readonly place: SignInPlace
  /** Whom it may mean. Asked in its turn. */
  readonly rows: () => readonly UserRow[]
  /** As many hashes it costs, or more. */
  readonly hashesMin: () => number
}

/** Whose password it is. */
export interface Match extends Recognised {
  readonly row: UserRow
  readonly hash: string
}

interface Tried extends Candidate {
  readonly match?: Match
}

const nobody: Tried = { hash: undefined }

/**
 * All whose password it is. Wrong ones count: for the address and the text, and for each on whom it was tried. Where it is one's
 * password and not the other's, that is a wrong guess at the other: else whoever has an account in one tenant could try
 * passwords of its namesake in another for as long as he likes.
 *
 * @throws Problem `too_many_requests`, `overloaded`
 */
export function recognise({ system, passwords, attempts }: SignInParts, guess: Guess): Promise<readonly Match[]> {
  const { text, password, place } = guess
  const { address } = place
  const typed = accountTyped(text)
  const triedOn = (row: UserRow): Tried => {
    if (attempts.isHeldUp(address, accountOfId(row.id))) return nobody
    const { credentials } = system.peek(accountAddress(row.tenant, row.id))
    if (!credentials || credentials.hash === null) return nobody
    const { hash, version } = credentials
    return { hash, match: { row, tenant: row.tenant, user: row.id, version, hash } }
  }
  const candidates = () => {
    attempts.check(address, typed)
    const tried = guess.rows().map(triedOn)
    const missing = Math.max(guess.hashesMin() - tried.length, 0)
    return [...tried, ...Array.from({ length: missing }, () => nobody)]
  }
  attempts.check(address, typed)
  return passwords.verify(candidates, password, place, (right, wrong) => {
    const guessedAt = matchesOf(wrong).map(({ user }) => accountOfId(user))
    if (right.length > 0) attempts.failedOn(address, ...guessedAt)
    else attempts.failed(address, typed, ...guessedAt)
    return matchesOf(right)
  })
}

function matchesOf(tried: readonly Tried[]): readonly Match[] {
  return tried.flatMap(({ match }) => match ?? [])
}

/** What attempts count for by what was typed: the same however it is spelled, for a name and for an address. */
export function accountTyped(text: string): string {
  return `typed ${foldName(text)}`
}

/** What attempts count for at somebody there is. */
export function accountOfId(id: string): string {
  return `id ${id}`
}

/** All that they count for where it is known who he is. */
export function accountsOf({ id, name, email }: UserRow): readonly string[] {
  return [...new Set([accountOfId(id), accountTyped(name), ...(email === null ? [] : [accountTyped(email)])])]
}
