import type { RouteEntry } from '#api/entry'

/** The sign-in routes, and the limit of their bodies. Contract 2, changes to 1.3. */

/** A signed assertion of a security key, the longest of these bodies, has about 2 KiB. */
export const signInBytesMax = 8 * 1024

const signInPath = /^\/(?:auth\/.+|iam\/(?:signup|token))$/

export function isSignIn({ path }: RouteEntry): boolean {
  return signInPath.test(path)
}
