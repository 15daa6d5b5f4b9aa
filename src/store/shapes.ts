import { createHash } from 'node:crypto'
import type { Entry } from '#model/entry'
import { propertyTypeOf } from '#model/property-type'
import { contentOf, type Shape, type ShapeContent, type ShapeProperty, shapeOf } from '#model/shape'
import { Slices } from '#runtime/slices'
import { type Storage, StorageFailure } from '#runtime/storage'
import type { System } from '#runtime/system'
import { shapeIdsOf } from '#store/chunk'
import { keys, keysBelow } from '#store/key-space'
import { pagesOf } from '#store/pages'
import { unpackRecord } from '#store/record-codec'

export const shapeFormat = { name: 'shape', version: 1, upgrades: {} }

/**
 * The limit of properties of the shapes that this cache holds: some tens of megabytes. The shapes used longest ago are
 * dropped, because one device could declare ever new shapes; they are read again when needed. Shapes that an active
 * device uses stay in memory anyway.
 */
const propertiesMax = 250_000
/** 96 bits of SHA-256: two contents never have the same id by chance. */
const idBytes = 12

/**
 * Finds shapes by content and by id. The id of a shape is the hash of its content, so making a shape needs no turn and
 * no counter. A shape is stored with its first declaration.
 */
export class Shapes {
  readonly #get: (key: string) => Uint8Array | undefined
  readonly #known = new Map<string, Shape>()
  /** Shapes made since the last sweep that were not in memory: at least as many as were stored since. */
  newCount = 0
  /**
   * While a sweep runs: the ids of shapes that the sweep found in use, or that were stored, or named by an entry, since
   * it began.
   */
  named: Set<string> | undefined
  #properties = 0
  /** The last shape returned. It is often the next one requested too, because devices of a kind follow each other. */
  #last: Shape | undefined

  constructor(get: (key: string) => Uint8Array | undefined) {
    this.#get = get
  }

  readonly intern = (serviceIdentifier: string, properties: readonly ShapeProperty[]): Shape => {
    const content = JSON.stringify(contentOf(serviceIdentifier, properties))
    const id = createHash('sha256').update(content).digest().subarray(0, idBytes).toString('base64url')
    const known = this.#known.get(id)
    if (!known) this.newCount++
    return this.#keep(known ?? shapeOf(id, serviceIdentifier, properties))
  }

  /** @throws StorageFailure `damaged` if the shape is not stored, or names an unknown type */
  byId(id: string): Shape {
    if (this.#last?.id === id) return this.#last
    const known = this.#known.get(id)
    if (known) return this.#keep(known)
    const bytes = this.#get(keys.shape(id))
    if (!bytes) throw new StorageFailure('damaged', `shape ${id} is named by an entry and not stored`)
    const [serviceIdentifier, properties] = unpackRecord(shapeFormat, bytes) as ShapeContent
    const shape = shapeOf(
      id,
      serviceIdentifier,
      properties.map(([propId, name, modifier]) => {
        const type = propertyTypeOf(name)
        if (!type) throw new StorageFailure('damaged', `shape ${id} names an unknown type`)
        return { propId, type, modifier }
      }),
    )
    return this.#keep(shape)
  }

  /** Makes this the most recently used shape, and drops those used longest ago above `propertiesMax`. */
  #keep(shape: Shape): Shape {
    if (this.#known.delete(shape.id)) this.#properties -= shape.properties.length
    this.#known.set(shape.id, shape)
    this.#properties += shape.properties.length
    for (const [id, oldest] of this.#known) {
      if (this.#properties <= propertiesMax || oldest === shape) break
      this.#known.delete(id)
      this.#properties -= oldest.properties.length
    }
    this.#last = shape
    return shape
  }
}

/**
 * A sweep reads every device and every retained chunk, so it only runs when this many shapes are new. A fleet has some
 * hundreds.
 */
const newShapesMin = 1_000

/**
 * Deletes stored shapes that no snapshot of a device and no chunk of a retained stream names, if enough shapes are new.
 * Resolves to the number of shapes that were deleted. Does nothing while another sweep runs.
 *
 * A shape in use is never deleted. While the sweep runs, the shapes that newly packed entries name are noted. Entries
 * that were packed before are stored before the chunks are read. Chunks are read before snapshots: a chunk is only
 * deleted after snapshots include its entries.
 */
export async function sweepShapes(
  { shapes, storage }: { readonly shapes: Shapes; readonly storage: Storage },
  system: System<Entry>,
  newMin = newShapesMin,
): Promise<number> {
  if (shapes.newCount < newMin || shapes.named) return 0
  shapes.newCount = 0
  const named = new Set<string>()
  shapes.named = named
  try {
    const { closedCount } = system.gate
    await system.gate.whenStored(closedCount)
    await noteNamed(storage, system, named)
    return await deleteOthers(storage, system, named, closedCount)
  } finally {
    shapes.named = undefined
  }
}

async function noteNamed(storage: Storage, system: System<Entry>, named: Set<string>): Promise<void> {
  const slices = new Slices(system.world)
  const idsInSnapshot = (snapshot: Uint8Array) => system.registry.sharedIn('device', snapshot)
  for (const [prefix, idsIn] of [['stream', shapeIdsOf] as const, ['actor/device', idsInSnapshot] as const]) {
    for await (const page of pagesOf(storage, { ...keysBelow(prefix), hasValues: true })) {
      for (const { value } of page) {
        for (const id of idsIn(value)) named.add(id)
        if (slices.isOver) await slices.next()
      }
    }
  }
}

async function deleteOthers(
  storage: Storage,
  { gate }: System<Entry>,
  named: ReadonlySet<string>,
  closedCount: number,
): Promise<number> {
  const range = keysBelow('shape')
  let deletedCount = 0
  for await (const page of pagesOf(storage, { ...range, hasValues: false })) {
    // A failed commit discards packed entries, so the store may name other shapes than those that were noted.
    if (!gate.isOpen || gate.closedCount !== closedCount) return deletedCount
    for (const { key } of page) {
      if (named.has(key.slice(range.after.length))) continue
      gate.put(key, null)
      deletedCount++
    }
    await gate.whenStored(closedCount)
  }
  return deletedCount
}
