import { readMe } from '#api/identity'
import { Problem } from '#model/problem'
import { type Binding, bind } from '#server/call'

/** Who answers who is asking. */
export function identityRoutes(): Binding[] {
  return [
    bind(readMe, ({ caller: { name, tenant, roles, scope } }) => ({
      status: 200,
      json: { name, tenant, roles, grants: scope.grants },
    })),
  ]
}

/** What else there would be with identity and access management: it is off, and that is said. Contract 2. */
export function identityIsOff(path: string): Problem | undefined {
  return /^\/api\/v1\/(auth|iam)(\/|$)/.test(path) ? new Problem('not_found', 'IAM is off') : undefined
}
