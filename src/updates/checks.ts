import type { Trigger } from '#model/firmware'
import type { OfferedFirmware, UpdateQuestion } from '#model/update-offer'

/** Asks the update server, no more often than it can bear, and remembers what it said. */
export interface Checks {
  /**
   * By hand: past all that wait.
   * @throws UpdateServerBusy, UpdateServerFailed; Problem `overloaded`
   */
  now(question: UpdateQuestion): Promise<OfferedFirmware | undefined>
  /**
   * By itself: in its turn. At once where the server is embedded.
   * @throws UpdateServerBusy, UpdateServerFailed
   */
  soon(question: UpdateQuestion, by: Trigger): Promise<OfferedFirmware | undefined> | OfferedFirmware | undefined
  /** Whether there is an update, as far as it is known, at once; undefined: not yet. What is old is asked anew behind it. */
  knownOf(question: UpdateQuestion): boolean | undefined
  /** The same, waited for a while if it is unknown or old; what was last known behind that, else false. */
  freshOf(question: UpdateQuestion, waitMs: number): Promise<boolean>
  /** What is remembered of a project may be wrong from now on. */
  forgetProject(tenant: string, project: string): void
}
