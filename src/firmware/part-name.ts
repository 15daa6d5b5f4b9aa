import { createHash } from 'node:crypto'
import { directoryAddress } from '#actors/directory/address'
import { defaultTenant } from '#actors/tenant/address'
import type { Entry } from '#model/entry'
import type { System } from '#runtime/system'

/**
 * By which parts of one image find each other, also after a start. `release`: its `releaseName`. `size`: of the whole image,
 * undefined where it was not said; what is of another size is of another image.
 */
export function partNameOf(
  system: System<Entry>,
  tenant: string,
  project: string,
  release: string,
  size: number | undefined,
): string {
  const { tenants } = system.peek(directoryAddress)
  // Nothing comes to a tenant from one of its name that was before it.
  const life = tenant === defaultTenant ? '' : `@${tenants.get(tenant)?.createdAt}`
  return createHash('sha256')
    .update(`${tenant}${life}/${project}/${release}/${size ?? ''}`)
    .digest('hex')
}
