import { rowByName } from '#actors/directory/queries'
import { directoryAddress } from '#actors/directory/state'
import { readMe } from '#api/sessions'
import { type Binding, bind } from '#http/call'
import { Problem } from '#model/problem'
import type { Grant, Reach } from '#model/scope'
import type { RouteContext } from '#routes/context'

/** Routes for the caller's own identity. */
export function identityRoutes(context: RouteContext): Binding[] {
  return [
    bind(readMe, async ({ caller }) => {
      const { name, tenant, roles, scope, session } = caller
      const person = session?.kind === 'session' ? rowByName(context.system.wake(directoryAddress), name) : undefined
      const own = person && { ...(person.email !== null && { email: person.email }), twoFactor: [...person.factors] }
      const grants: (Grant & { readonly deviceCount: number })[] = []
      for (const [place, grant] of scope.grants.entries()) {
        const { devices } = scope.reachOfGrants[place] as Reach
        grants.push({ ...grant, deviceCount: await context.search.countOf(caller, devices) })
      }
      return { status: 200, json: { name, tenant, roles, grants, ...own } }
    }),
  ]
}

/** The error for routes of identity and access management while authentication is off. Contract 2. */
export function identityOffProblem(path: string): Problem | undefined {
  return /^\/api\/v1\/(auth|iam)(\/|$)/.test(path) ? new Problem('not_found', 'IAM is off') : undefined
}
