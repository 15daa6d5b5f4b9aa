import { expect } from 'vitest'
import { climate, degrees, sensor } from '#test/blackbox/sensor'
import { type Answer, type Ask, type Environment, type Served, StartedServer } from '#test/blackbox/started-server'

export interface Credentials {
  readonly name: string
  readonly password: string
}

export const root: Credentials = { name: 'root', password: 'correct horse battery' }

/** IAM with an administrator and without rate limits. */
export const identityOn: Environment = {
  IAM: 'on',
  ADMIN_NAME: root.name,
  ADMIN_PASSWORD: root.password,
  RATE_LIMITS: 'off',
}

export function startWithIdentity(environment: Environment = {}): Promise<StartedServer> {
  return StartedServer.start({ ...identityOn, ...environment })
}

export interface BasicTokens {
  readonly token: string
  readonly refreshToken?: string
}

export function basicHeader({ name, password }: Credentials): Environment {
  return { authorization: `Basic ${Buffer.from(`${name}:${password}`).toString('base64')}` }
}

export function readToken(server: Served, user: Credentials, query = ''): Promise<Answer> {
  return server.get(`/iam/token${query}`, basicHeader(user))
}

/** A user who is signed in with the Basic scheme. */
export class SignedInUser {
  readonly server: Served
  readonly name: string
  readonly password: string
  readonly tokens: BasicTokens

  private constructor(server: Served, { name, password }: Credentials, tokens: BasicTokens) {
    this.server = server
    this.name = name
    this.password = password
    this.tokens = tokens
  }

  static async signIn(server: Served, user: Credentials = root): Promise<SignedInUser> {
    const answer = await readToken(server, user, '?scope=offline')
    expect([answer.status, answer.text.length > 0]).toEqual([200, true])
    return new SignedInUser(server, user, answer.json as BasicTokens)
  }

  get headers(): Environment {
    return { authorization: `Bearer ${this.tokens.token}` }
  }

  /** The claims of the access token. */
  get claims(): Record<string, unknown> {
    return JSON.parse(Buffer.from(this.tokens.token.split('.')[1] ?? '', 'base64url').toString())
  }

  ask(path: string, ask: Ask = {}): Promise<Answer> {
    return this.server.ask(path, { ...ask, headers: { ...this.headers, ...ask.headers } })
  }

  get(path: string): Promise<Answer> {
    return this.ask(path)
  }

  post(path: string, body?: unknown): Promise<Answer> {
    return this.ask(path, { method: 'POST', body })
  }

  put(path: string, body: unknown): Promise<Answer> {
    return this.ask(path, { method: 'PUT', body })
  }

  patch(path: string, body: unknown): Promise<Answer> {
    return this.ask(path, { method: 'PATCH', body })
  }

  delete(path: string, body?: unknown): Promise<Answer> {
    return this.ask(path, { method: 'DELETE', body })
  }

  /** Creates or replaces a role. */
  async putRole(role: string, ...grants: readonly object[]): Promise<void> {
    expect((await this.put(`/iam/roles/${role}`, { grants })).status).toBe(200)
  }

  /** Invites a user and signs them up. `query` selects another tenant. */
  async bring(name: string, roles: readonly string[], more: object = {}, query = ''): Promise<Credentials> {
    const invited = await this.post(`/iam/users${query}`, { name, roles, ...more })
    expect([invited.status, invited.json]).toEqual([201, expect.objectContaining({ name })])
    const user = { name, password: `password of ${name}` }
    await signUp(this.server, user, codeIn(invited))
    return user
  }

  /** Invites a user, signs them up, and signs them in. */
  async bringIn(name: string, roles: readonly string[], more: object = {}, query = ''): Promise<SignedInUser> {
    return SignedInUser.signIn(this.server, await this.bring(name, roles, more, query))
  }

  /** Creates a device with its own secret. */
  async makeDevice(deviceIdentifier: string, more: object = {}): Promise<Credentials> {
    const answer = await this.post('/devices', { deviceIdentifier, ...more })
    expect(answer.status).toBe(201)
    return { name: deviceIdentifier, password: (answer.json as { secret: string }).secret }
  }

  async me(): Promise<Record<string, unknown>> {
    const { status, json } = await this.get('/iam/me')
    expect(status).toBe(200)
    return json as Record<string, unknown>
  }

  /** Whether the server accepts the token. */
  async isIn(): Promise<boolean> {
    return (await this.get('/iam/me')).status === 200
  }
}

export async function signUp(server: Served, { name, password }: Credentials, code: string): Promise<void> {
  const answer = await server.ask('/iam/signup', { method: 'POST', body: { name, code, password } })
  expect([answer.status, answer.json]).toEqual([201, { name }])
}

export function codeIn(answer: Answer): string {
  return (answer.json as { code: string }).code
}

export function grant(
  permissions: Readonly<Record<string, readonly string[]>>,
  devices: readonly string[] = ['*'],
  services: readonly string[] = ['*'],
): object {
  return { permissions, devices, services }
}

export function answerOf({ status, text }: Answer): [status: number, body: unknown] {
  return [status, text === '' ? undefined : JSON.parse(text)]
}

/** The paths in the details of a validation error. */
export function wrongFields(answer: Answer): readonly string[] {
  expect(answerOf(answer)).toEqual([400, { error: 'Validation Error', details: expect.any(Array) }])
  return (answer.json as { details: { path: string; message: string }[] }).details.map(({ path }) => path)
}

/**
 * Reports a temperature of a device with its secret. The name begins with `tenant/`, unless the tenant is `default`.
 */
export async function report(server: Served, device: Credentials, value: number): Promise<void> {
  const body = {
    deviceIdentifier: device.name.slice(device.name.indexOf('/') + 1),
    services: sensor,
    updates: [{ serviceIdentifier: climate, ...degrees(value) }],
  }
  const answer = await server.ask('/link', { method: 'POST', body, headers: basicHeader(device) })
  expect(answerOf(answer)).toEqual([204, undefined])
}

let names = 0

/** A name that no test has used before. */
export function newName(prefix: string): string {
  return `${prefix}-${++names}`
}
