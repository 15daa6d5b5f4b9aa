/**
 * What the rules of one device turn may cost. Costs are counted in units; one takes about a nanosecond, at most four
 * (`test/actors/rule-budget.test.ts` measures the most expensive turns).
 *
 * Each author of rules on the device has an equal share, so that no author's rules keep those of others from being judged.
 */
class RuleWork {
  #share = Number.POSITIVE_INFINITY
  /** By the author whose rule runs; of the others, by their places. */
  #spent = 0
  #author = 0
  #spentBefore: number[] = []
  /** For making code, by the rules of all authors. */
  #compiled = 0

  /** `authors`: how many there are; the places of others begin at 0. */
  begin(unitsMax: number, authors: number): void {
    if (authors > 1) this.#spentBefore = new Array<number>(authors).fill(0)
    this.#share = unitsMax / authors
    this.#spent = 0
    this.#author = 0
    this.#compiled = 0
  }

  /** What follows is counted and has no limit. */
  end(): void {
    this.#share = Number.POSITIVE_INFINITY
  }

  /** What follows is a rule of this author. False: their share is used up. */
  turnTo(author: number): boolean {
    if (author !== this.#author) {
      this.#spentBefore[this.#author] = this.#spent
      this.#spent = this.#spentBefore[author] ?? 0
      this.#author = author
    }
    return this.#spent <= this.#share
  }

  /** Whether the author whose rule runs has used up their share. */
  get isOver(): boolean {
    return this.#spent > this.#share
  }

  charge(units: number): void {
    this.#spent += units
  }

  /** Called when code was made: the next turn finds it, also when this turn has nothing left. */
  chargeCode(units: number): void {
    this.#compiled += units
    this.#spent += units
  }

  /** Whether code was made since `begin`: the next turn has more left. */
  get hasCompiled(): boolean {
    return this.#compiled > 0
  }

  /** Whether code for one more condition may be made in this turn: that takes up to 5 ms, and there may be many authors. */
  get mayCompile(): boolean {
    return this.#compiled < turnUnitsMax || this.#share === Number.POSITIVE_INFINITY
  }

  /** @throws when the share is used up by it. */
  spend(units: number): void {
    this.#spent += units
    if (this.#spent > this.#share) throw usedUp
  }
}

/** Made once: it is caught and counted, and its stack says nothing. */
const usedUp = new Error('the rules of this author have used up their share of the turn')

/** One for the process: turns are synchronous, and each begins with `begin`, so nothing is carried from one to another. */
export const work = new RuleWork()

/** Of one device turn for its alarms, and as much again for its functions: two milliseconds, as long as a slice of a long answer. */
export const turnUnitsMax = 2_000_000

/** Of a filter over one device. */
export const filterUnitsMax = 1_000_000

/** A judgement by itself, and each node of its condition. */
export const judgementUnits = 50
export const nodeUnits = 40
/** To compare a name with the identifier of a service. */
export const serviceUnits = 30
/** To compile a node: of a condition that differs from a known one only in names and literals, and of any other. */
export const knownNodeUnits = 1_000
export const newNodeUnits = 20_000
/**
 * Each of the first runs of new code, for a node. V8 reads it at the first one and makes faster code some runs later: of a
 * condition of 250 nodes, up to 0.9 ms at each of these runs, and 0.03 ms at any other.
 */
export const coldNodeUnits = 1_000
export const coldRuns = 16
/** An alarm that changes: its entry, its event, its row in the index. */
export const transitionUnits = 5_000
/** A trigger that is tried, a request above the rate, a throttle that lets through, and a request for mails, which is a turn of another actor. */
export const triggerUnits = 50
export const overflowUnits = 200
export const throttleUnits = 1_000
export const requestUnits = 20_000
