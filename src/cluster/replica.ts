import {
  BrokenChain,
  type ChainPosition,
  chainStart,
  claimAfter,
  commitAfter,
  type Effect,
  hashOf,
  LogChain,
} from '#cluster/log-chain'
import type { SharedLog } from '#cluster/shared-log'
import type { Histogram } from '#runtime/histogram'
import { type Operation, type Storage, StorageFailure } from '#runtime/storage'
import type { World } from '#runtime/world'
import { keys } from '#store/key-space'
import { packRecord, unpackRecord } from '#store/record-codec'

export interface ReplicaOptions {
  readonly world: World
  readonly log: SharedLog
  /** The store of this node. */
  readonly storage: Storage
  /** The limit of bytes of a commit in one message of the log. */
  readonly partBytesMax: number
  /** Seconds until all messages of a commit have come back from the log. */
  readonly logSeconds: Histogram
}

/** A message that has not come back after this time is appended again, because the log perhaps did not store it. */
const answerMsMax = 1_000
/** A commit or claim fails if one of its messages has not come back after this time. Contract 11. */
const commitMsMax = 15_000
/** The pause before an append that the log refused is tried again. */
const refusedMs = 50

const positionFormat = { name: 'replica', version: 1, upgrades: {} }

/** A message of this node that the log has not returned yet. */
interface Appended {
  readonly message: Uint8Array
  settle(failure?: StorageFailure): void
}

/** Bytes of messages that wait to be written, above which the log is read no further. */
const unwrittenBytesMax = 16 * 1024 * 1024

/**
 * The store of one node as a copy of the shared log: each commit that counts is written to this store, together with
 * its place in the log. As the owner the replica also appends commits. A commit is fulfilled when its messages have
 * come back from the log and the store has written it.
 *
 * When another node claims the log while this one is the owner, the replica is *fenced*: it applies nothing more and
 * refuses every commit. So reads still match the state in the memory of this node. The store must be opened again.
 */
export class Replica {
  readonly #options: ReplicaOptions
  readonly #chain: LogChain
  #stopFollowing: () => void = () => {}
  #stored: (operations: readonly Operation[]) => Promise<void> = async () => {}
  #ended: (failure: StorageFailure) => void = () => {}
  /** The sequence of the last message that arrived, whether it counts or not. */
  #arrived: number
  #isOwner = false
  #failure: StorageFailure | undefined
  #unwrittenBytes = 0
  #applied: ChainPosition
  #appended: Appended | undefined
  /** Writes to the store, in the order of the log. */
  #written: Promise<void> = Promise.resolve()
  #commits: Promise<void> = Promise.resolve()
  #arrivals: (() => void)[] = []

  constructor(options: ReplicaOptions) {
    this.#options = options
    const position = positionIn(options.storage)
    this.#chain = new LogChain(position)
    this.#applied = position
    // Reads the last applied message again, to check that the log still has it.
    this.#arrived = Math.max(0, position.sequence - 1)
  }

  /** The last message that is in the store, and in the memory of this node. */
  get position(): ChainPosition {
    return this.#applied
  }

  get isOwner(): boolean {
    return this.#isOwner && !this.#failure
  }

  /** Resolves when everything that the log contained at the time of the call is written. */
  async follow(stored: (operations: readonly Operation[]) => Promise<void>): Promise<void> {
    this.#stored = stored
    this.#stopFollowing = this.#options.log.follow(this.#arrived, (sequence, message) =>
      this.#receive(sequence, message),
    )
    await this.#reachEnd()
    await this.#written
    if (this.#failure) throw this.#failure
  }

  /**
   * Calls `task` once: if another node takes over from this one, if the log does not take a commit in time, or if this
   * node can no longer follow.
   */
  whenEnded(task: (failure: StorageFailure) => void): void {
    this.#ended = task
  }

