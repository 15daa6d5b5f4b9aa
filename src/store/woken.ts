import type { Entry } from '#model/entry'
import type { Activation } from '#runtime/activation'

const slotsAtFirst = 1024
/** Numbers in a slot: a hash, and one more than the place of its activation; 0 for an empty slot. */
const perSlot = 2

/**
 * Who was woken in bulk, by the hash of his name as it stands in a chunk: to find him no text is made, and where a map of
 * a million texts is asked in six places of the memory, this is in two. Whoever is found may have another name with the
 * same hash.
 */
export class Woken {
  #slots = new Uint32Array(slotsAtFirst * perSlot)
  readonly #activations: Activation<Entry>[] = []

  add(nameHash: number, activation: Activation<Entry>): void {
    this.#activations.push(activation)
    if (this.#activations.length * 2 * perSlot > this.#slots.length) this.#grow()
    put(this.#slots, nameHash, this.#activations.length)
  }

  find(nameHash: number): Activation<Entry> | undefined {
    const slots = this.#slots
    for (let at = slotOf(nameHash, slots.length); slots[at + 1] !== 0; at = slotBehind(at, slots.length)) {
      if (slots[at] === nameHash) return this.#activations[(slots[at + 1] as number) - 1]
    }
    return undefined
  }

  #grow(): void {
    const before = this.#slots
    this.#slots = new Uint32Array(before.length * 2)
    for (let at = 0; at < before.length; at += perSlot) {
      if (before[at + 1] !== 0) put(this.#slots, before[at] as number, before[at + 1] as number)
    }
  }
}

function put(slots: Uint32Array, nameHash: number, place: number): void {
  let at = slotOf(nameHash, slots.length)
  while (slots[at + 1] !== 0) at = slotBehind(at, slots.length)
  slots[at] = nameHash
  slots[at + 1] = place
}

/** Names differ at their ends, which alone do not change all bits of their hashes. */
function slotOf(nameHash: number, length: number): number {
  const mixed = Math.imul(nameHash ^ (nameHash >>> 16), 0x85ebca6b)
  return ((mixed ^ (mixed >>> 13)) * perSlot) & (length - 1)
}

function slotBehind(at: number, length: number): number {
  return (at + perSlot) & (length - 1)
}
