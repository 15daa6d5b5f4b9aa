import { createHash } from 'node:crypto'
import { Packr } from 'msgpackr'
import type { Operation } from '#runtime/storage'

/**
 * The messages of the shared log, and the rule by which each node decides, without asking others, which of them count.
 *
 * A *claim* makes a node the owner and begins the next generation. A *part* is a piece of a commit. Both have a
 * generation, a number within it, and the hash of the last message before them that counts.
 * - A claim counts if its generation is the next one, and its hash matches.
 * - A part counts if its generation is the current one, its number is the next one, and its hash matches.
 *
 * So messages of an earlier owner, repeated messages, and the second of two competing claims have no effect, even if
 * the servers of the log accept them.
 *
 * An owner appends each part only after the previous one has come back, and a claim always follows the last message
 * that counts. So a part that is ahead of the chain of this node, or a claim that skips a generation, shows that a
 * message was lost or changed: in the log, or in the copy of this node.
 */

/** A position of the chain: the last message that counts. */
export interface ChainPosition {
  readonly sequence: number
  readonly generation: number
  readonly number: number
  readonly hash: Uint8Array
}

export const chainStart: ChainPosition = { sequence: 0, generation: 0, number: 0, hash: new Uint8Array(0) }

export type Effect =
  | { readonly kind: 'claim'; readonly node: string }
  | { readonly kind: 'commit'; readonly operations: readonly Operation[] }
  /** A part of a commit whose last part has not arrived yet. */
  | { readonly kind: 'part' }
  | { readonly kind: 'none' }

/** Bytes of a hash. Short, because it only has to detect damage, not attacks. */
const hashBytes = 16
const formatVersion = 1

/** Thrown for a message that counts for its owner, but does not continue the chain of this node. */
export class BrokenChain extends Error {}

type Content =
  | readonly [version: number, generation: number, number: number, previous: Uint8Array, node: string]
  | readonly [version: number, generation: number, number: number, previous: Uint8Array, isLast: boolean, Uint8Array]

const packr = new Packr({ useRecords: false, moreTypes: false })

/** Applies the rule to messages in the order of the log. */
export class LogChain {
  #position: ChainPosition
  /** Parts of a commit that is not complete yet. */
  #parts: Uint8Array[] = []

  constructor(position: ChainPosition) {
    this.#position = position
  }

  get position(): ChainPosition {
    return this.#position
  }

  /** @throws BrokenChain; Error for a message of a newer format */
  accept(sequence: number, message: Uint8Array): Effect {
    const [version, generation, number, previous, nodeOrIsLast, bytes] = packr.unpack(message) as Content
    if (version !== formatVersion) throw new Error(`message ${sequence} of the log has format ${version}`)
    const { position } = this
    const isClaim = typeof nodeOrIsLast === 'string'
    const isNext = isClaim
      ? generation === position.generation + 1 && number === 0
      : generation === position.generation && number === position.number + 1
    if (!isNext || Buffer.compare(previous, position.hash) !== 0) {
      const isAhead = isClaim
        ? generation > position.generation + 1
        : generation > position.generation || (generation === position.generation && number > position.number)
      if (!isAhead) return { kind: 'none' }
      throw new BrokenChain(`message ${sequence} of the log does not follow on message ${position.sequence}`)
    }
    this.#position = { sequence, generation, number, hash: hashOf(message) }
    if (isClaim) {
      // The parts of the former owner's unfinished commit no longer count.
      this.#parts = []
      return { kind: 'claim', node: nodeOrIsLast }
    }
    this.#parts.push(bytes as Uint8Array)
    if (!nodeOrIsLast) return { kind: 'part' }
    const operations = packr.unpack(Buffer.concat(this.#parts)) as [string, Uint8Array | null][]
    this.#parts = []
    return { kind: 'commit', operations: operations.map(([key, value]) => ({ key, value })) }
  }
}

/** A claim of the generation after this position. `node`: the name of the node, and a text that no other claim has. */
export function claimAfter({ generation, hash }: ChainPosition, node: string): Uint8Array {
  return packr.pack([formatVersion, generation + 1, 0, hash, node])
}

/** The messages of a commit after this position, each with at most `partBytesMax` bytes of the commit. */
export function commitAfter(
  position: ChainPosition,
  operations: readonly Operation[],
  partBytesMax: number,
): readonly Uint8Array[] {
  const bytes = packr.pack(operations.map(({ key, value }) => [key.toWellFormed(), value]))
  const messages: Uint8Array[] = []
  let { number, hash } = position
  for (let start = 0; start < bytes.length; start += partBytesMax) {
    const end = Math.min(start + partBytesMax, bytes.length)
    const content = [position.generation, ++number, hash, end === bytes.length, bytes.subarray(start, end)]
    const message = packr.pack([formatVersion, ...content])
    messages.push(message)
    hash = hashOf(message)
  }
  return messages
}

export function hashOf(message: Uint8Array): Uint8Array {
  return createHash('sha256').update(message).digest().subarray(0, hashBytes)
}
