import type { Credentials } from '#bench/harness/identity'

/** One login of a flood. `from`: a number that determines the address, see `localAddressOf`. */
export interface LoginAsked {
  readonly from: number
  readonly who: Credentials
}

/** Logins that may end alike. */
export interface LoginKind {
  /** The name under which their ends are counted. */
  readonly what: string
  /** Login `number` of the flood, if it is of this kind; `there`: users with their correct passwords. */
  asks(number: number, there: LoginUsers): LoginAsked
  /**
   * Failed logins before the flood: as many as are allowed in a minute, so that the flood has none left. Contract 2.
   */
  readonly failures?: { readonly count: number; asks(number: number, there: LoginUsers): LoginAsked }
}

export interface LoginUsers {
  /** Users whose passwords are not guessed. */
  readonly left: readonly Credentials[]
  /** The first is attacked from many addresses, the second from one. */
  readonly guessedAt: readonly [Credentials, Credentials]
}

/** Added to a number to get an address that no login of a flood uses. */
const apart = 1_000_000
const addresses = { ofAll: apart, ofGuesser: apart + 100, ofInsistent: apart + 101 } as const
/** One address may fail ten times for an account, so a hundred failures need ten addresses. */
const addressesOfAll = 10

const wrong = ({ name }: Credentials, number: number): Credentials => ({ name, password: `guess ${number}` })
const unknownUser = (number: number): Credentials => ({ name: `nobody ${number}`, password: `guess ${number}` })

/** `loginRules` has the allowed answers to each. */
export const loginKinds = {
  right: {
    what: 'who is right',
    asks: (number, { left }) => ({ from: number, who: left[(number >> 1) % left.length] ?? unknownUser(number) }),
  },
  stranger: {
    what: 'a guess from an address of its own',
    asks: (number) => ({ from: number, who: unknownUser(number) }),
  },
  atOne: {
    what: 'a guess at one account',
    asks: (number, { guessedAt: [account] }) => ({ from: number, who: wrong(account, number) }),
    failures: {
      count: 100,
      asks: (number, { guessedAt: [account] }) => {
        return { from: addresses.ofAll + (number % addressesOfAll), who: wrong(account, number) }
      },
    },
  },
  fromOne: {
    what: 'a guess from one address',
    asks: (number) => ({ from: addresses.ofGuesser, who: unknownUser(number) }),
    failures: { count: 60, asks: (number) => ({ from: addresses.ofGuesser, who: unknownUser(apart + number) }) },
  },
  again: {
    what: 'a guess at one account from one address',
    asks: (number, { guessedAt: [, account] }) => ({ from: addresses.ofInsistent, who: wrong(account, number) }),
    failures: {
      count: 10,
      asks: (number, { guessedAt: [, account] }) => ({ from: addresses.ofInsistent, who: wrong(account, number) }),
    },
  },
} satisfies Readonly<Record<string, LoginKind>>
