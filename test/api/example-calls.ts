import type { RouteEntry } from '#api/entry'
import { exampleSubscription } from '#api/subscriptions'
import { exampleImage, putRelease } from '#api/update-projects'
import { exampleProject } from '#api/updates'
import { SoftAuthenticator } from '#test/access/soft-authenticator'
import { codeOf } from '#test/access/totp-code'
import { type Pair, ProvenClient } from '#test/api/proven-client'
import { type AccessFixture, type Asker, examplePassword, other } from '#test/routes/access-fixture'

/** What has to be another than in an example, for it is a secret that is only good here; and who asks. */
export interface ExampleCall {
  readonly asker?: Asker
  readonly headers?: Readonly<Record<string, string>>
  readonly parameters?: Readonly<Record<string, string>>
  readonly query?: string
  /** Instead of these fields of the body. */
  readonly body?: object
}

type Prepare = (ground: AccessFixture, entry: RouteEntry) => Promise<ExampleCall>

/** Of those that `eve`, who may do everything, cannot simply send. */
const prepared: Readonly<Record<string, Prepare>> = {
  readToken: async () => ({ headers: { authorization: basic('eve') } }),
  refreshToken: async (ground) => {
    const authorization = { authorization: basic('eve') }
    const { text } = await ground.call(undefined, 'GET', '/iam/token?scope=offline', undefined, authorization)
    return { body: { refreshToken: JSON.parse(text).refreshToken } }
  },
  // The ground's code is his name.
  signUp: async () => ({ body: { code: 'bob' } }),
  logIn: async (ground, entry) => ({ headers: await new ProvenClient(ground).headers(entry.method, entry.path) }),
  refreshSession: async (ground, entry) => {
    const client = new ProvenClient(ground)
    const { refreshToken } = await client.logIn('ann')
    return { headers: await client.headers(entry.method, entry.path), body: { refreshToken } }
  },
  postLink: async (ground) => ({ headers: { authorization: await ground.deviceAuthorization() } }),
  endSession: async (ground) => ({ asker: 'eve', parameters: { id: await ground.secondSession('eve') } }),
  // For holders of the role admin itself.
  readOutbox: async (ground) => {
    await ground.failedMail()
    return asRoot(ground)
  },
  // For who may do everything.
  readBackup: asRoot,
  // Whoever is shown has a second factor.
  listUsers: async (ground) => {
    await withTotp(ground)
    return { asker: 'eve' }
  },
  readUser: async (ground) => ({ asker: 'eve', parameters: { name: (await withTotp(ground)).name } }),
  updateUser: async (ground) => ({ asker: 'eve', parameters: { name: (await withTotp(ground)).name } }),
  // The ground has none, for it is signed in to elsewhere.
  listTenants: withHosts,
  readTenant: withHosts,
  readUnsubscribe: async (ground) => ({ query: ground.unsubscribeQuery(exampleSubscription) }),
  unsubscribeByLink: async (ground) => ({ query: ground.unsubscribeQuery(exampleSubscription) }),
  readImage: async (ground) => {
    const path = `/updates/projects/${exampleProject}/releases/${putRelease.example.parameters?.firmware}`
    const { text } = await ground.call('eve', 'PUT', path, Buffer.from(exampleImage))
    const { sha256 } = JSON.parse(text)
    return { parameters: { sha256 }, query: ground.imageQuery(sha256) }
  },
  enrollTotp: async (ground, entry) => {
    const { client, pair } = await signedIn(ground)
    return { headers: await client.headers(entry.method, entry.path, pair.accessToken) }
  },
  removeTotp: async (ground, entry) => {
    const { client, pair } = await withTotp(ground)
    return { headers: await client.headers(entry.method, entry.path, pair.accessToken) }
  },
  activateTotp: async (ground, entry) => {
    const client = new ProvenClient(ground)
    const name = await somebody(ground)
    const isRequired = (twoFactor: string) => ground.call('eve', 'PATCH', '/iam/tenants/default', { twoFactor })
    await isRequired('required')
    const { token } = await client.logIn(name)
    await isRequired('optional')
    const { secret } = await client.post<{ secret: string }>('/auth/2fa/totp/enroll', { token })
    return {
      headers: await client.headers(entry.method, entry.path),
      body: { token, code: codeOf(secret, ground.now()) },
    }
  },
  useTotp: async (ground, entry) => {
    const { client, name, secret } = await withTotp(ground)
    // A code is good once.
    ground.pass(31_000)
    const { token } = await client.logIn(name)
    return {
      headers: await client.headers(entry.method, entry.path),
      body: { token, code: codeOf(secret, ground.now()) },
    }
  },
  useRecoveryCode: async (ground, entry) => {
    const { client, name, recoveryCodes } = await withTotp(ground)
    const { token } = await client.logIn(name)
    return { headers: await client.headers(entry.method, entry.path), body: { token, code: recoveryCodes[0] } }
  },
  startWebauthnRegistration: async (ground, entry) => {
    const { client, pair } = await signedIn(ground)
    return { headers: await client.headers(entry.method, entry.path, pair.accessToken) }
  },
  finishWebauthnRegistration: async (ground, entry) => {
    const { client, pair } = await signedIn(ground)
    const asked = await registration(ground, client, pair)
    return {
      headers: await client.headers(entry.method, entry.path, pair.accessToken),
      body: new SoftAuthenticator('ring').register(asked),
    }
  },
  startWebauthnAuthentication: async (ground, entry) => {
    const { client, name } = await withKey(ground)
    const { token } = await client.logIn(name)
    return { headers: await client.headers(entry.method, entry.path), body: { token } }
  },
  finishWebauthnAuthentication: async (ground, entry) => {
    const { client, name, authenticator } = await withKey(ground)
    const { token } = await client.logIn(name)
    const { challenge } = await client.post<Challenge>('/auth/2fa/webauthn/authenticate/options', { token })
    return {
      headers: await client.headers(entry.method, entry.path),
      body: { token, ...authenticator.authenticate(askedOf(ground, challenge)) },
    }
  },
  listWebauthnCredentials: async (ground, entry) => {
    const { client, pair } = await withKey(ground)
    return { headers: await client.headers(entry.method, entry.path, pair.accessToken) }
  },
  deleteWebauthnCredential: async (ground, entry) => {
    const { client, pair, id } = await withKey(ground)
    const path = entry.path.replace(':id', id)
    return { headers: await client.headers(entry.method, path, pair.accessToken), parameters: { id } }
  },
}

