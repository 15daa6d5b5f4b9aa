import { createHash } from 'node:crypto'
import { directoryAddress } from '#actors/directory/state'
import { defaultTenant } from '#actors/tenant/state'
import type { Entry } from '#model/entry'
import type { System } from '#runtime/system'

/**
 * The name that parts of one image share, also after a restart. `release`: the `releaseName` of the release. `size`:
 * bytes of the whole image, undefined if unknown; parts with another size belong to another image.
 */
export function partNameOf(
  system: System<Entry>,
  tenant: string,
  project: string,
  release: string,
  size: number | undefined,
): string {
  const { tenants } = system.peek(directoryAddress)
  // A tenant never gets parts of a deleted tenant with the same name.
  const life = tenant === defaultTenant ? '' : `@${tenants.get(tenant)?.createdAt}`
  return createHash('sha256')
    .update(`${tenant}${life}/${project}/${release}/${size ?? ''}`)
    .digest('hex')
}
