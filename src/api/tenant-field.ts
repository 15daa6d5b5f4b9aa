import { z } from 'zod'
import { TenantReference } from '#model/tenant'

/**
 * The tenant of users, roles and keys: administrators of tenants may give one other than their own. Contract 2, Model.
 */
export const tenantFields = { tenant: TenantReference.optional() }

export const TenantQuery = z.object(tenantFields)
export type TenantQuery = z.infer<typeof TenantQuery>
