/** What is heard of an alarm with `forSeconds`, and of the reports that it is judged by, held against each other. */

export type HeardOfWait =
  | { readonly type: 'reported'; readonly at: number; readonly serial: number; readonly holds: boolean }
  | { readonly type: 'raised'; readonly at: number; readonly since: number }
  | { readonly type: 'ended'; readonly at: number }

/** A reminder may be so much late, also on a machine that has much to do. */
const lateMsMax = 2_000

/**
 * The alarm of one device: raised once where the condition held for long enough without a break, as of the moment when it
 * had, and not before; ended by the report that ends the condition; and never raised where that came first.
 */
export class AlarmWait {
  readonly #forMs: number
  #offset = 0
  #serial: number | undefined
  #holds = false
  /** Undefined: nobody heard when it began. */
  #holdsSince: number | undefined
  #isRaised = false
  /** The next that is heard must be its end. */
  #isEnding = false
  /** Wrong unless the next report shows that some were spared before it. */
  #suspicion: string | undefined

  constructor(forMs: number) {
    this.#forMs = forMs
  }

  /** What is wrong with it, in words. What is heard a second time, by somebody else, says nothing. */
  hear(offset: number, heard: HeardOfWait): string | undefined {
    if (offset <= this.#offset) return undefined
    this.#offset = offset
    const wasEnding = this.#isEnding
    this.#isEnding = false
    if (wasEnding && heard.type !== 'ended')
      return `is ${heard.type} at ${heard.at}, and its alarm has not ended before`
    switch (heard.type) {
      case 'reported':
        return this.#reported(heard)
      case 'raised':
        return this.#raised(heard)
      case 'ended': {
        const wasRaised = this.#isRaised
        this.#isRaised = false
        if (!wasRaised) return `had no alarm, and its end was told at ${heard.at}`
        if (!wasEnding) this.#suspicion = `has an alarm that ended at ${heard.at}, and its condition holds`
        return undefined
      }
    }
  }

  #reported({ at, serial, holds }: Extract<HeardOfWait, { type: 'reported' }>): string | undefined {
    // Whoever fell behind was spared some.
    const isNext = this.#serial === undefined || serial === this.#serial + 1
    const heldBefore = this.#holds
    const since = this.#holdsSince
    const suspicion = isNext ? this.#suspicion : undefined
    this.#suspicion = undefined
    this.#serial = serial
    this.#holds = holds
    if (!isNext || !holds) this.#holdsSince = undefined
    else if (!heldBefore) this.#holdsSince = at
    if (holds) return suspicion
    this.#isEnding = this.#isRaised
    const isOverdue = isNext && since !== undefined && at > since + this.#forMs + lateMsMax
    return isOverdue && !this.#isRaised ? `held for ${at - since} ms, and its alarm was not raised` : suspicion
  }

  #raised({ at, since }: Extract<HeardOfWait, { type: 'raised' }>): string | undefined {
    const wasRaised = this.#isRaised
    this.#isRaised = true
    if (wasRaised) return `has an alarm that was raised twice, again at ${at}`
    if (at < since) return `has an alarm that was raised ${since - at} ms before its time`
    if (!this.#holds) this.#suspicion = `has an alarm that was raised at ${at} though its condition had ended`
    else if (this.#holdsSince !== undefined && since !== this.#holdsSince + this.#forMs)
      this.#suspicion = `holds since ${this.#holdsSince}, and its alarm is raised as of ${since}`
    return undefined
  }
}