/** Whatever has to be there for an example, beyond what the ground holds anyway. */
export async function prepareCall(ground: AccessFixture, entry: RouteEntry): Promise<ExampleCall> {
  if (entry.example.parameters?.name === 'bob' || entry.name === 'signUp') await ground.bring('bob')
  if (/^write(Device|Service)Properties$/.test(entry.name)) await ground.link()
  const prepare = prepared[entry.name]
  return prepare ? prepare(ground, entry) : { asker: 'eve' }
}

/** Names of all that are prepared, to see that each is of an entry. */
export const preparedNames = Object.keys(prepared)

function basic(name: string): string {
  return `Basic ${Buffer.from(`${name}:${examplePassword}`).toString('base64')}`
}

/** The first administrator. */
async function asRoot(ground: AccessFixture): Promise<ExampleCall> {
  const { text } = await ground.call(undefined, 'GET', '/iam/token', undefined, { authorization: basic('root') })
  return { headers: { authorization: `Bearer ${JSON.parse(text).token}` } }
}

async function withHosts(ground: AccessFixture): Promise<ExampleCall> {
  await ground.call('eve', 'PATCH', `/iam/tenants/${other}`, { hosts: ['devices.other.example'] })
  return { asker: 'eve' }
}

let people = 0

async function somebody(ground: AccessFixture): Promise<string> {
  const name = `somebody-${++people}`
  await ground.newcomer(name)
  return name
}

interface SignedIn {
  readonly client: ProvenClient
  readonly name: string
  readonly pair: Pair
}

async function signedIn(ground: AccessFixture): Promise<SignedIn> {
  const client = new ProvenClient(ground)
  const name = await somebody(ground)
  return { client, name, pair: await client.logIn(name) }
}

/** Somebody with one-time codes. */
async function withTotp(ground: AccessFixture) {
  const all = await signedIn(ground)
  const { client, pair } = all
  const base = '/auth/2fa/totp'
  const proven = { password: examplePassword }
  const { secret } = await client.post<{ secret: string }>(`${base}/enroll`, proven, pair.accessToken)
  const shown = { ...proven, code: codeOf(secret, ground.now()) }
  const activated = client.post<{ recoveryCodes: string[] }>(`${base}/activate`, shown, pair.accessToken)
  const { recoveryCodes } = await activated
  return { ...all, secret, recoveryCodes }
}

interface Challenge {
  readonly challenge: string
}

/** Somebody with a key of WebAuthn. */
async function withKey(ground: AccessFixture) {
  const all = await signedIn(ground)
  const { client, name, pair } = all
  const authenticator = new SoftAuthenticator(name)
  const response = authenticator.register(await registration(ground, client, pair))
  const body = { ...response, name: 'Key ring', password: examplePassword }
  const { id } = await client.post<{ id: string }>('/auth/2fa/webauthn/register/verify', body, pair.accessToken)
  return { ...all, authenticator, id }
}

async function registration(ground: AccessFixture, client: ProvenClient, { accessToken }: Pair) {
  const proven = { password: examplePassword }
  const { challenge } = await client.post<Challenge>('/auth/2fa/webauthn/register/options', proven, accessToken)
  return askedOf(ground, challenge)
}

function askedOf(ground: AccessFixture, challenge: string) {
  return { challenge, rpId: 'localhost', origin: `http://localhost:${ground.port}` }
}
