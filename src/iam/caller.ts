import type { Scope } from '#model/scope'

/** Who is asking: known, with what he may do now. */
export interface Caller {
  /** Bare tenant id. */
  readonly tenant: string
  /** CRN of the user. */
  readonly user: string
  readonly name: string
  readonly scope: Scope
}
