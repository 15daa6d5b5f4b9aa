import type { UnsubscribeUrls } from '#access/signed-urls'
import { deliveryAddress } from '#actors/delivery/delivery'
import { rowByName } from '#actors/directory/queries'
import { directoryAddress } from '#actors/directory/state'
import { outboxAddress } from '#actors/outbox/outbox'
import { defaultTenant } from '#actors/tenant/state'
import { putDeviceDesired } from '#api/desired'
import { exampleGroup } from '#api/groups'
import { exampleSubscription } from '#api/notifications'
import type { RouteEntry } from '#api/route-entry'
import { exampleDevice } from '#api/state-shape'
import { exampleImage, putRelease } from '#api/update-projects'
import { exampleProject } from '#api/updates'
import { formatCrn } from '#model/crn'
import { SoftAuthenticator } from '#test/access/soft-authenticator'
import { codeOf } from '#test/access/totp-code'
import { DpopCaller, type Pair } from '#test/api/dpop-caller'
import { examplePath } from '#test/api/example-request'
import { until } from '#test/http/http-fixture'
import { type AccessFixture, examplePassword, otherTenant, type UserName } from '#test/routes/access-fixture'

/** The caller of an example, and the parts of the request that differ because they are secrets of this server. */
export interface ExampleCall {
  readonly user?: UserName
  readonly headers?: Readonly<Record<string, string>>
  readonly parameters?: Readonly<Record<string, string>>
  readonly query?: string
  /** Fields that replace fields of the body. */
  readonly body?: object
}

type Prepare = (fixture: AccessFixture, entry: RouteEntry) => Promise<ExampleCall>

/** Preparations for the examples that `eve`, an administrator, cannot send unchanged. */
const prepared: Readonly<Record<string, Prepare>> = {
  readToken: async () => ({ headers: { authorization: basic('eve') } }),
  refreshToken: async (fixture) => {
    const authorization = { authorization: basic('eve') }
    const { text } = await fixture.call(undefined, 'GET', '/iam/token?scope=offline', undefined, authorization)
    return { body: { refreshToken: JSON.parse(text).refreshToken } }
  },
  // The invitation code of the fixture is the user's name.
  signUp: async (fixture) => {
    await inviteBob(fixture)
    return { body: { code: 'bob' } }
  },
  logIn: proven(async (fixture) => ({ client: new DpopCaller(fixture) })),
  refreshSession: proven(async (fixture) => {
    const client = new DpopCaller(fixture)
    const { refreshToken } = await client.logIn('ann')
    return { client, body: { refreshToken } }
  }),
  listAudit: async (fixture) => {
    await fixture.call('eve', 'DELETE', `/groups/${exampleGroup}`)
    return { user: 'eve', query: 'user=eve' }
  },
  readDeviceDesired: withDesired,
  readServiceDesired: withDesired,
  postLink: async (fixture) => ({ headers: { authorization: await fixture.deviceAuthorization() } }),
  endSession: async (fixture) => ({ user: 'eve', parameters: { id: await fixture.secondSession('eve') } }),
  // The route requires the role admin itself.
  readOutbox: async (fixture) => {
    await fixture.ask(outboxAddress(defaultTenant), { type: 'count', passed: { reason: 'no_address', count: 1 } })
    return asRoot(fixture)
  },
  listDeliveries: async (fixture) => ({ user: 'eve', parameters: { functionId: await webhookFunction(fixture) } }),
  // The route requires all permissions.
  readBackup: asRoot,
  // The example shows a user with a second factor.
  listUsers: async (fixture) => {
    await withTotp(fixture)
    return { user: 'eve' }
  },
  readUser: async (fixture) => ({ user: 'eve', parameters: { name: (await withTotp(fixture)).name } }),
  updateUser: async (fixture) => ({ user: 'eve', parameters: { name: (await withTotp(fixture)).name } }),
  // Tenants of the fixture have no hosts.
  listTenants: withHosts,
  readTenant: withHosts,
  readUnsubscribe: async (fixture) => ({ query: unsubscribeQuery(fixture) }),
  unsubscribeByLink: async (fixture) => ({ query: unsubscribeQuery(fixture) }),
  readImage: async (fixture) => {
    const path = `/updates/projects/${exampleProject}/releases/${putRelease.example.parameters?.firmware}`
    const { text } = await fixture.call('eve', 'PUT', path, Buffer.from(exampleImage))
    const { sha256 } = JSON.parse(text)
    const { imageUrls } = fixture.context.firmware
    return { parameters: { sha256 }, query: imageUrls.queryOf(sha256, exampleDevice, fixture.http.now() + 3_600_000) }
  },
  enrollTotp: proven(signedIn),
  removeTotp: proven(withTotp),
  activateTotp: proven(async (fixture) => {
    const client = new DpopCaller(fixture)
    const name = await newUser(fixture)
    const isRequired = (twoFactor: string) => fixture.call('eve', 'PATCH', '/iam/tenants/default', { twoFactor })
    await isRequired('required')
    const { token } = await client.logIn(name)
    await isRequired('optional')
    const { secret } = await client.post<{ secret: string }>('/auth/2fa/totp/enroll', { token })
    return { client, body: { token, code: codeOf(secret, fixture.http.now()) } }
  }),
  useTotp: proven(async (fixture) => {
    const { client, name, secret } = await withTotp(fixture)
    // A code can be used once.
    fixture.http.pass(31_000)
    const { token } = await client.logIn(name)
    return { client, body: { token, code: codeOf(secret, fixture.http.now()) } }
  }),
  useRecoveryCode: proven(async (fixture) => {
    const { client, name, recoveryCodes } = await withTotp(fixture)
    const { token } = await client.logIn(name)
    return { client, body: { token, code: recoveryCodes[0] } }
  }),
  startWebauthnRegistration: proven(signedIn),
  finishWebauthnRegistration: proven(async (fixture) => {
    const { client, pair } = await signedIn(fixture)
    return { client, pair, body: new SoftAuthenticator('ring').register(await registration(fixture, client, pair)) }
  }),
  startWebauthnAuthentication: proven(async (fixture) => {
    const { client, name } = await withPasskey(fixture)
    const { token } = await client.logIn(name)
    return { client, body: { token } }
  }),
  finishWebauthnAuthentication: proven(async (fixture) => {
    const { client, name, authenticator } = await withPasskey(fixture)
    const { token } = await client.logIn(name)
    const { challenge } = await client.post<Challenge>('/auth/2fa/webauthn/authenticate/options', { token })
    return { client, body: { token, ...authenticator.authenticate(askedOf(fixture, challenge)) } }
  }),
  listWebauthnCredentials: proven(withPasskey),
  deleteWebauthnCredential: async (fixture, entry) => {
    const { client, pair, id } = await withPasskey(fixture)
    const path = entry.path.replace(':id', id)
    return { headers: await client.headers(entry.method, path, pair.accessToken), parameters: { id } }
  },
}

