import { replacedMsMax } from '#actors/session/state'
import { Participant } from '#test/simulation/participant'
import type { SimulatedPeople } from '#test/simulation/simulated-people'
import { endRequested, type Person, type Session } from '#test/simulation/simulated-person'
import type { SimulatedRequest } from '#test/simulation/simulated-server'

/** Routes that any valid token opens, with any permissions. */
const opened: readonly (readonly [name: string, request: SimulatedRequest])[] = [
  ['readMe', {}],
  ['createTicket', {}],
  ['listSessions', {}],
  ['logOut', {}],
  ['logOut', { query: { all: true } }],
  ['listDevices', { query: { depth: 2 } }],
]

const refusedForNow = new Set(['storage', 'overloaded'])

/**
 * Users who sign out, at one device or everywhere, and refresh their tokens; and attackers with old tokens: those of ended
 * sessions, and used refresh tokens. Old tokens must be refused, before and after a crash. Contract 2, Sign-out, Refresh.
 */
export class SimulatedSessions extends Participant<{ readonly people: SimulatedPeople }> {
  act(): void {
    const tried = this.random.next()
    if (tried < 0.3) this.#tryEndedToken()
    else if (tried < 0.4) this.#tryReplacedToken()
    else if (tried < 0.55) this.#signOut()
    else if (tried < 0.85) this.#renew()
    else this.#tryUsedRefreshToken()
  }

  /** Signs out by a token of the session, which may have ended: that session, another one of the user, or all. */
  #signOut(): void {
    const now = this.server.now()
    const [person, session] = this.#randomSession((each) => !each.isSurelyOver(now))
    if (!person || !session) return
    const { authorization } = session
    const tried = this.random.next()
    if (tried < 0.5) this.#end(person, session, 'logOut', { authorization }, [session])
    else if (tried < 0.7) {
      this.#end(person, session, 'logOut', { authorization, query: { all: true } }, [...person.sessions])
    } else {
      const other = this.random.pick([...person.sessions].filter(({ isBegun }) => isBegun)) ?? session
      this.#end(person, session, 'endSession', { authorization, parameters: { id: other.id } }, [other])
    }
  }

  #end(person: Person, by: Session, name: string, request: SimulatedRequest, ends: readonly Session[]): void {
    const ending = endRequested(ends)
    const wasOver = by.isSurelyOver(this.server.now())
    this.#ask(name, request, (refused) => {
      if (refused === undefined) {
        if (wasOver) this.#report(person, `is answered by ${name}, and the session is over`)
        this.witness.count('signed out')
        ending.done()
        return
      }
      // The end of the session may have reached the disk.
      if (refused === 'storage') return
      // First takes this request back: only other reasons for the end of the session can explain the refusal.
      ending.refused()
      const now = this.server.now()
      const isOver = by.mayBeRefused(now) || ends.some((session) => session.mayBeOver(now))
      if (refused !== 'overloaded' && !isOver) this.#report(person, `may not sign out by ${name}: ${refused}`)
    })
  }

  #renew(): void {
    const [person, session] = this.#randomSession((each) => each.refreshToken !== undefined)
    const refreshToken = session?.refreshToken
    if (!person || !session || refreshToken === undefined) return
    const wasOver = session.isSurelyOver(this.server.now())
    session.spend(refreshToken)
    session.refreshRequested(this.server.now())
    this.#ask('refreshToken', refreshRequest(refreshToken), (refused, body) => {
      if (refused === undefined) {
        if (wasOver) this.#report(person, 'refreshes a token, and the session is over')
        session.begun(body, this.server.now())
        this.witness.count('renewed')
      } else if (refused === 'overloaded') session.unspend(refreshToken)
      else if (refused !== 'storage' && !session.mayBeOver(this.server.now()))
        this.#report(person, `may not refresh a token: ${refused}`)
    })
  }

  /** A used refresh token means that it was stolen or copied, so the session ends. */
  #tryUsedRefreshToken(): void {
    const [person, session] = this.#randomSession((each) => each.spent !== undefined)
    const spent = session?.spent
    if (!person || !session || spent === undefined) return
    // Without a new refresh token, the outcome of the refresh is unknown: the spent token may still be valid.
    const isUsed = session.refreshToken !== undefined
    const now = this.server.now()
    const wasInDoubt = session.mayBeOver(now) || now > spent.until || !person.isActive
    const ending = endRequested([session])
    session.refreshRequested(now)
    this.#ask('refreshToken', refreshRequest(spent.token), (refused) => {
      if (refused === undefined) {
        if (isUsed) this.#report(person, 'refreshes by a used refresh token')
        ending.refused()
      } else if (refused === 'unauthorized') {
        this.witness.count('used refresh token tried')
        if (!wasInDoubt && person.isActive && session.doubts === 1) ending.done()
      } else if (refused === 'overloaded') ending.refused()
      else if (refused !== 'storage') this.#report(person, `tries a used refresh token, and is refused as ${refused}`)
    })
  }

  /** An access token that was replaced by a refresh more than 10 s ago is refused. */
  #tryReplacedToken(): void {
    const now = this.server.now()
    const [person, session] = this.#randomSession(
      ({ replaced }) => replaced !== undefined && now > replaced.at + replacedMsMax,
    )
    if (!person || !session?.replaced) return
    const [name, request] = this.random.pick(opened) ?? ['readMe', {}]
    this.#ask(name, { ...request, authorization: session.replaced.authorization }, (refused) => {
      if (refused === 'unauthorized') this.witness.count('replaced access token refused')
      else if (refused === undefined) this.#report(person, `is answered by ${name}, and the token was replaced`)
      else if (!refusedForNow.has(refused)) this.#report(person, `tries a replaced token, and is refused as ${refused}`)
    })
  }

  /** An attacker has a token of an ended session. */
  #tryEndedToken(): void {
    const now = this.server.now()
    const [person, session] = this.#randomSession((each) => each.isSurelyOver(now))
    if (!person || !session) return
    const { authorization, spent } = session
    const refreshToken = session.refreshToken ?? spent?.token
    const [name, request] =
      refreshToken !== undefined && this.random.next() < 0.4
        ? (['refreshToken', refreshRequest(refreshToken)] as const)
        : (this.random.pick(opened) ?? ['readMe', {}])
    this.#ask(name, { ...request, ...(name !== 'refreshToken' && { authorization }) }, (refused) => {
      this.witness.count(
        refused === 'unauthorized' ? 'token of an ended session refused' : `token of an ended session: ${refused}`,
      )
      if (refused === undefined) this.#report(person, `is answered by ${name}, and the session is over`)
      else if (refused !== 'unauthorized' && !refusedForNow.has(refused))
        this.#report(person, `tries a token of an ended session at ${name}, and is refused as ${refused}`)
    })
  }

  #ask(name: string, request: SimulatedRequest, onAnswer: (refused: string | undefined, body: string) => void): void {
    this.watch(this.answerTo(name, request).then(({ refused, body }) => onAnswer(refused, body)))
  }

  #randomSession(isMeant: (session: Session) => boolean): readonly [Person, Session] | readonly [] {
    const all = this.parts.people.persons.flatMap((person) =>
      [...person.sessions, ...person.over]
        .filter((session) => session.isBegun && isMeant(session))
        .map((session) => [person, session] as const),
    )
    return this.random.pick(all) ?? []
  }

  #report({ name }: Person, what: string): void {
    this.witness.report(`${name} ${what}`)
  }
}

function refreshRequest(refreshToken: string): SimulatedRequest {
  return { query: { grant_type: 'refresh_token' }, body: { refreshToken } }
}
