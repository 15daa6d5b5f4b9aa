/**
 * Limits the work of rules in one device turn, and of a filter on one device. A unit of cost is about one nanosecond,
 * and at most four (`test/actors/rule-budget.test.ts` measures the most expensive turns).
 *
 * Each author of rules on the device has an equal share, so that the rules of one author cannot prevent those of others
 * from being evaluated.
 */
class RuleBudget {
  #share = Number.POSITIVE_INFINITY
  #spent = 0
  #author = 0
  /** Units spent by the other authors, by position. */
  #spentBefore: number[] = []
  /** Units spent on compiling, for the rules of all authors. */
  #compiled = 0

  /** `authors`: the number of authors; positions begin at 0. */
  begin(unitsMax: number, authors: number): void {
    if (authors > 1) this.#spentBefore = new Array<number>(authors).fill(0)
    this.#share = unitsMax / authors
    this.#spent = 0
    this.#author = 0
    this.#compiled = 0
  }

  /** Work from here on is counted without a limit. */
  end(): void {
    this.#share = Number.POSITIVE_INFINITY
  }

  /** The next work belongs to this author. Returns false if the author's share is used up. */
  turnTo(author: number): boolean {
    if (author !== this.#author) {
      this.#spentBefore[this.#author] = this.#spent
      this.#spent = this.#spentBefore[author] ?? 0
      this.#author = author
    }
    return this.#spent <= this.#share
  }

  /** Whether the current author has used up their share. */
  get isOver(): boolean {
    return this.#spent > this.#share
  }

  charge(units: number): void {
    this.#spent += units
  }

  /**
   * Call it after compiling. It does not throw, so the next turn finds the code, even if this turn has no units left.
   */
  chargeCode(units: number): void {
    this.#compiled += units
    this.#spent += units
  }

  /** Whether code was compiled since `begin`. The next turn then has more units left. */
  get hasCompiled(): boolean {
    return this.#compiled > 0
  }

  /**
   * Whether one more condition may be compiled in this turn. Compiling takes up to 5 ms, and there may be many authors.
   */
  get mayCompile(): boolean {
    return this.#compiled < turnUnitsMax || this.#share === Number.POSITIVE_INFINITY
  }

  /** @throws if this uses up the share. */
  spend(units: number): void {
    this.#spent += units
    if (this.#spent > this.#share) throw usedUp
  }
}

/** Created once: it is only caught and counted, so its stack is not needed. */
const usedUp = new Error('the rules of this author have used up their share of the turn')

/** Shared by the process: turns are synchronous, and each starts with `begin`. */
export const ruleBudget = new RuleBudget()

/**
 * The limit for the alarms of one device turn, and again for its functions: two milliseconds, like a slice of a long
 * answer.
 */
export const turnUnitsMax = 2_000_000

/** The limit for a filter on one device. */
export const filterUnitsMax = 1_000_000

/** The cost of each evaluation, and of each node of its condition. */
export const evaluationUnits = 50
export const nodeUnits = 40
/** The cost of comparing a name with a service identifier. */
export const serviceUnits = 30
/** The cost of compiling a node: of a known form, with other names and literals, and of a new form. */
export const knownNodeUnits = 1_000
export const newNodeUnits = 20_000
/**
 * The cost of each of the first runs of new code, per node. V8 parses the code at the first run and optimizes it some
 * runs later: for a condition of 250 nodes, these runs take up to 0.9 ms each, all others 0.03 ms.
 */
export const coldNodeUnits = 1_000
export const coldRuns = 16
/** The cost of a changed alarm: its entry, its event and its index row. */
export const transitionUnits = 5_000
/** The cost of checking a trigger. */
export const triggerUnits = 50
/** The cost of a request above the rate. */
export const overflowUnits = 200
/** The cost of a throttle that lets a run through. */
export const throttleUnits = 1_000
/** The cost of any other request of a mail or webhook, which is a turn of another actor. */
export const requestUnits = 20_000