interface Proven {
  readonly client: DpopCaller
  /** The tokens to send. Absent: only a proof is sent. */
  readonly pair?: Pair
  readonly body?: object
}

/** A call with a proof by the key of this client. */
function proven(prepare: (fixture: AccessFixture) => Promise<Proven>): Prepare {
  return async (fixture, { method, path }) => {
    const { client, pair, body } = await prepare(fixture)
    return { headers: await client.headers(method, path, pair?.accessToken), ...(body && { body }) }
  }
}

/** Creates the resources that an example needs and that the fixture does not have. */
export async function prepareResources(fixture: AccessFixture, { name, example }: RouteEntry): Promise<void> {
  if (example.parameters?.name === 'bob') await inviteBob(fixture)
  if (/^write(Device|Service)Properties$/.test(name)) await fixture.link()
}

/** Creates everything that an example needs, and returns how to send it. */
export async function prepareCall(fixture: AccessFixture, entry: RouteEntry): Promise<ExampleCall> {
  await prepareResources(fixture, entry)
  const prepare = prepared[entry.name]
  return prepare ? prepare(fixture, entry) : { user: 'eve' }
}

/** The signed part of the unsubscribe URL of `eve`. */
function unsubscribeQuery({ context, system }: AccessFixture): string {
  const user = formatCrn({ type: 'user', id: rowByName(system.peek(directoryAddress), 'eve')?.id ?? '' })
  // The context can only verify these URLs; the mailer signs them.
  const urls = context.notifications.unsubscribeUrls as UnsubscribeUrls
  const url = urls.urlOf('', { tenant: defaultTenant, user, subscription: exampleSubscription })
  return url.slice(url.indexOf('?') + 1)
}

