import { signal } from '@preact/signals'
import { useEffect } from 'preact/hooks'
import { Select } from '#dashboard/parts/fields'
import { problemText } from '#dashboard/parts/problem-text'
import { useCall } from '#dashboard/parts/use-call'
import { client, mayI, session } from '#dashboard/session'
import type { Action, Resource } from '#model/scope'

/** Whose users, roles and keys are administered: one's own tenant's, unless one holds `tenants` and chose another. */

/** Undefined: one's own. It outlives a session; who signs in next may not be let choose. */
export const chosenTenant = signal<string | undefined>(undefined)

/** Whoever administers tenants is of this one. Contract 2. */
const home = 'default'

/** The session says so in tenant `default` alone. */
export function mayTenants(action: Action): boolean {
  return mayI('tenants', action)
}

/** The tenant that is meant where it is another than one's own. */
function otherTenant(): string | undefined {
  return mayTenants('read') ? chosenTenant.value : undefined
}

/** Whether it may be done in the tenant that is chosen: in another one it takes the same action on `tenants`, too. */
export function mayHere(resource: Resource, action: Action, where?: Parameters<typeof mayI>[2]): boolean {
  return mayI(resource, action, where) && (otherTenant() === undefined || mayTenants(action))
}

/** For the query of every call about what belongs to a tenant. */
export function tenantQuery(): { readonly tenant?: string } {
  const tenant = otherTenant()
  return tenant === undefined ? {} : { tenant }
}

/** The name of the tenant that is chosen, for who is asked whether he means it. */
export function tenantName(): string {
  return otherTenant() ?? session.value.tenant ?? home
}

/** ` --tenant acme`, for commands to copy. */
export function tenantOption(): string {
  const tenant = otherTenant()
  return tenant === undefined ? '' : ` --tenant ${tenant}`
}

export function TenantChoice() {
  const tenants = useCall(() => client.call('GET /iam/tenants'), [])
  const own = session.value.tenant ?? home
  const others = (tenants.value ?? []).filter(({ tenantIdentifier }) => tenantIdentifier !== own)
  // One that was deleted meanwhile is nobody's any more.
  useEffect(() => {
    const chosen = chosenTenant.value
    if (!tenants.value || chosen === undefined) return
    if (!others.some(({ tenantIdentifier }) => tenantIdentifier === chosen)) chosenTenant.value = undefined
  }, [tenants.value])
  if (tenants.problem !== undefined) return <p class="problem">{problemText(tenants.problem)}</p>
  if (others.length === 0) return null
  return (
    <Select
      label="Tenant"
      value={chosenTenant.value ?? ''}
      options={[
        { value: '', label: `${own} (your own)` },
        ...others.map(({ tenantIdentifier, name }) => ({
          value: tenantIdentifier,
          label: `${name} (${tenantIdentifier})`,
        })),
      ]}
      onChange={(tenant) => {
        chosenTenant.value = tenant === '' ? undefined : tenant
      }}
    />
  )
}
