import type { Credentials } from '#bench/harness/identity'

/** One login of a flood. `from`: a number that stands for an address, as `localAddressOf` takes it. */
export interface LoginAsked {
  readonly from: number
  readonly who: Credentials
}

/** Those whose part of a flood ends alike. */
export interface LoginKind {
  /** How their ends are counted. */
  readonly what: string
  /** Login `number` of the flood, if it is of this kind; `there`: users with their right passwords. */
  asks(number: number, there: LoginUsers): LoginAsked
  /** Wrong ones before the flood: as many as there may be in a minute, so that in the flood there is none more. Contract 2. */
  readonly failures?: { readonly count: number; asks(number: number, there: LoginUsers): LoginAsked }
}

export interface LoginUsers {
  /** Nobody guesses at them. */
  readonly left: readonly Credentials[]
  /** Many guess at the first, from everywhere; one at the second. */
  readonly guessedAt: readonly [Credentials, Credentials]
}

/** Addresses that nobody of a flood has by his number. */
const apart = 1_000_000
const addresses = { ofAll: apart, ofGuesser: apart + 100, ofInsistent: apart + 101 } as const
/** An address may be wrong about one account ten times, and so it takes ten of them to be wrong a hundred times. */
const addressesOfAll = 10

const wrong = ({ name }: Credentials, number: number): Credentials => ({ name, password: `guess ${number}` })
const nobody = (number: number): Credentials => ({ name: `nobody ${number}`, password: `guess ${number}` })

/** What may be said to each is in `loginRules`. */
export const loginKinds = {
  right: {
    what: 'who is right',
    asks: (number, { left }) => ({ from: number, who: left[(number >> 1) % left.length] ?? nobody(number) }),
  },
  stranger: {
    what: 'a guess from an address of its own',
    asks: (number) => ({ from: number, who: nobody(number) }),
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
    asks: (number) => ({ from: addresses.ofGuesser, who: nobody(number) }),
    failures: { count: 60, asks: (number) => ({ from: addresses.ofGuesser, who: nobody(apart + number) }) },
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
