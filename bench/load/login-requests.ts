import { type KeyObject, randomBytes, randomUUID, sign } from 'node:crypto'
import { base64urlOf, tokenHash } from '#access/secret-text'
import { makeSigningKey } from '#access/signing-keys'
import { askApi, type Credentials, createUser } from '#bench/harness/identity'

const loginPath = '/auth/login'

export interface BoundSession {
  readonly key: DpopKey
  readonly token: string
}

export interface LoginPlace {
  readonly port: number
  readonly nonce: string
}

/** Creates this many users with this role; `person`: authorization of the inviting user. */
export async function createUsers(port: number, person: string, count: number, role: string): Promise<Credentials[]> {
  const brought: Credentials[] = []
  // Creates one user after the other: the server handles sign-ups sequentially.
  for (let number = 0; number < count; number++) {
    brought.push(await createUser(port, person, { name: `user${number}`, role }))
  }
  return brought
}

export async function currentNonce(port: number): Promise<string> {
  const { headers } = await askApi(port, loginPath, { method: 'POST', body: '{}' })
  const nonce = headers['dpop-nonce']
  if (typeof nonce !== 'string') throw new Error('the server sent no nonce')
  return nonce
}

/** A login with a key; the proof is made at once. */
export interface Login {
  readonly key: DpopKey
  readonly proof: string
  readonly body: string
}

export function loginOf({ name, password }: Credentials, { port, nonce }: LoginPlace, key = new DpopKey()): Login {
  const url = `http://127.0.0.1:${port}/api/v1${loginPath}`
  return {
    key,
    proof: key.proof({ method: 'POST', url, nonce }),
    body: JSON.stringify({ email: name, password }),
  }
}

export async function signIn(who: Credentials, place: LoginPlace): Promise<BoundSession> {
  const login = loginOf(who, place)
  const { proof, body } = login
  const { status, text } = await askApi(place.port, loginPath, { method: 'POST', body, headers: { dpop: proof } })
  if (status !== 200) throw new Error(`a login was answered ${status}: ${text.slice(0, 200)}`)
  const { accessToken } = JSON.parse(text) as { accessToken: string }
  return { key: login.key, token: accessToken }
}

export interface ProofSubject {
  readonly method: string
  readonly url: string
  readonly nonce: string
  /** The access token that is bound to the key, if there is one. */
  readonly token?: string
}

/** A client's key, and its DPoP proofs. RFC 9449 §4.2. */
export class DpopKey {
  readonly #privateKey: KeyObject
  /** The part of a proof that is the same in all. */
  readonly #header: { readonly typ: string; readonly alg: string; readonly jwk: object }

  constructor() {
    // Not `generateKeyPairSync`: before Node 22 a garbage collection during the export of its key as a JWK deadlocks
    // the process.
    const { privateKey, publicJwk } = makeSigningKey(randomBytes)
    this.#privateKey = privateKey
    this.#header = { typ: 'dpop+jwt', alg: 'ES256', jwk: publicJwk }
  }

  /** Valid from now on for a minute, by its `iat`. */
  proof({ method, url, nonce, token }: ProofSubject): string {
    const claims = { jti: randomUUID(), htm: method, htu: url, iat: Math.floor(Date.now() / 1000), nonce }
    const bound = token === undefined ? claims : { ...claims, ath: tokenHash(token) }
    const signed = `${base64urlOf(JSON.stringify(this.#header))}.${base64urlOf(JSON.stringify(bound))}`
    const signature = sign('sha256', Buffer.from(signed), { key: this.#privateKey, dsaEncoding: 'ieee-p1363' })
    return `${signed}.${base64urlOf(signature)}`
  }
}

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
