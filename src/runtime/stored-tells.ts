import type { Tell } from '#runtime/actor'
import type { Gate } from '#runtime/gate'
import type { Journal } from '#runtime/journal'

/**
 * The limit of messages delivered within one commit. Further messages are stored, so that no commit grows without
 * limit.
 */
export const tellsPerCommitMax = 10_000

export const tellFormat = { name: 'tell', version: 1, upgrades: {} }

/**
 * The messages between actors that exceed `tellsPerCommitMax` in one commit. That commit stores them, and the following
 * commits deliver them. The commit of the turn that receives a message also removes it, so a crash loses none and
 * repeats none.
 */
export class StoredTells<Event> {
  readonly #gate: Gate<Event>
  readonly #journal: Journal<Event>
  readonly #run: (tell: Tell) => void
  readonly #waiting: { readonly sequence: number; readonly tell: Tell }[] = []
  #sequence = 0
  #ranInCommit = 0
  #commit = -1
  #isAsked = false

  constructor(gate: Gate<Event>, journal: Journal<Event>, run: (tell: Tell) => void) {
    this.#gate = gate
    this.#journal = journal
    this.#run = run
  }

  get count(): number {
    return this.#waiting.length
  }

  /** Delivers a message now, or stores it if this commit has reached its limit or other messages wait. */
  give(tell: Tell): void {
    this.#countCommit()
    if (this.#waiting.length === 0 && this.#ranInCommit < tellsPerCommitMax) {
      this.#ranInCommit++
      this.#run(tell)
      return
    }
    const sequence = ++this.#sequence
    this.#waiting.push({ sequence, tell })
    this.#gate.put(this.#journal.tellKey(sequence), this.#journal.pack(tellFormat, tell))
    this.#askForMore()
  }

  /** Adds a stored message. Null: the message was delivered, and no longer waits. */
  load(sequence: number, tell: Tell | null): void {
    if (tell) this.#waiting.push({ sequence, tell })
    else this.#waiting.splice(0, 1 + this.#waiting.findIndex((waiting) => waiting.sequence === sequence))
    this.#sequence = Math.max(this.#sequence, sequence)
  }

  /** Delivers stored messages, up to the limit of this commit. */
  run(): void {
    this.#countCommit()
    for (let next = this.#waiting[0]; next && this.#ranInCommit < tellsPerCommitMax; next = this.#waiting[0]) {
      this.#waiting.shift()
      this.#ranInCommit++
      this.#gate.put(this.#journal.tellKey(next.sequence), null)
      this.#run(next.tell)
    }
    if (this.#waiting.length > 0) this.#askForMore()
  }

  clear(): void {
    this.#waiting.length = 0
    this.#isAsked = false
  }

  #askForMore(): void {
    if (this.#isAsked) return
    this.#isAsked = true
    this.#gate.afterSeal(() => {
      this.#isAsked = false
      this.run()
    })
  }

  #countCommit(): void {
    if (this.#commit === this.#gate.sealedCount) return
    this.#commit = this.#gate.sealedCount
    this.#ranInCommit = 0
  }
}
