import { z } from 'zod'
import { TenantReference } from '#model/tenant'

/** Whose users, roles and keys are meant: for those who may administer tenants, another than their own. Contract 2, Model. */
export const tenantFields = { tenant: TenantReference.optional() }

export const TenantQuery = z.object(tenantFields)
export type TenantQuery = z.infer<typeof TenantQuery>
