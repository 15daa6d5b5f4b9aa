import type { Permission, RouteAccess } from '#api/route-entry'
import { type Caller, unauthenticated } from '#model/caller'
import { includesName } from '#model/device-names'
import type { ForwardedRequest } from '#model/forwarded-request'
import { Problem } from '#model/problem'
import type { Action, Reach, Resource } from '#model/scope'

/** The parts of a request that authentication reads. */
export interface AuthenticationRequest {
  /** As sent, in upper case; `GET` for an upgrade. */
  readonly method: string
  /** As sent, byte for byte, without the query. */
  readonly path: string
  /** As sent, byte for byte, without the question mark. */
  readonly query: string
  readonly forwarded: ForwardedRequest
  readonly requestId: string
  /** A header by its lower-case name; empty when absent, repeated lines joined by a comma. */
  header(name: string): string
  /** The number of lines with this name, so that a request with two credentials can be refused. */
  headerCount(name: string): number
  /** Adds a header to the answer, for any status. */
  addReplyHeader(name: string, value: string): void
}

/**
 * Finds the caller of a request to a route with this access. It returns a promise only if a signature must be checked.
 * @throws Problem
 */
export type Authenticate = (request: AuthenticationRequest, access: RouteAccess) => Caller | Promise<Caller>

/**
 * Checks that a caller has the permission that the `access` of a route requires. Contract 1.4.
 *
 * One grant must include all names in the path. Names in a body or a list are checked by the handler.
 *
 * @param parameters the parsed parameters of the path; undefined if they are malformed. Only callers with the
 * permission learn that they are malformed
 * @throws Problem `forbidden` if no grant permits the action on the resource, `not_found` for malformed names, and for
 * names outside of these grants
 */
export function permit(access: RouteAccess, caller: Caller, parameters: unknown): void {
  const permission = permissionOf(access, caller)
  const reaches = permission && reachesOf(permission, caller)
  if (reaches?.length === 0) throw new Problem('forbidden')
  if (parameters === undefined) throw new Problem('not_found')
  if (!permission || !reaches) return
  const { deviceIdentifier, serviceIdentifier } = parameters as PathNames
  const { within } = permission
  const isDeviceNamed = within === 'device' || within === 'service of device'
  const isServiceNamed = within === 'service' || within === 'service of device'
  if (!isDeviceNamed && !isServiceNamed) return
  const isInside = reaches.some(
    (reach) =>
      (!isDeviceNamed || isGranted(reach.devices, deviceIdentifier)) &&
      (!isServiceNamed || isGranted(reach.services, serviceIdentifier)),
  )
  if (!isInside) throw new Problem('not_found')
}

/**
 * The check of a PUT that may create a resource of the tenant: the required permission depends on whether the resource
 * exists.
 * @throws Problem `forbidden`
 */
export function checkPut(caller: Caller, resource: Resource, exists: boolean): void {
  permit({ resource, action: putAction(exists), within: 'tenant' }, caller, {})
}

/** The action of a PUT: contract 2, Resources. */
export function putAction(exists: boolean): Action {
  return exists ? 'update' : 'create'
}

/** The permission to call the update hook. Contract 6. */
const hookPermission: Permission = { resource: 'updates', action: 'update', within: 'tenant' }

/** A signed call of the hook has no caller: the handler checks its signature, which covers the body. */
function permissionOf(access: RouteAccess, caller: Caller): Permission | undefined {
  if (access === 'hook') return caller === unauthenticated ? undefined : hookPermission
  return typeof access === 'object' ? access : undefined
}

interface PathNames {
  readonly deviceIdentifier?: string
  readonly serviceIdentifier?: string
}

function reachesOf({ resource, action, mayCreate }: Permission, { scope }: Caller): readonly Reach[] {
  const reaches = scope.reaches(resource, action)
  return mayCreate ? [...reaches, ...scope.reaches(resource, 'create')] : reaches
}

/** If the entry requires a name and the path has none, the check fails. */
function isGranted(names: Reach['devices'], name: string | undefined): boolean {
  return name !== undefined && includesName(names, name)
}

export type ProofFault =
  | 'missing proof'
  | 'invalid proof'
  | 'htm mismatch'
  | 'htu mismatch'
  | 'iat outside tolerance'
  | 'use_dpop_nonce'
  | 'ath does not match the access token'
  | 'key mismatch'
  | 'proof already used'

export type TokenFault = 'invalid token' | 'token expired' | 'token replaced' | 'session over'

/** Only ES256 is accepted, and each challenge of the DPoP scheme has to name the algorithm. RFC 9449 §7.1. */
const algorithms = 'algs="ES256"'

/**
 * The error for a fault of a proof. `WWW-Authenticate` names the error of RFC 9449, and the message names the fault.
 * Makes a new Problem each time, because a Problem contains the stack of its caller. Contract 2, DPoP; §7; RFC 9449 §7.1.
 */
export function proofProblem(fault: ProofFault): Problem {
  // A missing or old nonce has status 400, not the 401 of RFC 9449: §5.2.4.
  const [code, error] =
    fault === 'use_dpop_nonce' ? (['bad_request', fault] as const) : (['unauthorized', 'invalid_dpop_proof'] as const)
  return new Problem(code, fault, { headers: { 'WWW-Authenticate': dpopChallenge(error) } })
}

/** Whether the client must send the request again, with the nonce. */
export function isNonceChallenge(error: unknown): boolean {
  return error instanceof Problem && error.message === ('use_dpop_nonce' satisfies ProofFault)
}

/** The error for a fault of a token. `scheme`: the scheme with which the token was sent. RFC 9449 §7.1, RFC 6750 §3.1. */
export function tokenProblem(fault: TokenFault, scheme: 'Bearer' | 'DPoP'): Problem {
  const text = scheme === 'DPoP' ? dpopChallenge('invalid_token') : 'Bearer error="invalid_token"'
  return new Problem('unauthorized', fault, { headers: { 'WWW-Authenticate': text } })
}

/** The error for a bound token that was sent as a bearer token, without a proof of its key. RFC 9449 §7.1. */
export function schemeProblem(): Problem {
  const headers = { 'WWW-Authenticate': dpopChallenge('invalid_token') }
  return new Problem('unauthorized', 'use the DPoP scheme', { headers })
}

function dpopChallenge(error: 'invalid_dpop_proof' | 'use_dpop_nonce' | 'invalid_token'): string {
  return `DPoP error="${error}", ${algorithms}`
}
