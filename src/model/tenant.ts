import { z } from 'zod'
import { ResourceIdentifier, referenceTo } from '#model/crn'
import { TenantIdentifier, Timestamp } from '#model/identifier'
import { normalised, printable } from '#model/text'

/** A tenant owns users, roles, devices and all other resources. Contract 2, Model. */

/** A tenant's identifier, bare or as `crn#tenant:<id>`; the result is bare. §2.1. */
export const TenantReference = referenceTo('tenant', 'must be a tenant such as acme or crn#tenant:acme')

export const TenantName = printable(128)

/** RFC 1035 §2.3.4. */
const hostCharactersMax = 253

/**
 * Labels of a name, an IPv4 address, or an IPv6 address in brackets; optionally a port: then requests must have the
 * same port.
 */
const hostPattern =
  /^(?:[a-z0-9_](?:[a-z0-9_-]{0,61}[a-z0-9_])?(?:\.[a-z0-9_](?:[a-z0-9_-]{0,61}[a-z0-9_])?)*|\[[0-9a-f:.]+\])(?::\d{1,5})?$/

/** The part of a URL after `https://`: `devices.acme.example`, `localhost:8080`. The result is in lower case. */
export const HostName = normalised(
  hostOf,
  'must be a host name, with or without a port',
  z.string().max(hostCharactersMax + 6, { abort: true }),
)

export const tenantHostsMax = 32

export const TenantHosts = z
  .array(HostName)
  .max(tenantHostsMax)
  .overwrite((hosts) => [...new Set(hosts)])

/** Whether users of the tenant need a second factor. */
export const twoFactorPolicies = ['optional', 'required'] as const
export const TwoFactorPolicy = z.enum(twoFactorPolicies)
export type TwoFactorPolicy = z.infer<typeof TwoFactorPolicy>

/** A tenant as the API returns it. */
export const TenantEntry = z.object({
  tenantIdentifier: TenantIdentifier,
  name: TenantName,
  /** Requests to sign in, and for tokens, only work under these hosts; under any host if there are none. */
  hosts: z.array(HostName).optional(),
  twoFactor: TwoFactorPolicy,
  /** Whether the Basic scheme gives tokens. */
  basic: z.boolean(),
  createdAt: Timestamp,
  resourceIdentifier: ResourceIdentifier,
})
export type TenantEntry = z.infer<typeof TenantEntry>

/** The `Host` header that a client sends for a URL with this host. */
function hostOf(text: string): string | undefined {
  const host = text.toLowerCase()
  if (!hostPattern.test(host) || !URL.canParse(`http://${host}`)) return undefined
  if (!host.startsWith('[')) return host
  const { hostname } = new URL(`http://${host}`)
  return hostname + host.slice(host.indexOf(']') + 1)
}

/** The key of something that has a name within its tenant. Tenant names contain no "/". */
export function tenantKey(tenant: string, name: string): string {
  return `${tenant}/${name}`
}

export function isOfTenant(key: string, tenant: string): boolean {
  return key.startsWith(`${tenant}/`)
}