  /** Applies everything in the log, and then becomes its owner. */
  async claim(node: string): Promise<void> {
    for (;;) {
      await this.#reachEnd()
      const message = claimAfter(this.#chain.position, `${node} ${this.#randomText()}`)
      // Another claim, or a commit of the former owner, may come first. This claim then does not count.
      if (await this.#append(message, () => !this.#isNext(message))) break
    }
    await this.#written
    if (this.#failure) throw this.#failure
  }

  /** If the promise rejects, the commit may be in the log or not, and the replica accepts no later commit. */
  commit(operations: readonly Operation[]): Promise<void> {
    const result = this.#commits.then(() => this.#commit(operations))
    this.#commits = result.catch(() => {})
    return result
  }

  async close(): Promise<void> {
    await this.#commits
    this.#fail(new StorageFailure('closed', 'the store was closed'))
    await this.#written.catch(() => {})
  }

  async #commit(operations: readonly Operation[]): Promise<void> {
    if (!this.#failure && !this.#isOwner) throw new Error('only the owner commits')
    const { world, logSeconds } = this.#options
    const begunAt = world.monotonic()
    for (const message of commitAfter(this.#chain.position, operations, this.#options.partBytesMax)) {
      await this.#append(message, () => false)
    }
    logSeconds.observe((world.monotonic() - begunAt) / 1000)
    await this.#written
    if (this.#failure) throw this.#failure
  }

  /** Appends a message until it comes back and counts. Returns false if `isObsolete` is true before an attempt. */
  async #append(message: Uint8Array, isObsolete: () => boolean): Promise<boolean> {
    const { world, log } = this.#options
    if (this.#failure) throw this.#failure
    return await new Promise<boolean>((resolve, reject) => {
      const cancels: (() => void)[] = []
      const settle = (settled: () => void) => {
        for (const cancel of cancels) cancel()
        this.#appended = undefined
        settled()
      }
      this.#appended = {
        message,
        settle: (failure) => settle(() => (failure ? reject(failure) : resolve(true))),
      }
      const appended = this.#appended
      const isOver = () => this.#appended !== appended
      const attempt = () => {
        if (isOver()) return
        if (isObsolete()) {
          settle(() => resolve(false))
          return
        }
        let isRepeated = false
        const repeatAfter = (delayMs: number) => {
          if (isRepeated || isOver()) return
          isRepeated = true
          cancels.push(world.after(delayMs, attempt))
        }
        cancels.push(world.after(answerMsMax, () => repeatAfter(0)))
        log.append(message, this.#arrived).then(
          // The append is not settled yet, because the message counts only when it comes back.
          () => {},
          () => repeatAfter(refusedMs),
        )
      }
      cancels.push(
        world.after(commitMsMax, () =>
          this.#fail(new StorageFailure('poisoned', `the log did not take a commit for ${commitMsMax / 1000} s`)),
        ),
      )
      attempt()
    })
  }

  #isNext(claim: Uint8Array): boolean {
    return new LogChain(this.#chain.position).accept(0, claim).kind === 'claim'
  }

  /** The caller must await the returned promise before it passes the next message. */
  #receive(sequence: number, message: Uint8Array): Promise<void> | undefined {
    this.#handle(sequence, message)
    if (this.#unwrittenBytes < unwrittenBytesMax) return undefined
    return this.#written.catch(() => {})
  }

  #handle(sequence: number, message: Uint8Array): void {
    if (this.#failure) return
    const { position } = this.#chain
    if (sequence === position.sequence) {
      if (Buffer.compare(hashOf(message), position.hash) === 0) this.#arrive(sequence)
      else
        this.#fail(
          new StorageFailure('damaged', `message ${sequence} of the log is not the one that this node applied`),
        )
      return
    }
    if (this.#arrived < position.sequence || (this.#arrived === 0 && sequence > 1)) {
      const missing = `the log begins with message ${sequence}, and this node has applied ${position.sequence}`
      this.#fail(new StorageFailure('damaged', `${missing}: it needs an image of another node`))
      return
    }
    const isOwn = this.#appended !== undefined && Buffer.compare(message, this.#appended.message) === 0
    const effect = this.#accept(sequence, message)
    if (!effect) return
    if (effect.kind === 'claim') {
      if (this.#isOwner) {
        this.#fail(new StorageFailure('poisoned', 'another node owns the log'))
        return
      }
      this.#isOwner = isOwn
      this.#write([], message.length)
    } else if (effect.kind === 'commit') this.#write(effect.operations, message.length)
    this.#arrive(sequence)
    if (isOwn && effect.kind !== 'none') this.#appended?.settle()
  }

  /** Returns undefined after a failure: a node must not skip a message that it cannot read. */
  #accept(sequence: number, message: Uint8Array): Effect | undefined {
    try {
      return this.#chain.accept(sequence, message)
    } catch (error) {
      const text =
        error instanceof BrokenChain
          ? `${error.message}: a message was lost or changed, in the log or in the data of this node`
          : `message ${sequence} of the log cannot be read; a newer release may have written it`
      this.#fail(new StorageFailure('damaged', text, { cause: error }))
      return undefined
    }
  }

  #write(operations: readonly Operation[], bytes: number): void {
    // Called only for whole commits and claims: after a restart the node reads the parts of an unfinished commit again.
    const applied = this.#chain.position
    const position = { key: keys.replica, value: packRecord(positionFormat, applied) }
    const isFollowing = !this.#isOwner
    this.#unwrittenBytes += bytes
    // One after the other: memory is never more than one commit behind the store.
    this.#written = this.#written.then(async () => {
      await this.#options.storage.write([...operations, position], { sync: false })
      if (isFollowing && operations.length > 0) await this.#stored(operations)
      this.#applied = applied
      this.#unwrittenBytes -= bytes
    })
    this.#written.catch((error) => this.#fail(asStorageFailure(error)))
  }

  #arrive(sequence: number): void {
    this.#arrived = sequence
    const arrivals = this.#arrivals
    this.#arrivals = []
    for (const arrival of arrivals) arrival()
  }

  #fail(failure: StorageFailure): void {
    if (!this.#failure && failure.code !== 'closed') this.#ended(failure)
    this.#failure ??= failure
    this.#stopFollowing()
    this.#appended?.settle(this.#failure)
    this.#arrive(this.#arrived)
  }

  /**
   * Resolves when all messages that the log contained at the time of the call have arrived; they are perhaps not
   * written yet.
   */
  async #reachEnd(): Promise<void> {
    const applied = this.#chain.position.sequence
    const end = await this.#lastSequence()
    if (end < applied) {
      const lost = `the log ends with message ${end}, and this node has applied ${applied}`
      this.#fail(new StorageFailure('damaged', `${lost}: it lost commits`))
    }
    while (!this.#failure && this.#arrived < end) await new Promise<void>((done) => this.#arrivals.push(done))
    if (this.#failure) throw this.#failure
  }

  /** Asks until the log answers. */
  async #lastSequence(): Promise<number> {
    const { log, world } = this.#options
    for (;;) {
      if (this.#failure) throw this.#failure
      const sequence = await new Promise<number | undefined>((resolve) => {
        const cancel = world.after(answerMsMax, () => resolve(undefined))
        const answered = (last: number) => {
          cancel()
          resolve(last)
        }
        // After a rejection the timer above ends the wait, and the loop asks again.
        log.lastSequence().then(answered, () => {})
      })
      if (sequence !== undefined) return sequence
    }
  }

  #randomText(): string {
    return Buffer.from(this.#options.world.random(12)).toString('base64url')
  }
}

/** The last message that is in a store. */
export function positionIn(storage: Storage): ChainPosition {
  const stored = storage.get(keys.replica)
  return stored ? (unpackRecord(positionFormat, stored) as ChainPosition) : chainStart
}

function asStorageFailure(error: unknown): StorageFailure {
  if (error instanceof StorageFailure) return error
  return new StorageFailure('damaged', 'a commit of another node could not be applied', { cause: error })
}
