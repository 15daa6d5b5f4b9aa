import type { Credentials } from '#bench/harness/identity'

export interface AskedLogin {
  /** Determines the address; see `localAddressOf`. */
  readonly from: number
  readonly who: Credentials
}

/** A kind of login. All logins of a kind may have the same results. */
export interface LoginKind {
  /** The name under which the results of these logins are counted. */
  readonly what: string
  /** Returns login `number` of this kind. `users`: the users with their correct passwords. */
  asks(number: number, users: readonly Credentials[]): AskedLogin
  /** Failed logins before the attack: all that are allowed in a minute, so that the attack has none left. Contract 2. */
  readonly failures?: { readonly count: number; asks(number: number, users: readonly Credentials[]): AskedLogin }
}

/** Added to a number to get an address that no other login uses. */
const apart = 1_000_000
const addresses = { ofAll: apart, ofGuesser: apart + 100, ofInsistent: apart + 101 } as const
/** One address may fail ten times for an account, so a hundred failures need ten addresses. */
const addressesOfAll = 10
/** Several, because a user may have only a hundred sessions. The attackers guess the passwords of the first two. */
export const usersCount = 22

const wrong = (user: Credentials | undefined, number: number) => ({
  name: user?.name ?? '',
  password: `guess ${number}`,
})
const unknownUser = (number: number) => ({ name: `nobody ${number}`, password: `guess ${number}` })

export const loginKinds = {
  right: {
    what: 'a correct password',
    asks: (number, [, , ...users]) => ({ from: number, who: users[(number >> 1) % users.length] as Credentials }),
  },
  stranger: {
    what: 'a guess from an address of its own',
    asks: (number) => ({ from: number, who: unknownUser(number) }),
  },
  atOne: {
    what: 'a guess at one account',
    asks: (number, [account]) => ({ from: number, who: wrong(account, number) }),
    failures: {
      count: 100,
      asks: (number, [account]) => ({ from: addresses.ofAll + (number % addressesOfAll), who: wrong(account, number) }),
    },
  },
  fromOne: {
    what: 'a guess from one address',
    asks: (number) => ({ from: addresses.ofGuesser, who: unknownUser(number) }),
    failures: { count: 60, asks: (number) => ({ from: addresses.ofGuesser, who: unknownUser(apart + number) }) },
  },
  again: {
    what: 'a guess at one account from one address',
    asks: (number, [, account]) => ({ from: addresses.ofInsistent, who: wrong(account, number) }),
    failures: {
      count: 10,
      asks: (number, [, account]) => ({ from: addresses.ofInsistent, who: wrong(account, number) }),
    },
  },
} satisfies Readonly<Record<string, LoginKind>>
