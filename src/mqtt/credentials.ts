import { anonymous } from '#access/built-in-callers'
import type { Identity } from '#access/identity'
import { defaultTenant } from '#actors/tenant/state'
import type { AuthenticationRequest } from '#http/authentication'
import { mapMaybePromise } from '#http/reply'
import { type Audit, statusOf } from '#http/request-log'
import { type Caller, principalKey } from '#model/caller'
import { deviceIdentifierOf } from '#model/identifier'
import { Problem } from '#model/problem'
import type { Principal } from '#mqtt/client'
import type { Connect } from '#mqtt/control-packets'

/** User names of programs, whose password is an access token or an API key. */
const tokenName = 'token'
const keyName = 'key'

/** The principal of all clients while authentication is off. It may act as any device, and as a program. */
const everyone: Principal = {
  key: '',
  tenant: defaultTenant,
  link: { tenant: defaultTenant },
  caller: anonymous,
}

const utf8 = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true })

/**
 * Finds the principal of a CONNECT. If `identity` is undefined, authentication is off. Wrong credentials count as a
 * failed sign-in. Every refusal of a program is in the audit. Contract 10.
 * @throws Problem `unauthorized`, `too_many_requests`
 */
export function principalFinder(
  identity: Identity | undefined,
  audit: Audit,
): (connect: Connect, address: string) => Principal | Promise<Principal> {
  if (!identity) {
    return ({ username = '' }) => {
      const me = deviceIdentifierOf(username)
      return me === undefined ? everyone : { ...everyone, me }
    }
  }
  const failed = (error: unknown, { username }: Connect, address: string, account: string | undefined): never => {
    if (error instanceof Problem && (username === tokenName || username === keyName)) {
      const request = { user: undefined, address, method: 'CONNECT', path: '/mqtt', resourceIdentifier: undefined }
      void audit.add({ ...request, status: statusOf(error) })
    }
    if (error instanceof Problem && error.code === 'unauthorized') identity.failedConnect(address, account)
    throw error
  }
  return (connect, address) => {
    try {
      const found = principalOf(identity, connect, address)
      return found instanceof Promise ? found.catch((error) => failed(error, connect, address, undefined)) : found
    } catch (error) {
      return failed(error, connect, address, connect.password && connect.username)
    }
  }
}

function principalOf(
  identity: Identity,
  { username, password }: Connect,
  address: string,
): Principal | Promise<Principal> {
  if (username === undefined) throw new Problem('unauthorized', 'a user name is required')
  const secret = password && textOf(password)
  const programBy = (header: string, value: string) =>
    mapMaybePromise(identity.authenticate(request(address, header, value), 'session'), programOf)
  if (username === tokenName) return programBy('authorization', `Bearer ${secret}`)
  if (username === keyName) return programBy('x-api-key', secret ?? '')
  const link = identity.linkCallerBy(username, secret, address)
  const { tenant, device, key } = link
  return { key: `${tenant}/${device ?? `*/${key}`}`, tenant, link }
}

function programOf(caller: Caller): Principal {
  return { key: principalKey(caller), tenant: caller.tenant, caller }
}

/** @throws Problem `unauthorized` for bytes that are not UTF-8 */
function textOf(password: Uint8Array): string {
  try {
    return utf8.decode(password)
  } catch {
    throw new Problem('unauthorized', 'invalid credentials')
  }
}

/** A CONNECT with one credential, as a request. */
function request(address: string, header: string, value: string): AuthenticationRequest {
  return {
    method: 'GET',
    path: '/mqtt',
    query: '',
    forwarded: { origins: [], host: '', address },
    requestId: '',
    header: (name) => (name === header ? value : ''),
    headerCount: (name) => (name === header ? 1 : 0),
    addReplyHeader: () => {},
  }
}
