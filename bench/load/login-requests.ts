import { askApi, type Credentials, createUser } from '#bench/harness/identity'
import { DpopKey } from '#bench/load/dpop-proofs'

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
