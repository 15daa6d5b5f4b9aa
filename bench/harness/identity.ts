import { type HttpAnswer, type HttpOptions, request } from '#bench/http'

export const administrator = { name: 'root', password: 'correct horse battery' } as const

export const identityOn = {
  IAM: 'on',
  ADMIN_NAME: administrator.name,
  ADMIN_PASSWORD: administrator.password,
  // All dashboards may belong to one user.
  SOCKETS_PER_USER_MAX: '100000',
} as const

export interface Authorizations {
  /** The credentials of a gateway, for devices of any name. */
  readonly link: string
  readonly person: string
}

export interface Credentials {
  readonly name: string
  readonly password: string
}

export function authorizationHeader(authorization: string | undefined): Readonly<Record<string, string>> {
  return authorization === undefined ? {} : { authorization }
}

export function basic({ name, password }: Credentials): string {
  return `Basic ${Buffer.from(`${name}:${password}`).toString('base64')}`
}

/**
 * `Authorization` with a provisioning key, for devices of any name: `acme/KEY` in tenant `acme`, otherwise in the first
 * tenant.
 */
export function gateway(key: string): string {
  const [, tenant = 'default', password = key] = /^(.*)\/(.*)$/.exec(key) ?? []
  return basic({ name: `${tenant}/*`, password })
}

/** Signs in as administrator, and creates a provisioning key. */
export async function authorizationsAt(port: number): Promise<Authorizations> {
  const person = `Bearer ${await readToken(port, administrator)}`
  return { person, link: gateway(await createProvisioningKey(port, person, 'Gateways')) }
}

export async function createProvisioningKey(port: number, person: string, name: string): Promise<string> {
  return (await callApi<{ key: string }>(port, '/iam/provisioning-keys', { person, body: { name } })).key
}

export async function readToken(port: number, who: Credentials): Promise<string> {
  return (await callApi<{ token: string }>(port, '/iam/token', { person: basic(who) })).token
}

export interface NewUser {
  readonly name: string
  readonly password?: string
  readonly role: string
  readonly email?: string
}

/** Creates a user with this role, and accepts the invitation for them. `person`: authorization of the inviting user. */
export async function createUser(
  port: number,
  person: string,
  { role, password, ...account }: NewUser,
): Promise<Credentials> {
  const body = { ...account, roles: [role] }
  const { code } = await callApi<{ code: string }>(port, '/iam/users', { person, body })
  const who = { name: account.name, password: password ?? `password of ${account.name}` }
  await callApi(port, '/iam/signup', { body: { ...who, code } })
  return who
}

export interface ApiRequest {
  readonly person?: string | undefined
  readonly body?: object
  /** Default: POST with a body, otherwise GET. */
  readonly method?: string
}

/** Resolves with the JSON body of the answer; throws if the answer is an error. */
export async function callApi<Value>(port: number, path: string, { person, body, method }: ApiRequest): Promise<Value> {
  const answer = await askApi(port, path, {
    headers: authorizationHeader(person),
    ...(body && { method: 'POST', body: JSON.stringify(body) }),
    ...(method !== undefined && { method }),
  })
  if (answer.status >= 300) throw new Error(`${path} was answered ${answer.status}: ${answer.text.slice(0, 200)}`)
  return JSON.parse(answer.text) as Value
}

export function askApi(port: number, path: string, question: HttpOptions): Promise<HttpAnswer> {
  return request(`http://127.0.0.1:${port}/api/v1${path}`, question)
}
