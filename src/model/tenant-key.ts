/** The key of something that has a name within its tenant. Tenant names contain no "/". */
export function tenantKey(tenant: string, name: string): string {
  return `${tenant}/${name}`
}

export function isOfTenant(key: string, tenant: string): boolean {
  return key.startsWith(`${tenant}/`)
}
