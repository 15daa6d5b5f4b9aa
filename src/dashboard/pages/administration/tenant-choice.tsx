import { useEffect } from 'preact/hooks'
import { Select } from '#dashboard/components/fields'
import { problemText } from '#dashboard/components/problem-text'
import { useCall } from '#dashboard/components/use-call'
import { observable } from '#dashboard/components/use-observable'
import { client, defaultTenant, mayUser, session } from '#dashboard/session'
import type { Action, Resource } from '#model/scope'

/** The tenant that is administered: the user's own, or another tenant that a user with `tenants` has selected. */

/**
 * Undefined: the user's own tenant. The selection outlives the session, and the next user may not choose a tenant: use
 * `otherTenant`.
 */
export const selectedTenant = observable<string | undefined>(undefined)

/** Shown to users who try to give, change or reset more than their own grants cover. Contract 2. */
export const missingPermissions = 'This needs permissions that you do not have: ask a user with more roles.'

/** The selected tenant, if it is not the user's own. Sessions contain `tenants` only in tenant `default`. */
function otherTenant(): string | undefined {
  return mayUser('tenants', 'read') ? selectedTenant.value : undefined
}

/**
 * Whether an action is permitted in the selected tenant: in another tenant it also needs the same action on `tenants`.
 */
export function mayInTenant(resource: Resource, action: Action, where?: Parameters<typeof mayUser>[2]): boolean {
  return mayUser(resource, action, where) && (otherTenant() === undefined || mayUser('tenants', action))
}

/** The query parameter for calls about a tenant's data. */
export function tenantQuery(): { readonly tenant?: string } {
  const tenant = otherTenant()
  return tenant === undefined ? {} : { tenant }
}

export function tenantName(): string {
  return otherTenant() ?? session.value.tenant ?? defaultTenant
}

/** ` --tenant acme`, for commands to copy. */
export function tenantOption(): string {
  const tenant = otherTenant()
  return tenant === undefined ? '' : ` --tenant ${tenant}`
}

export function TenantChoice() {
  const tenants = useCall(() => client.call('GET /iam/tenants'), [])
  const own = session.value.tenant ?? defaultTenant
  const others = (tenants.value ?? []).filter(({ tenantIdentifier }) => tenantIdentifier !== own)
  // The selected tenant was deleted meanwhile.
  useEffect(() => {
    const selected = selectedTenant.value
    if (!tenants.value || selected === undefined) return
    if (!others.some(({ tenantIdentifier }) => tenantIdentifier === selected)) selectedTenant.set(undefined)
  }, [tenants.value])
  if (tenants.problem !== undefined) return <p class="problem">{problemText(tenants.problem)}</p>
  if (others.length === 0) return null
  return (
    <Select
      label="Tenant"
      value={selectedTenant.value ?? ''}
      options={[
        { value: '', label: `${own} (your own)` },
        ...others.map(({ tenantIdentifier, name }) => ({
          value: tenantIdentifier,
          label: `${name} (${tenantIdentifier})`,
        })),
      ]}
      onChange={(tenant) => selectedTenant.set(tenant === '' ? undefined : tenant)}
    />
  )
}
