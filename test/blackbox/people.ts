import { expect } from 'vitest'
import { climate, degrees, sensor } from '#test/blackbox/sensor'
import { type Answer, type Ask, type Environment, type Served, StartedServer } from '#test/blackbox/started-server'

/** Somebody, his password and what is known of him. */
export interface Credentials {
  readonly name: string
  readonly password: string
}

export const root: Credentials = { name: 'root', password: 'correct horse battery' }

/** Identity on, with an administrator. Who fails is slowed down only where a test is about that. */
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

export function readToken(server: Served, who: Credentials, query = ''): Promise<Answer> {
  return server.get(`/iam/token${query}`, basicHeader(who))
}

/** Somebody who is signed in by the Basic scheme, and what he asks. */
export class Person {
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

  static async signIn(server: Served, who: Credentials = root): Promise<Person> {
    const answer = await readToken(server, who, '?scope=offline')
    expect([answer.status, answer.text.length > 0]).toEqual([200, true])
    return new Person(server, who, answer.json as BasicTokens)
  }

  get headers(): Environment {
    return { authorization: `Bearer ${this.tokens.token}` }
  }

  /** What his access token says. */
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

  /** Makes a role that allows this, or changes what it allows. */
  async putRole(role: string, ...grants: readonly object[]): Promise<void> {
    expect((await this.put(`/iam/roles/${role}`, { grants })).status).toBe(200)
  }

  /** Invites somebody, who signs up at once. `query`: of another tenant. */
  async bring(name: string, roles: readonly string[], more: object = {}, query = ''): Promise<Credentials> {
    const invited = await this.post(`/iam/users${query}`, { name, roles, ...more })
    expect([invited.status, invited.json]).toEqual([201, expect.objectContaining({ name })])
    const who = { name, password: `password of ${name}` }
    await signUp(this.server, who, codeIn(invited))
    return who
  }

  /** The same, and he signs in. */
  async bringIn(name: string, roles: readonly string[], more: object = {}, query = ''): Promise<Person> {
    return Person.signIn(this.server, await this.bring(name, roles, more, query))
  }

  async me(): Promise<Record<string, unknown>> {
    const { status, json } = await this.get('/iam/me')
    expect(status).toBe(200)
    return json as Record<string, unknown>
  }

  /** Whether his token is worth anything. */
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

/** Status, and what is said, of an answer in one look. */
export function answerOf({ status, text }: Answer): [status: number, said: unknown] {
  return [status, text === '' ? undefined : JSON.parse(text)]
}

/** Which fields of a request are said to be wrong. */
export function wrongFields(answer: Answer): readonly string[] {
  expect(answerOf(answer)).toEqual([400, { error: 'Validation Error', details: expect.any(Array) }])
  return (answer.json as { details: { path: string; message: string }[] }).details.map(({ path }) => path)
}

/** A device says by itself, with its own secret, how warm it is. `name`: the device, its tenant in front unless it is `default`. */
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

/** A name that nobody has yet. */
export function newName(prefix: string): string {
  return `${prefix}-${++names}`
}