async function inviteBob(fixture: AccessFixture): Promise<void> {
  await fixture.ensureUser(defaultTenant, 'bob', ['viewer'])
}

/** A function that has sent a webhook. */
async function webhookFunction(fixture: AccessFixture): Promise<string> {
  const nodes = [
    { id: 'when', type: 'trigger', on: 'status' },
    { id: 'call', type: 'webhook', url: 'https://example.com/hook' },
  ]
  const body = { name: 'Call', binding: {}, graph: { nodes, edges: [['when', 'call']] } }
  const { headers } = await fixture.call('eve', 'POST', '/functions', body)
  const id = headers.get('location')?.split('/').at(-1) ?? ''
  const address = deliveryAddress(defaultTenant, id)
  const what = { value: 'offline', previous: 'online', cause: { on: 'status' } } as const
  const request = { at: fixture.http.now(), device: exampleDevice, node: 'call', ...what }
  await fixture.ask(address, { type: 'webhook', request })
  await until(() => fixture.system.peek(address).results.size > 0)
  return id
}

/** The names of the prepared entries. */
export const preparedNames = Object.keys(prepared)

function basic(name: string): string {
  return `Basic ${Buffer.from(`${name}:${examplePassword}`).toString('base64')}`
}

/** The first administrator. */
async function asRoot(fixture: AccessFixture): Promise<ExampleCall> {
  const { text } = await fixture.call(undefined, 'GET', '/iam/token', undefined, { authorization: basic('root') })
  return { headers: { authorization: `Bearer ${JSON.parse(text).token}` } }
}

async function withDesired(fixture: AccessFixture): Promise<ExampleCall> {
  fixture.device?.cut()
  await until(() => fixture.context.devices.links.linkedOf(defaultTenant, exampleDevice) === undefined)
  await fixture.call('eve', 'PUT', examplePath(putDeviceDesired), putDeviceDesired.example.body)
  return { user: 'eve' }
}

async function withHosts(fixture: AccessFixture): Promise<ExampleCall> {
  await fixture.call('eve', 'PATCH', `/iam/tenants/${otherTenant}`, { hosts: ['devices.other.example'] })
  return { user: 'eve' }
}

let people = 0

async function newUser(fixture: AccessFixture): Promise<string> {
  const name = `user-${++people}`
  await fixture.ensureUser(defaultTenant, name, ['operator'], true)
  return name
}

interface SignedIn {
  readonly client: DpopCaller
  readonly name: string
  readonly pair: Pair
}

async function signedIn(fixture: AccessFixture): Promise<SignedIn> {
  const client = new DpopCaller(fixture)
  const name = await newUser(fixture)
  return { client, name, pair: await client.logIn(name) }
}

/** A user with one-time codes. */
async function withTotp(fixture: AccessFixture) {
  const all = await signedIn(fixture)
  const { client, pair } = all
  const base = '/auth/2fa/totp'
  const proven = { password: examplePassword }
  const { secret } = await client.post<{ secret: string }>(`${base}/enroll`, proven, pair.accessToken)
  const shown = { ...proven, code: codeOf(secret, fixture.http.now()) }
  const activated = client.post<{ recoveryCodes: string[] }>(`${base}/activate`, shown, pair.accessToken)
  const { recoveryCodes } = await activated
  return { ...all, secret, recoveryCodes }
}

interface Challenge {
  readonly challenge: string
}

/** A user with a passkey. */
async function withPasskey(fixture: AccessFixture) {
  const all = await signedIn(fixture)
  const { client, name, pair } = all
  const authenticator = new SoftAuthenticator(name)
  const response = authenticator.register(await registration(fixture, client, pair))
  const body = { ...response, name: 'Key ring', password: examplePassword }
  const { id } = await client.post<{ id: string }>('/auth/2fa/webauthn/register/verify', body, pair.accessToken)
  return { ...all, authenticator, id }
}

async function registration(fixture: AccessFixture, client: DpopCaller, { accessToken }: Pair) {
  const proven = { password: examplePassword }
  const { challenge } = await client.post<Challenge>('/auth/2fa/webauthn/register/options', proven, accessToken)
  return askedOf(fixture, challenge)
}

function askedOf(fixture: AccessFixture, challenge: string) {
  return { challenge, rpId: 'localhost', origin: `http://localhost:${fixture.http.port}` }
}
