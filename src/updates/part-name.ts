import { createHash } from 'node:crypto'

/**
 * By which parts of one image find each other, also after a start. `release`: its `releaseName`. `size`: of the whole image,
 * undefined where it was not said; what is of another size is of another image.
 */
export function partNameOf(tenant: string, project: string, release: string, size: number | undefined): string {
  return createHash('sha256')
    .update(`${tenant}/${project}/${release}/${size ?? ''}`)
    .digest('hex')
}
